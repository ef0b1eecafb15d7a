"""Distinct n-grams of a stream of sentences: exact, eight bytes each, a chunk of sentences at a time.

A word is its number, a bigram too; a trigram is the number of its first two words beside the third's, a 4-gram the
numbers of its two bigrams side by side. So every n-gram is one 64-bit number, and no two share theirs.

Dimension legend
    m  keys      w  words of some sentences
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64

ORDERS = (1, 2, 3, 4)
_HALF = 32  # bits of a number in a pair; 4 billion words or bigrams are more than there will be


class KeySet:
    """A growing set of 64-bit keys: a few sorted arrays, merged as they grow, so that adding n takes O(n log n)."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def add(self, keys: Int64[np.ndarray, "m"]) -> None:
        """Adds keys, in any order and as often as they come."""
        new = np.unique(keys)
        for part in self._parts:
            new = new[part[np.minimum(np.searchsorted(part, new), len(part) - 1)] != new]
        if len(new):
            self._parts.append(new)
        while len(self._parts) > 1 and len(self._parts[-2]) < 2 * len(self._parts[-1]):
            last = self._parts.pop()
            # Stable sorting recognises runs, and here there are two.
            self._parts[-1] = np.sort(np.concatenate([self._parts[-1], last]), kind="stable")


class DistinctNgrams:
    """How many distinct 1- to 4-grams the sentences added so far hold."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self._bigrams: dict[int, int] = {}
        self._longer = {3: KeySet(), 4: KeySet()}

    def add(self, sentences: Sequence[Sequence[str]]) -> None:
        """Counts the n-grams within each of these sentences."""
        words = self.words
        numbers = [words.setdefault(word, len(words)) for sentence in sentences for word in sentence]
        lengths = np.array([len(sentence) for sentence in sentences], np.int64)
        ids = np.array(numbers, np.int64)
        # The words that follow each one in its sentence.
        left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(ids)) - 1
        at = {n: np.flatnonzero(left >= n - 1) for n in (2, 3, 4)}
        bigrams = np.zeros(len(ids), np.int64)
        bigrams[at[2]] = self._numbered(_pair(ids[at[2]], ids[at[2] + 1]))
        self._longer[3].add(_pair(bigrams[at[3]], ids[at[3] + 2]))
        self._longer[4].add(_pair(bigrams[at[4]], bigrams[at[4] + 2]))

    def count(self, n: int) -> int:
        """Distinct n-grams so far."""
        return len({1: self.words, 2: self._bigrams, **self._longer}[n])

    def _numbered(self, keys: Int64[np.ndarray, "m"]) -> Int64[np.ndarray, "m"]:
        """The number of each bigram, the next free one where it is new."""
        known = self._bigrams
        distinct, place = np.unique(keys, return_inverse=True)
        numbers = np.array([known.setdefault(key, len(known)) for key in distinct.tolist()], np.int64)
        return numbers[place] if len(keys) else keys


def _pair(left: Int64[np.ndarray, "m"], right: Int64[np.ndarray, "m"]) -> Int64[np.ndarray, "m"]:
    return (left << _HALF) | right
