"""Vocabularies: order, special words, length limits, files."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.text.vocabulary import BOS, EOS, MASK, PAD, SPECIALS, UNK, Vocabulary

SENTENCES = [["b", "a", "c", "[M]"], ["a", "b", "<pad>"], ["a", "b", "d", "[M]", "<pad>"]]


def test_build_orders_by_count_then_word_and_drops_rare_words_and_specials():
    assert Vocabulary.build(SENTENCES, min_count=1).words == (*SPECIALS, "a", "b", "c", "d")
    assert Vocabulary.build(SENTENCES, min_count=3).words == (*SPECIALS, "a", "b")
    assert Vocabulary.build([["w"] * 4, ["v"] * 5]).words == (*SPECIALS, "v")
    assert len(Vocabulary.build([])) == 5
    with pytest.raises(ConfigError, match="min_count is 0"):
        Vocabulary.build(SENTENCES, min_count=0)


def test_encode_marks_unknown_words_and_cuts_words_only():
    vocabulary = Vocabulary.build(SENTENCES, min_count=1)
    ids = vocabulary.encode(["d", "zebra", "[M]", "a", "<pad>", "<eos>", "<bos>"])
    assert ids.tolist() == [8, UNK, MASK, 5, UNK, UNK, UNK]
    assert ids.dtype == np.int32
    assert vocabulary.encode(["a"] * 9, max_words=4).tolist() == [5] * 4
    assert vocabulary.encode([]).shape == (0,)


def test_decode_stops_at_eos_and_skips_padding():
    vocabulary = Vocabulary.build(SENTENCES, min_count=1)
    assert vocabulary.decode(np.array([BOS, 5, PAD, UNK, MASK, 8, EOS, 6])) == ["a", "<unk>", "[M]", "d"]
    for wrong in (9, -1):
        with pytest.raises(ValueError, match="outside a vocabulary of 9"):
            vocabulary.decode([wrong])


@given(st.lists(st.lists(st.text(min_size=1).filter(lambda word: word.split() == [word]), max_size=5), max_size=5))
def test_words_seen_in_building_come_back(sentences):
    vocabulary = Vocabulary.build(sentences, min_count=1)
    for sentence in sentences:
        known = [word for word in sentence if word not in SPECIALS]
        assert vocabulary.decode(vocabulary.encode(known)) == known


def test_a_saved_vocabulary_loads_equal_and_leaves_no_other_file(tmp_path):
    vocabulary = Vocabulary.build([["男人", "👍🏽", "é"]], min_count=1)
    path = tmp_path / "zh.json"
    vocabulary.save(path)
    vocabulary.save(path)
    loaded = Vocabulary.load(path)
    assert loaded.words == vocabulary.words
    assert loaded.fingerprint == vocabulary.fingerprint
    assert list(tmp_path.iterdir()) == [path]
    assert "男人" in path.read_text(encoding="utf-8")


def test_fingerprints_tell_word_lists_apart():
    one = Vocabulary([*SPECIALS, "a", "b"])
    assert len(one.fingerprint) == 16
    assert one.fingerprint == Vocabulary([*SPECIALS, "a", "b"]).fingerprint
    assert len({one.fingerprint, Vocabulary([*SPECIALS, "b", "a"]).fingerprint, Vocabulary(SPECIALS).fingerprint}) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "no UTF-8 JSON"),
        (b'{"format":', "no UTF-8 JSON"),
        (b"[" * 100_000, "no"),
        (b"[]", "not a vocabulary file"),
        (b'{"format": "other", "words": []}', "not a vocabulary file"),
        (b'{"format": "vatex-jax vocabulary 1", "words": ["a"]}', "begins with"),
        (b'{"format": "vatex-jax vocabulary 1", "words": ["<pad>","<unk>","<bos>","<eos>","[M]",3]}', "word 5"),
        (b'{"format": "vatex-jax vocabulary 1", "words": ["<pad>","<unk>","<bos>","<eos>","[M]","a b"]}', "word 5"),
        (
            b'{"format": "vatex-jax vocabulary 1", "words": ["<pad>","<unk>","<bos>","<eos>","[M]","a","a"]}',
            "'a' 2 times",
        ),
    ],
)
def test_damaged_files_are_named(tmp_path, content, message):
    path = tmp_path / "en.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        Vocabulary.load(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.json"):
        Vocabulary.load(tmp_path / "none.json")


def test_the_file_is_json_anyone_can_read(tmp_path):
    Vocabulary.build(SENTENCES, min_count=3).save(tmp_path / "v.json")
    assert json.loads((tmp_path / "v.json").read_text(encoding="utf-8"))["words"] == [*SPECIALS, "a", "b"]


def test_counts_give_the_vocabulary_that_their_sentences_give():
    counts = {"d": 1, "<pad>": 9, "b": 3, "a": 3, "[M]": 2, "c": 1}
    assert Vocabulary.from_counts(counts, min_count=1).words == Vocabulary.build(SENTENCES, min_count=1).words
    assert Vocabulary.from_counts(counts, min_count=3).words == (*SPECIALS, "a", "b")
