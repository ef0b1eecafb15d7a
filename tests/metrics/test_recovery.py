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
        # saw the noun and saw the form of see: a best pairing whatever the order, here and in the translation
        ("saw/saw saws/saw", "saw/see saw/saw", (2, 2)),
        ("saws/saw saw/saw", "saw/see saw/saw", (2, 2)),
        ("saw/saw saws/saw", "saw/saw saw/see", (2, 2)),
        ("saws/saw saw/saw", "saw/saw saw/see", (2, 2)),
        ("saw/see saw/saw saws/saw", "saws/saw sees/see saw/saw", (3, 3)),
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


def brute_force(reference, translation):
    """The most words that can be answered for, over every way to give each a word of the translation or none."""
    if not reference:
        return 0
    first, rest = reference[0], reference[1:]
    best = brute_force(rest, translation)
    for i, word in enumerate(translation):
        if word.text == first.text or word.lemma == first.lemma:
            best = max(best, 1 + brute_force(rest, translation[:i] + translation[i + 1 :]))
    return best


def test_as_many_words_as_possible_are_recovered_by_brute_force():
    rng = np.random.default_rng(2)
    forms = ["saw/see", "saw/saw", "saws/saw", "sees/see", "seen/see", "sawn/saw"]
    pairs = [[words(" ".join(rng.choice(forms, rng.integers(0, 6)))) for _ in range(2)] for _ in range(400)]
    counts = recovery.statistics([a for a, _ in pairs], [b for _, b in pairs], "noun")
    assert counts[:, 0].tolist() == [brute_force(a, b) for a, b in pairs]


def brute_placed(words, tokens):
    """The most words of several tokens that can be placed without sharing one, over every choice of places."""
    if not words:
        return 0
    best = brute_placed(words[1:], tokens)
    for place in range(len(tokens) - len(words[0]) + 1):
        end = place + len(words[0])
        if tokens[place:end] == words[0]:
            best = max(best, 1 + brute_placed(words[1:], tokens[:place] + [None] * (end - place) + tokens[end:]))
    return best


def test_as_many_masked_words_as_possible_are_placed_by_brute_force():
    rng = np.random.default_rng(3)
    spans = [["a"], ["b"], ["a", "a"], ["a", "b"], ["b", "a", "b"]]
    wanted = [[spans[i] for i in rng.integers(0, len(spans), rng.integers(0, 5))] for _ in range(400)]
    translations = [list(rng.choice(["a", "b", "c"], rng.integers(0, 8))) for _ in range(400)]
    counts = recovery.aligned_statistics(wanted, translations)
    assert counts[:, 0].tolist() == [brute_placed(w, t) for w, t in zip(wanted, translations, strict=True)]
    # The first place that fits is not always the best: "a a" at the end leaves "a b" its place.
    assert recovery.aligned_statistics([[["a", "a"], ["a", "b"]]], [["a", "a", "b", "a", "a"]]).tolist() == [[2, 2]]


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
