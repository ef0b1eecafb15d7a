"""Nearest training questions of a question, and what the nearest-neighbour baselines make of their answers.

Das et al. (2017); the visual dialogue paper's appendix A. Training questions repeat: distances are to distinct ones,
neighbours are counted with their repetitions.

Dimension legend
    q  queries      m, U  training questions, distinct ones      K  neighbours      k  numbers a vector
"""

import warnings
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float32, Int

from vatex_jax.errors import DataError

_CELLS = 1 << 24  # similarities held at once: 64 MB


def neighbours(
    queries: Float32[np.ndarray, "q k"],
    questions: Float32[np.ndarray, "U k"],
    ids: Int[np.ndarray, "m"],
    count: int,
    metric: str,
) -> Int[np.ndarray, "q K"]:
    """The training questions nearest to each query, nearest first.

    Args:
        queries: distinct queries.
        questions: distinct training questions.
        ids: which of these each training question is, in the data set's order.
        count: K; all training questions where there are fewer, with a warning.
        metric: `l2`, or `correlation`, the inner product of vectors of length 1.

    Returns:
        Positions in `ids`. Questions at the same distance, among them repetitions of one, are in the data set's order.

    Raises:
        DataError: there is no training question.
    """
    if not len(ids):
        raise DataError("nearest neighbours: there are no training questions.")
    if count > len(ids):
        warnings.warn(f"{count} neighbours are asked for, there are {len(ids)} questions: all are taken.", stacklevel=2)
        count = len(ids)
    order = np.argsort(ids, kind="stable")
    starts = np.searchsorted(ids[order], np.arange(len(questions) + 1))
    found = np.empty((len(queries), count), np.int64)
    for start, similarity in _similarities(queries, questions, metric):
        for row, values in enumerate(similarity, start):
            found[row] = _nearest(values, order, starts, count)
    return found


def _similarities(queries: np.ndarray, questions: np.ndarray, metric: str) -> Iterator[tuple[int, np.ndarray]]:
    rows = max(1, _CELLS // len(questions))
    squares = 0.5 * np.einsum("uk,uk->u", questions, questions) if metric == "l2" else 0.0
    for start in range(0, len(queries), rows):
        # -|a - b|^2 / 2 less what is the same for all of a query's questions
        yield start, queries[start : start + rows] @ questions.T - squares


def _nearest(values: np.ndarray, order: np.ndarray, starts: np.ndarray, count: int) -> np.ndarray:
    """The `count` most similar training questions; `order` has those of one distinct question side by side."""
    kept = np.flatnonzero(starts[1:] > starts[:-1])  # a distinct question may be of another split alone
    values = values[kept]
    if len(kept) > count:
        enough = values >= np.partition(values, -count)[-count]  # ties with the last one stay in
        kept, values = kept[enough], values[enough]
    members = [order[starts[one] : starts[one + 1]][:count] for one in kept]
    rows = np.concatenate(members)
    similarity = np.repeat(values, [len(one) for one in members])
    return rows[np.lexsort((rows, -similarity))][:count]


def nearest_images(
    found: Int[np.ndarray, "q K"],
    images: Float32[np.ndarray, "q F"],
    table: Float32[np.ndarray, "D F"],
    ids: Int[np.ndarray, "m"],
    count: int,
) -> Int[np.ndarray, "q k_image"]:
    """Of each query's neighbours those whose images are most like its own, by L2, the most like first.

    Args:
        found: training questions, as `neighbours` returns them.
        images: of the queries.
        table: distinct training images; `ids` says which one each training question is about.
        count: how many are kept; all where there are fewer. The nearer question comes first at the same distance.
    """
    kept = []
    for rows, image in zip(found, images, strict=True):
        distance = np.linalg.norm(table[ids[rows]] - image, axis=1)
        kept.append(rows[np.argsort(distance, kind="stable")[:count]])
    return np.array(kept, np.int64).reshape(len(found), -1)
