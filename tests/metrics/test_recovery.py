"""Recovery accuracy by hand: multisets, surfaces before lemmas, words of several tokens, and a slow recount."""

from collections import Counter

import numpy as np
import pytest

from vatex_jax.errors import DataError
from vatex_jax.metrics import recovery
from vatex_jax.metrics.significance import bootstrap_interval
from vatex_jax.text.tagging import Word, open_tagger
from vatex_jax.text.tokenization import make_tokenizer


def words(text, kind="noun"):
    """Words with a kind; `dogs/dog` has the lemma dog, `-x` is of no kind."""
    made = []
    for part in text.split():
        form, _, lemma = part.lstrip("-").partition("/")
        made.append(Word(form, lemma or form, "T", "" if part.startswith("-") else kind))
    return made


@pytest.mark.parametrize(
    ("reference", "translation", "expected"),
    [
        ("dog cat", "dog bird", (1, 2)),
        ("dog dog", "dog", (1, 2)),  # one word answers for one
        ("dog", "dog dog", (1, 1)),
        ("dogs/dog", "dog", (1, 1)),  # by lemma
        ("Dog", "dog", (1, 1)),  # whatever the capitals
        ("dogs/dog dog", "dog", (1, 2)),  # the surface takes it
        ("dogs/dog dog", "dog dogs/dog", (2, 2)),
        ("dog", "-dog", (1, 1)),  # whatever it is tagged as
        ("-dog", "dog", (0, 0)),  # not a noun of the reference
        ("", "dog", (0, 0)),
        ("dog", "", (0, 1)),
    ],
)
def test_hand_worked(reference, translation, expected):
    assert recovery.statistics([words(reference)], [words(translation)], "noun").tolist() == [list(expected)]


def test_real_sentences_in_both_languages():
    en, zh = make_tokenizer("en"), make_tokenizer("zh")
    tagger = open_tagger("en", cache=None)
    reference, translation = tagger.tag([en.cased("Two men throw balls to dogs."), en.cased("A man throws a ball.")])
    assert recovery.statistics([reference], [translation], "noun").tolist() == [[2, 3]]  # men, balls; no dogs
    assert recovery.statistics([reference], [translation], "verb").tolist() == [[1, 1]]
    tagger = open_tagger("zh", cache=None)
    reference, translation = tagger.tag([zh.cased("男人在公园里吃苹果。"), zh.cased("男人吃香蕉。")])
    assert recovery.statistics([reference], [translation], "noun").tolist() == [[1, 3]]
    assert recovery.statistics([reference], [translation], "verb").tolist() == [[1, 1]]


def test_the_percentage_is_of_the_corpus():
    counts = recovery.statistics([words("a b c"), words("d")], [words("a b c"), words("x")], "noun")
    assert recovery.percent(counts.sum(axis=0)) == 75.0
    assert recovery.percent(np.zeros((2, 2))).tolist() == [0.0, 0.0]


def test_without_lemmas_it_is_the_multisets_intersection():
    rng = np.random.default_rng(0)
    vocabulary = [f"w{i}" for i in range(6)]
    pairs = [[" ".join(rng.choice(vocabulary, rng.integers(0, 7))) for _ in range(2)] for _ in range(300)]
    found = recovery.statistics([words(a) for a, _ in pairs], [words(b) for _, b in pairs], "noun")
    for (a, b), (got, total) in zip(pairs, found.tolist(), strict=True):
        assert got == (Counter(a.split()) & Counter(b.split())).total()
        assert total == len(a.split())


def test_the_interval_holds_the_figure_and_narrows():
    rng = np.random.default_rng(1)
    few, many = (np.stack([rng.binomial(3, 0.6, n), np.full(n, 3)], axis=1) for n in (50, 5000))
    widths = []
    for counts in (few, many):
        low, high = bootstrap_interval(counts, recovery.percent, samples=200)
        assert low <= recovery.percent(counts.sum(axis=0)) <= high
        widths.append(high - low)
    assert widths[1] < widths[0] / 5


def test_masked_words_are_recovered_where_their_translation_stands():
    wanted = [[["红", "球"], ["狗"]], [["狗"], ["狗"]], []]
    translations = [["一", "红", "球"], ["狗", "和", "狗", "狗"], ["猫"]]
    assert recovery.aligned_statistics(wanted, translations).tolist() == [[1, 2], [2, 2], [0, 0]]
    assert recovery.aligned_statistics([[["a", "a"], ["a", "a"]]], [["a", "a", "a"]]).tolist() == [[1, 2]]
    assert recovery.aligned_statistics([[["b"], ["a", "b"]]], [["a", "b"]]).tolist() == [[1, 2]]  # a token answers once


def test_a_translation_is_needed_of_every_sentence():
    with pytest.raises(DataError, match="0 of 1"):
        recovery.statistics([words("a")], [], "noun")
    with pytest.raises(DataError, match="1 of 0"):
        recovery.aligned_statistics([], [["a"]])
