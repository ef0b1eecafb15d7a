"""Distinct n-grams against sets of tuples."""

import numpy as np
import pytest

from vatex_jax.corpus.ngrams import ORDERS, DistinctNgrams, KeySet


def recount(sentences, n):
    return len({tuple(s[i : i + n]) for s in sentences for i in range(len(s) - n + 1)})


def test_hand_worked():
    found = DistinctNgrams()
    found.add([["a", "b", "a", "b", "a"], ["b", "a"], []])
    # a b; ab ba; aba bab; abab baba
    assert [found.count(n) for n in ORDERS] == [2, 2, 2, 2]
    found.add([["a", "b", "c", "d"], ["c"]])
    assert [found.count(n) for n in ORDERS] == [4, 4, 4, 3]


@pytest.mark.parametrize("words", [3, 50])
def test_any_stream_in_any_chunks_equals_a_recount(words):
    rng = np.random.default_rng(words)
    sentences = [[f"w{i}" for i in rng.integers(0, words, rng.integers(0, 12))] for _ in range(600)]
    found, start = DistinctNgrams(), 0
    for size in (1, 2, 7, 100, 0, 490):
        found.add(sentences[start : start + size])
        start += size
        for n in ORDERS:
            assert found.count(n) == recount(sentences[:start], n)
    assert start == len(sentences)


def test_ngrams_never_cross_sentences():
    found = DistinctNgrams()
    found.add([["a", "b"], ["c", "d"]])
    assert [found.count(n) for n in ORDERS] == [4, 2, 0, 0]


def test_a_set_of_keys_equals_pythons():
    rng = np.random.default_rng(0)
    keys, expected = KeySet(), set()
    for size in (0, 5, 1, 300, 20, 1, 1, 1000, 3):
        some = rng.integers(-50, 2000, size) * (1 << 40)
        keys.add(some)
        expected |= set(some.tolist())
        assert len(keys) == len(expected)
    assert len(keys._parts) < 8
