"""Nearest training questions of a question, and what the nearest-neighbour baselines make of their answers.

Das et al. (2017); the visual dialogue paper's appendix A. Training questions repeat: distances are to distinct ones,
neighbours are counted with their repetitions.

Dimension legend
    q  queries      m, U  training questions, distinct ones      K  neighbours      k  numbers a vector
"""

import os
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from jaxtyping import Float32, Int

from vatex_jax.errors import DataError

_CELLS = 1 << 22  # similarities that a thread holds at once: 16 MB


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
    # A distinct question may be of another split alone: it is nobody's neighbour.
    distinct, places = np.unique(ids, return_inverse=True)
    table = questions[distinct]
    order = np.argsort(places, kind="stable")  # has those of one distinct question side by side
    starts = np.searchsorted(places[order], np.arange(len(distinct) + 1))
    squares = 0.5 * np.einsum("uk,uk->u", table, table) if metric == "l2" else 0.0
    found = np.empty((len(queries), count), np.int64)
    block = max(1, _CELLS // len(table))

    def search(start: int) -> None:
        # For l2: -|a - b|^2 / 2 less what is the same for all of a query's questions.
        similarity = queries[start : start + block] @ table.T - squares
        least = _least_kept(similarity, count)
        for row, values in enumerate(similarity):
            found[start + row] = _nearest(values, least[row], order, starts, count)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(search, range(0, len(queries), block)))
    return found


def _least_kept(similarity: np.ndarray, count: int) -> np.ndarray:
    """The similarity of each row's `count`-th most similar distinct question: none below it can be a neighbour."""
    if similarity.shape[1] <= count:
        return similarity.min(axis=1)
    return np.partition(similarity, -count, axis=1)[:, -count]


def _nearest(values: np.ndarray, least: np.floating, order: np.ndarray, starts: np.ndarray, count: int) -> np.ndarray:
    """The `count` most similar training questions, those at one distance in the data set's order."""
    kept = np.flatnonzero(values >= least)
    members = [order[starts[one] : starts[one + 1]][:count] for one in kept]
    rows = np.concatenate(members)
    similarity = np.repeat(values[kept], [len(one) for one in members])
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
