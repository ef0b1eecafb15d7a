"""Scores of each question's own candidates, which are ids into a table of distinct answers.

Dimension legend
    n  questions      Q, A  distinct questions, answers      c  candidates      k  components
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from jaxtyping import Float32, Int

_GATHERED_BYTES = 1 << 19  # stay in a core's cache until they are multiplied
_TASK = 256  # questions that a thread takes at a time

Score = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From vectors [r, k] and their candidates' [r, c, k] to scores [r, c]."""


def correlations(questions: Float32[np.ndarray, "r k"], candidates: Float32[np.ndarray, "r c k"]) -> np.ndarray:
    """Inner products, which are correlations where rows have length 1 (`CCA.embed`)."""
    return np.matmul(candidates, questions[:, :, None])[:, :, 0]


def negative_distances(points: Float32[np.ndarray, "r k"], candidates: Float32[np.ndarray, "r c k"]) -> np.ndarray:
    """-|candidate - point|_2: the nearest candidate scores highest."""
    difference = candidates - points[:, None, :]
    return -np.sqrt(np.einsum("rck,rck->rc", difference, difference))


def score_candidates(
    score: Score,
    queries: Float32[np.ndarray, "Q k"],
    query_ids: Int[np.ndarray, "n"],
    answers: Float32[np.ndarray, "A k"],
    options: Int[np.ndarray, "n c"],
    threads: int | None = None,
) -> Float32[np.ndarray, "n c"]:
    """Scores the candidates of every question.

    The vectors of some questions' candidates are gathered, multiplied while they are in the cache, and forgotten: all
    of them at once would take n c k numbers.

    Args:
        score: `correlations` or `negative_distances`.
        queries: a vector a distinct question; `query_ids` says which a question has.
        answers: a vector a distinct answer; `options` says which are a question's candidates.
        threads: None for as many as there are cores.
    """
    n, c = options.shape
    found = np.empty((n, c), np.float32)
    rows = max(1, _GATHERED_BYTES // max(1, 4 * c * answers.shape[1]))
    memory = threading.local()

    def task(start: int) -> None:
        if not hasattr(memory, "gathered"):
            memory.gathered = np.empty((rows, c, answers.shape[1]), np.float32)
        wanted = queries[query_ids[start : start + _TASK]]
        for first in range(0, len(wanted), rows):
            part = slice(first, min(first + rows, len(wanted)))
            place = slice(start + part.start, start + part.stop)
            gathered = memory.gathered[: part.stop - part.start]
            # clip: by default bounds are checked on a copy first. Ids are checked where dialogues are read.
            np.take(answers, options[place], axis=0, out=gathered, mode="clip")
            found[place] = score(wanted[part], gathered)

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        list(pool.map(task, range(0, n, _TASK)))
    return found
