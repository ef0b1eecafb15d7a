"""Generated answers through NLTK's tokenizer and detokenizer."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.tokenize.destructive import NLTKWordTokenizer
from nltk.tokenize.treebank import TreebankWordDetokenizer

from vatex_jax.text.treebank import detokenized


def by_nltk(text):
    return TreebankWordDetokenizer().detokenize(NLTKWordTokenizer().tokenize(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yes", "yes"),
        ("no , it's just a close up", "no, it's just a close up"),
        ("red, white,yellow, and black", "red, white, yellow, and black"),
        ("is  an overcast", "is an overcast"),
        ("i don’t", "i don ’ t"),
        ("i can not tell", "i cannot tell"),
        ("i cannot tell, can't i ?", "i cannot tell, can't i?"),
        (" \t\n", ""),
        ("yes n't", "yesn't"),
        ("", ""),
    ],
)
def test_texts_by_hand(text, expected):
    assert detokenized([text]) == [expected]


WORDS = [
    "yes",
    "no",
    "a",
    "can",
    "not",
    "cannot",
    "gimme",
    "gim",
    "me",
    "wan",
    "na",
    "wanna",
    "d",
    "s",
    "t",
    "30s",
    "5",
]
SIGNED = ["'ye", "n't", "won't", "it's", "i'm", "'s", "'tis", "'", "1,000", "t-shirt", "more'n", "--", "..."]
PIECES = st.sampled_from([*WORDS, *SIGNED, *',.!?:;(<-"’'])


@given(
    st.lists(st.tuples(PIECES, st.sampled_from(["", " ", " ", " ", "  "])), max_size=9).map(
        lambda parts: "".join(map("".join, parts)).strip()
    )
    | st.text("ab's tnN,.'d 5", max_size=14)
    | st.text(max_size=20)
)
@settings(max_examples=300, deadline=None)
def test_every_text_is_what_nltk_makes_of_it(text):
    assert detokenized([text, "yes", text]) == [by_nltk(text), "yes", by_nltk(text)]


def test_plain_texts_need_no_nltk():
    code = (
        "import sys; from vatex_jax.text.treebank import detokenized;"
        "texts = ['yes', \"no, it's not\", 'a dog?'];"
        "assert detokenized(texts) == texts; assert 'nltk' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
