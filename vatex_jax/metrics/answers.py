"""The answers of a file as numbers: distinct texts, and whom each is compared with.

Texts repeat ("yes", "no"), within a question's generations and over the file, so everything is counted once a distinct
text, and scored once a distinct pair of a question and a text.

Dimension legend
    n  questions      K  the most generations of a question      R  references of all questions, one after the other
    p  distinct (question, generation) pairs
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64, Int, Int64

from vatex_jax.errors import DataError

NONE = -1

_ENTRIES = 1 << 20  # n-grams or comparisons held at a time: some arrays of 8 MB


@dataclasses.dataclass(frozen=True)
class Answers:
    """The generations and references of a file.

    Attributes:
        texts: the distinct ones.
        question, text: of each pair; the text holds a word.
        pair: which pair each generation is; `NONE` where it is empty or there is no such generation.
        references: the text of each reference; duplicates stand as often as in the file.
        starts: n + 1 positions: where each question's references begin, and the end of the last's.
    """

    texts: list[str]
    question: Int64[np.ndarray, "p"]
    text: Int64[np.ndarray, "p"]
    pair: Int64[np.ndarray, "n K"]
    references: Int64[np.ndarray, "R"]
    starts: Int64[np.ndarray, "bounds"]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def table(self, values: Float64[np.ndarray, "p"]) -> Float64[np.ndarray, "n K"]:
        """The values of the pairs at their generations, NaN where there is none."""
        return np.append(values, np.nan)[self.pair]

    def comparisons(
        self, pairs: Int64[np.ndarray, "_"]
    ) -> Iterator[tuple[slice, Int64[np.ndarray, "_"], Int64[np.ndarray, "_"]]]:
        """Some pairs' references, a block of pairs at a time.

        Yields:
            which of `pairs`, the texts of their references one after the other, and where those of each pair begin.
        """
        first = self.starts[self.question[pairs]]
        sizes = self.starts[self.question[pairs] + 1] - first
        for part in blocks(sizes):
            begins = np.cumsum(sizes[part]) - sizes[part]
            places = np.arange(sizes[part].sum()) + np.repeat(first[part] - begins, sizes[part])
            yield part, self.references[places], begins

    def keys(
        self, pairs: Int64[np.ndarray, "_"], references: Int64[np.ndarray, "_"], begins: Int64[np.ndarray, "_"]
    ) -> Int64[np.ndarray, "_"]:
        """A number for each comparison of a block, the same for the same two texts in any question.

        It is the generation's text times the number of texts, and the reference's: `np.divmod` gives both back.
        """
        sizes = np.diff(np.append(begins, len(references)))
        return np.repeat(self.text[pairs], sizes) * len(self.texts) + references


def code_answers(generations: Sequence[Any], references: Sequence[Any]) -> Answers:
    """Numbers the texts of a file.

    Args:
        generations: of each question, a list of any number of texts; one without a word is empty, and not scored.
        references: of each question, a list of at least one text.

    Raises:
        DataError: as `check_lists`.
    """
    check_lists(generations, references)
    ids: dict[str, int] = {}
    width = max(map(len, generations), default=0)
    generated = np.full((len(generations), width), NONE, np.int64)
    for row, texts in enumerate(generations):
        generated[row, : len(texts)] = [ids.setdefault(text, len(ids)) if text.strip() else NONE for text in texts]
    referred = np.array([ids.setdefault(text, len(ids)) for texts in references for text in texts], np.int64)
    starts = np.cumsum([0, *map(len, references)], dtype=np.int64)
    there = generated != NONE
    keys = np.nonzero(there)[0] * len(ids) + generated[there]
    distinct, inverse = np.unique(keys, return_inverse=True)
    generated[there] = inverse
    question, text = np.divmod(distinct, max(1, len(ids)))
    return Answers(list(ids), question, text, generated, referred, starts)


def check_lists(generations: Sequence[Any], references: Sequence[Any]) -> None:
    """Checks that there is a list of generations and one of references a question.

    Raises:
        DataError: there is no question, the lists differ in length, an entry is no list of texts, or a question has no
            reference.
    """
    if len(generations) != len(references):
        raise DataError(
            f"the generations are of {len(generations)} questions, the references of {len(references)}: give a list "
            "of each for every question, in the same order."
        )
    if not len(references):
        raise DataError("there is no question to evaluate.")
    for name, lists in (("generations", generations), ("references", references)):
        for row, texts in enumerate(lists):
            if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
                raise DataError(f"the {name} of question {row} must be a list of texts, not {repr(texts)[:80]}.")
    for row, texts in enumerate(references):
        if not texts:
            raise DataError(f"question {row} has no reference. Leave it out of both lists.")


def blocks(sizes: Int[np.ndarray, "_"]) -> Iterator[slice]:
    """Consecutive rows whose sizes come to a bounded sum; a row of more stands alone."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _ENTRIES, side="right")))
        yield slice(start, stop)
        start = stop
