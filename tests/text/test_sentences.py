"""Sentences of visual dialogue: hand-cut, against NLTK's tokenizer, digits, the end token and its place among 16."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.tokenize.destructive import NLTKWordTokenizer

from vatex_jax.errors import ConfigError
from vatex_jax.text.sentences import (
    END_TOKEN,
    build_vocabulary,
    encode_sentences,
    spell_digits,
    tokenize,
    tokenize_with_end,
)
from vatex_jax.text.vocabulary import EOS, SPECIALS, UNK, Vocabulary


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("maybe in her 30s", "maybe in her thirtys"),
        ("21 or 100", "twenty one or one hundred"),
        ("1234", "one thousand, two hundred and thirty four"),
        ("3.5 at 10:30, the 2nd of 1,000", "three.five at ten:thirty, the twond of one,zero"),
        ("007 T-shirt", "seven T-shirt"),
        ("٣ and ３２", "three and thirty two"),
        ("x² ½", "x² ½"),
        ("", ""),
    ],
)
def test_every_run_of_digits_is_a_number_in_words(text, spelled):
    assert spell_digits(text) == spelled


def test_no_run_of_digits_is_too_long():
    assert spell_digits("9" * 36).startswith("nine hundred and ninety nine decillion")
    assert spell_digits("10" * 18 + "1") == " ".join(["one", "zero"] * 18 + ["one"])
    assert spell_digits("1" * 5000) == " ".join(["one"] * 5000)


@pytest.mark.parametrize(
    ("sentence", "tokens"),
    [
        ("Yes, it IS.", "yes , it is ."),
        ("i can't tell; don’t know", "i cant tell ; dont know"),
        ("in her 30s?", "in her thirtys ?"),
        ("i see 6, at 1:55", "i see six , at one : fifty five"),
        ("yes. it is.", "yes. it is ."),
        ("i cannot tell, gonna wanna", "i can not tell , gon na wan na"),
        ('a "red" t-shirt (black/white)', "a `` red '' t-shirt ( black/white )"),
        ("50% of $300", "fifty % of $ three hundred"),
        ("他在打篮球 👍🏽", "他在打篮球 👍🏽"),
        (" \t\u3000\n", ""),
        ("'’", ""),
        ("", ""),
    ],
)
def test_sentences_cut_by_hand(sentence, tokens):
    assert tokenize(sentence) == tokens.split()


def test_the_end_token_is_last_and_counts_among_the_sixteen():
    assert END_TOKEN == "<eos>"
    assert tokenize_with_end("yes") == ["yes", "<eos>"]
    assert tokenize_with_end("") == ["<eos>"]
    words = [*"abcdefghijklmnopqrst"]
    assert tokenize_with_end(" ".join(words[:15])) == [*words[:15], "<eos>"]
    assert tokenize_with_end(" ".join(words[:16])) == [*words[:15], "<eos>"]
    assert tokenize_with_end(" ".join(words), max_tokens=3) == ["a", "b", "<eos>"]
    for refuse in (tokenize_with_end, lambda text, most: encode_sentences([text], Vocabulary(SPECIALS), most)):
        with pytest.raises(ConfigError, match="max_tokens is 0"):
            refuse("yes", 0)


SIGNS = [*",.!?:;(<-'\"’", "--", "..."]
PIECES = st.sampled_from(["yes", "no", "a", "cannot", "gimme", "wanna", "t-shirt", "black/white", "5", "30s", *SIGNS])
GLUE = st.sampled_from(["", " ", " ", "  ", "\n"])


@given(
    st.lists(st.tuples(PIECES, GLUE), max_size=10).map(lambda parts: "".join(map("".join, parts)))
    | st.text("abYES no,.!?-/':\"5\n", max_size=20)
    | st.text(max_size=30)
)
@settings(max_examples=200, deadline=None)
def test_cutting_word_by_word_equals_cutting_the_whole_sentence(sentence):
    whole = spell_digits(sentence.replace("'", "").replace("’", "")).lower()
    expected = NLTKWordTokenizer().tokenize(whole)
    assert tokenize(sentence) == expected
    vocabulary = Vocabulary.build([expected], min_count=1)
    encoded = encode_sentences(["yes", sentence, ""], vocabulary, max_tokens=6)
    assert encoded.ids[encoded.starts[1] : encoded.starts[2]].tolist() == [
        *vocabulary.encode(expected[:5]).tolist(),
        EOS,
    ]


def test_encoding_many_sentences_lays_them_end_to_end():
    vocabulary = Vocabulary([*SPECIALS, "yes", ",", "it", "is"])
    encoded = encode_sentences(["yes", "", "yes, it's a dog", "it: is"], vocabulary, max_tokens=4)
    assert encoded.ids.tolist() == [5, EOS, EOS, 5, 6, UNK, EOS, 7, UNK, 8, EOS]
    assert encoded.starts.tolist() == [0, 2, 3, 7, 11]
    assert encoded.lengths.tolist() == [2, 1, 4, 4]
    assert (encoded.ids.dtype, len(encoded)) == (np.int32, 4)
    assert encode_sentences(["a " * 40], vocabulary, max_tokens=None).lengths.tolist() == [41]
    none = encode_sentences([], vocabulary)
    assert (len(none), none.ids.shape, none.lengths.shape) == (0, (0,), (0,))


def test_the_vocabulary_holds_words_seen_five_times_in_sentences_of_any_length():
    long = "filler " * 20 + "tail"
    sentences = ["yes, it's 5"] * 4 + ["yes five four"] + [long] * 5 + ["four"] * 3
    assert build_vocabulary(sentences).words == (*SPECIALS, "filler", "five", "tail", "yes")
    assert build_vocabulary(iter(sentences), min_count=4).words[-3:] == (",", "four", "its")
    with pytest.raises(ConfigError, match="min_count is 0"):
        build_vocabulary(sentences, min_count=0)


def test_nltk_and_the_number_names_load_on_first_use_only():
    code = (
        "import sys; from vatex_jax.text.sentences import tokenize;"
        "assert not {'nltk', 'num2words', 'jax'} & set(sys.modules); assert tokenize('a dog') == ['a', 'dog'];"
        "assert 'num2words' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
