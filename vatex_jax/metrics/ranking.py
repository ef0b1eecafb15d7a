"""Ranks of candidate answers and what VisDial makes of them: MR, R@k, MRR (single candidate), NDCG (multi-candidate).

The visual dialogue paper's section 3.1 and appendix B. Scores may be tied, and an evaluation that breaks ties by the
order of the options favours whatever comes first. Here every figure is the expectation over a random order of the tied
options; without ties it is the published definition.

Dimension legend
    n  questions      c  candidates (100 in VisDial)
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int, Real

from vatex_jax.errors import DataError

RECALLS = (1, 5, 10)

METRICS = ("mr", *(f"r@{k}" for k in RECALLS), "mrr", "ndcg")

STATISTICS = ("questions", *METRICS[:-1], "annotated", "ndcg")
"""Columns of `statistics`: numbers of questions, each followed by the sums of metrics over them."""

_ROWS = 16_384  # of 100 candidates in float64: 13 MB an array


def ranks(scores: Real[np.ndarray, "n c"]) -> Float[np.ndarray, "n c"]:
    """The expected rank of each candidate, 1 for the highest score; tied candidates share the mean of their ranks.

    Raises:
        DataError: a score is NaN.
    """
    return _by_rows(_ranks, scores)


def positions(
    scores: Real[np.ndarray, "n c"], gt_index: Int[np.ndarray, "n"]
) -> tuple[Int[np.ndarray, "n"], Int[np.ndarray, "n"]]:
    """How many candidates score above the ground truth, and how many as much (itself included).

    In a random order of the tied the ground truth's rank is above + 1 to above + tied, each equally likely.

    Raises:
        DataError: a score is NaN, or an index outside of the candidates.
    """
    scores = _checked(scores)
    if gt_index.shape != (len(scores),):
        raise DataError(f"ranking: {len(scores)} rows of scores, but ground-truth indices {gt_index.shape}.")
    outside = np.flatnonzero((gt_index < 0) | (gt_index >= scores.shape[1]))
    if len(outside):
        raise DataError(
            f"ranking: row {outside[0]}: the ground truth is candidate {gt_index[outside[0]]}, but there are "
            f"{scores.shape[1]}, from 0. Leave out questions whose answer is hidden."
        )
    truth = np.take_along_axis(scores, gt_index[:, None].astype(np.int64), axis=1)
    return (scores > truth).sum(axis=1), (scores == truth).sum(axis=1)


def expected_metrics(above: Int[np.ndarray, "n"], tied: Int[np.ndarray, "n"]) -> dict[str, Float[np.ndarray, "n"]]:
    """`mr`, `r@1`, `r@5`, `r@10` (percent), `mrr` of each question, from `positions`; their means are the metrics."""
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, 1 + np.max(above + tied, initial=0)))])
    found = {"mr": above + (tied + 1) / 2.0}
    found |= {f"r@{k}": 100.0 * np.clip((k - above) / tied, 0.0, 1.0) for k in RECALLS}
    return found | {"mrr": (harmonic[above + tied] - harmonic[above]) / tied}


def retrieval_metrics(scores: Real[np.ndarray, "n c"], gt_index: Int[np.ndarray, "n"]) -> dict[str, float]:
    """Single-candidate metrics (section 3.1).

    Args:
        scores: of each question's candidates, higher is better.
        gt_index: the ground truth's place among the candidates.

    Returns:
        `mr` (mean rank, 1 to c), `r@1`, `r@5`, `r@10` (percent), `mrr` (0-1), and `tied`, the number of questions
        whose ground truth shares its score with other candidates.

    Raises:
        DataError: there is no question, a score is NaN, or an index is outside of the candidates.
    """
    above, tied = positions(scores, gt_index)
    if not len(above):
        raise DataError("ranking: there is no question to measure.")
    means = {name: float(values.mean()) for name, values in expected_metrics(above, tied).items()}
    return means | {"tied": float((tied > 1).sum())}


def ndcg(scores: Real[np.ndarray, "n c"], relevance: Real[np.ndarray, "n c"]) -> Float[np.ndarray, "n"]:
    """Normalised discounted cumulative gain of each question (appendix B).

    DCG@m = sum over ranks i = 1..m of rho_i / log2(i + 1), m the number of candidates of relevance above 0, divided by
    that of the best order. NaN where no candidate is relevant: there is no best order (count them, see `mean_ndcg`).

    Raises:
        DataError: a score is NaN, a relevance negative or not finite, or their shapes differ.
    """
    scores, relevance = _checked(scores), np.asarray(relevance, np.float64)
    if relevance.shape != scores.shape:
        raise DataError(f"ndcg: scores {scores.shape} and relevances {relevance.shape} must have one shape.")
    if not (np.isfinite(relevance) & (relevance >= 0)).all():
        raise DataError("ndcg: relevances must be finite and not negative.")
    return _by_rows(_ndcg, scores, relevance)


def mean_ndcg(values: Float[np.ndarray, "n"]) -> tuple[float, int]:
    """The mean over questions that have one, and how many have none.

    Raises:
        DataError: none has one.
    """
    undefined = np.isnan(values)
    if undefined.all():
        raise DataError("ndcg: no question has a relevant candidate.")
    return float(values[~undefined].mean()), int(undefined.sum())


def statistics(
    dialogues: Int[np.ndarray, "n"], values: Mapping[str, Float[np.ndarray, "n"]], ndcg: Float[np.ndarray, "n"]
) -> Float[np.ndarray, "d s"]:
    """The sums of the metrics of each dialogue's questions, from which those of any choice of dialogues follow.

    Args:
        dialogues: the number of each question's dialogue; rows come in the order of these numbers.
        values: of each question, as `expected_metrics` gives them.
        ndcg: of each question, NaN where there is none.

    Returns:
        a column for each of `STATISTICS`.
    """
    _, ids = np.unique(dialogues, return_inverse=True)
    annotated = ~np.isnan(ndcg)
    sums = {name: np.bincount(ids, values[name]) for name in METRICS[:-1]}
    sums |= {"questions": np.bincount(ids), "annotated": np.bincount(ids, annotated)}
    sums |= {"ndcg": np.bincount(ids, np.where(annotated, ndcg, 0.0))}
    return np.stack([sums[name] for name in STATISTICS], axis=1).astype(np.float64)


def sums_of(statistics: Real[np.ndarray, "d s"], metric: str) -> Real[np.ndarray, "d 2"]:
    """Of `statistics` the sums of one metric, and the numbers of questions they are over."""
    count = "annotated" if metric == "ndcg" else "questions"
    return statistics[:, [STATISTICS.index(metric), STATISTICS.index(count)]]


def mean_of_sums(sums: Float[np.ndarray, "... 2"]) -> Float[np.ndarray, "..."]:
    """The metric of some dialogues from their `sums_of`, added up."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def rank_distribution(
    above: Int[np.ndarray, "n"], tied: Int[np.ndarray, "n"], candidates: int
) -> Float[np.ndarray, "candidates"]:
    """Share of the questions whose ground truth has rank 1, 2, ... (figure 2); a tie counts in equal parts."""
    steps = np.zeros(candidates + 1)
    np.add.at(steps, above, 1.0 / tied)
    np.subtract.at(steps, above + tied, 1.0 / tied)
    return np.cumsum(steps)[:-1] / max(1, len(above))


def rank_permutations(scores: Real[np.ndarray, "n c"], seed: int) -> Int[np.ndarray, "n c"]:
    """The rank of each candidate as EvalAI wants it: a permutation of 1..c a row, tied candidates in random order.

    Raises:
        DataError: a score is NaN.
    """
    scores = _checked(scores)
    random = np.random.default_rng(seed).random(scores.shape)
    order = np.lexsort((random, -scores), axis=1)
    found = np.empty(scores.shape, np.int64)
    np.put_along_axis(found, order, np.broadcast_to(np.arange(1, scores.shape[1] + 1), scores.shape), axis=1)
    return found


def _checked(scores: np.ndarray) -> np.ndarray:
    scores = np.asarray(scores)
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise DataError(f"ranking: scores must be rows of candidates, not an array {scores.shape}.")
    if scores.dtype.kind == "f" and np.isnan(scores).any():
        row, column = np.argwhere(np.isnan(scores))[0]
        raise DataError(f"ranking: the score of row {row}, candidate {column} is NaN.")
    return scores


def _by_rows(function: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
    """Applies a function to some rows at a time: sorting makes several arrays of the size of its input."""
    arrays = (_checked(arrays[0]), *arrays[1:])
    starts: Sequence[int] = range(0, len(arrays[0]), _ROWS) or (0,)
    return np.concatenate([function(*(array[start : start + _ROWS] for array in arrays)) for start in starts])


def _tie_groups(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The descending order of each row, and for each place of it the first and last place of its tie."""
    order = np.argsort(scores, axis=1)[:, ::-1]
    ordered = np.take_along_axis(scores, order, axis=1)
    place = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    changes = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(np.pad(changes, ((0, 0), (1, 0)), constant_values=True), place, 0), axis=1)
    ends = np.where(np.pad(changes, ((0, 0), (0, 1)), constant_values=True), place, scores.shape[1])
    last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    return order, first, last


def _ranks(scores: np.ndarray) -> np.ndarray:
    order, first, last = _tie_groups(scores)
    found = np.empty(scores.shape)
    np.put_along_axis(found, order, 1.0 + (first + last) / 2.0, axis=1)
    return found


def _ndcg(scores: np.ndarray, relevance: np.ndarray) -> np.ndarray:
    order, first, last = _tie_groups(scores)
    gains = np.take_along_axis(relevance, order, axis=1)
    sums = np.pad(np.cumsum(gains, axis=1), ((0, 0), (1, 0)))
    # In a random order of the tied, each of their places has their mean gain.
    tied = np.take_along_axis(sums, last + 1, axis=1) - np.take_along_axis(sums, first, axis=1)
    expected = tied / (last - first + 1)
    discounts = 1.0 / np.log2(np.arange(2, scores.shape[1] + 2))
    counted = np.arange(scores.shape[1]) < (relevance > 0).sum(axis=1, keepdims=True)
    ideal = -np.sort(-relevance, axis=1)
    best = (ideal * discounts * counted).sum(axis=1)
    found = (expected * discounts * counted).sum(axis=1)
    return np.divide(found, best, out=np.full(len(scores), np.nan), where=best > 0)
