"""Which word of a sentence's translation a word became, learned from parallel sentences: Dice's coefficient.

Of source word s and target word t, 2 c(s, t) / (c(s) + c(t)), c counting the sentence pairs that hold them: near 1 for
words that come together and seldom alone. It needs neither order nor iterations, and content words, the ones asked for
here, are where it is at its best; how good it is on a world that knows the answers is measured (`precision`).

Dimension legend
    S, T  distinct source and target words
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import sparse

LEAST = 0.05
"""Words with less in common are not aligned."""


@dataclasses.dataclass(frozen=True)
class DiceAligner:
    """Learned coefficients.

    Attributes:
        source, target: the places of words.
        dice: [S, T]; of the pairs that came together.
    """

    source: dict[str, int]
    target: dict[str, int]
    dice: sparse.csr_array

    @classmethod
    def learn(cls, pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> "DiceAligner":
        """From (source tokens, target tokens) of parallel sentences."""
        source: dict[str, int] = {}
        target: dict[str, int] = {}
        cells: tuple[list, list] = ([], [])
        pairs = list(pairs)
        for row, sides in enumerate(pairs):
            for words, places, found in zip(sides, (source, target), cells, strict=True):
                found += [(row, places.setdefault(word, len(places))) for word in dict.fromkeys(words)]
        held = []
        for found, size in zip(cells, (len(source), len(target)), strict=True):
            rows, columns = np.array(found, np.int64).reshape(-1, 2).T
            held.append(sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(pairs), size)))
        together = (held[0].T @ held[1]).tocoo()
        alone = [side.sum(axis=0) for side in held]
        shares = 2.0 * together.data / (alone[0][together.row] + alone[1][together.col])
        return cls(source, target, sparse.csr_array((shares, (together.row, together.col)), shape=together.shape))

    def align(self, source: Sequence[str], target: Sequence[str], places: Sequence[int]) -> list[int | None]:
        """The place in `target` of the word that each source word at `places` became; None where none is likely.

        A target word is taken once: the likeliest pairs first, of equally likely ones the earlier.
        """
        scores = [(-self._dice(source[at], word), at, place) for at in places for place, word in enumerate(target)]
        taken: dict[int, int] = {}
        used: set[int] = set()
        for score, at, place in sorted(scores):
            if -score >= LEAST and at not in taken and place not in used:
                taken[at] = place
                used.add(place)
        return [taken.get(at) for at in places]

    def is_mutual(self, source: Sequence[str], target: Sequence[str], at: int, place: int) -> bool:
        """Whether each of two aligned words has no likelier partner in the other's sentence."""
        own = self._dice(source[at], target[place])
        rivals = [self._dice(word, target[place]) for word in source]
        return own >= max([*rivals, *(self._dice(source[at], word) for word in target)])

    def _dice(self, source: str, target: str) -> float:
        row, column = self.source.get(source), self.target.get(target)
        return 0.0 if row is None or column is None else float(self.dice[row, column])


def precision(found: Iterable[Sequence[str | None]], right: Iterable[Sequence[str | None]]) -> tuple[float, float]:
    """Percent of the alignments made that are right, and of the words that were aligned; of those known alone.

    Args:
        found: of each sentence, the target word found for each source word, None for none.
        right: the same, as a world has them; None where it does not say, which counts nowhere.
    """
    counts: Counter[str] = Counter()
    for words, answers in zip(found, right, strict=True):
        for word, answer in zip(words, answers, strict=True):
            counts["known"] += answer is not None
            counts["made"] += answer is not None and word is not None
            counts["right"] += answer is not None and word == answer
    return 100.0 * counts["right"] / max(1, counts["made"]), 100.0 * counts["made"] / max(1, counts["known"])
