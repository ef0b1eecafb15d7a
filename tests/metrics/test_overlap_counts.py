"""What the overlap metrics count: n-grams, closest lengths."""

import numpy as np

from vatex_jax.metrics.answers import code_answers
from vatex_jax.metrics.overlap_counts import closest_lengths, ngram_counts


def test_ngrams_by_hand():
    words, pairs, triples, fours = ngram_counts(["a b a b", "", "b a", "B"])
    assert sorted(words.toarray().sum(axis=0).tolist()) == [1, 3, 3]
    assert words.sum(axis=1).tolist() == [4, 0, 2, 1]
    assert sorted(pairs.toarray()[0].tolist()) == [1, 2]  # a b, b a
    assert pairs.toarray()[2].sum() == 1
    assert (pairs.toarray()[0] * pairs.toarray()[2]).sum() == 1  # none reaches from one text into the next
    assert [counts.shape[1] for counts in (triples, fours)] == [2, 1]
    assert [counts.shape for counts in ngram_counts(["a"])] == [(1, 1), (1, 0), (1, 0), (1, 0)]
    assert [counts.shape for counts in ngram_counts([])] == [(0, 0)] * 4


def test_the_closest_reference_is_the_shorter_at_a_tie():
    answers = code_answers([["x x", "x x x x x"], ["x x"]], [["a a a", "a"], ["", "a a a"]])
    lengths = np.array([len(text.split()) for text in answers.texts])
    found = answers.table(closest_lengths(answers, lengths).astype(np.float64))
    np.testing.assert_array_equal(found, [[1, 3], [3, np.nan]])
