"""Which candidates answer a question as its ground truth does, from correlations (paper, section 4.2.2, appendix D).

Four constructions: `human` (H), `sigma` (Sigma), `mean_shift` (M), `agglomerative` (G). Those from correlations C come
in the forms of table 10:

| form | of which C is | the set | table 10 |
|---|---|---|---|
| `others` (default) | the candidates but the ground truth | the best of them, and the ground truth | (A_gt, A~) |
| `gt` | all candidates | those the ground truth is among | (A_gt, A), (Q, A)_gt |
| `max` | all candidates | the best, which need not hold the ground truth | (Q, A)_max |

The best are the cluster with the largest centre (M) or mean (G). Both methods make intervals of numbers, so that is the
cluster of the largest correlation; it is also what Sigma counts down from.

Computed in float64, a block of questions at a time, all blocks on all cores. The ground truths must be known: questions
whose answer is hidden have no set.

Dimension legend
    n  questions      c  candidates (100 in VisDial)      r  questions of a block      m  candidates that C is of
"""

import dataclasses
import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from jaxtyping import Bool, Float, Int, Real, Shaped

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.reference_sets import mean_shift as shifting
from vatex_jax.reference_sets import ward

FORMS = ("others", "gt", "max")

_ROWS = 1024  # of 100 numbers: a block's arrays stay in a core's cache
_ORDINARY = 2.0**-100, 2.0**100  # sizes of numbers whose squares are numbers too

Choose = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From correlations [r, m] and the place of the one to start from [r] to those that belong with it: bool [r, m]."""


@dataclasses.dataclass(frozen=True)
class Described:
    """Reference sets in numbers, a row a question.

    Attributes:
        correlation: mean over the set; with answers' correlations the ground truth's own 1 included.
        spread: standard deviation over the set (divisor one less than its size); NaN for a set of one.
        size: answers.
    """

    correlation: Float[np.ndarray, "n"]
    spread: Float[np.ndarray, "n"]
    size: Int[np.ndarray, "n"]


def human(relevance: Real[np.ndarray, "n c"], gt_index: Int[np.ndarray, "n"]) -> Bool[np.ndarray, "n c"]:
    """H = {A: rho(A) > 0} and the ground truth, which annotators may have rejected (section 3.2).

    Raises:
        DataError: a relevance is not a number, or a ground truth is none of the candidates.
    """
    check_truths(relevance, gt_index)
    _finite(relevance, 0, "relevance")
    members = relevance > 0
    members[np.arange(len(members)), gt_index] = True
    return members


def sigma(
    correlations: Float[np.ndarray, "n c"],
    gt_index: Int[np.ndarray, "n"],
    form: str = "others",
) -> Bool[np.ndarray, "n c"]:
    """Sigma = {A: phi(A_gt, A) in [C_max - sigma, C_max]} and the ground truth (appendix D, "Simple").

    sigma is the standard deviation of C with divisor m - 1. The form `gt` is not defined in the paper: here it holds
    what is within a sigma of C_gt, the ground truth's, either way. On 48 real questions these sets have 48 and 51
    answers (CCA-AQ, CCA-AQ*), against 39 and 50 in Table 10; [C_gt - sigma, C_gt] has 28, from C_gt - sigma up 60 to
    64.

    Args:
        correlations: of each candidate with the ground truth or the question; in the form `others`, what stands at the
            ground truth itself is not looked at.
        gt_index: place of the ground truth.
        form: see the module.

    Raises:
        DataError: fewer than 3 candidates, a correlation that is not finite, a ground truth that is none of them.
        ConfigError: an unknown form.
    """
    return _construct(_band, correlations, gt_index, form)


def mean_shift(
    correlations: Float[np.ndarray, "n c"], gt_index: Int[np.ndarray, "n"], form: str = "others"
) -> Bool[np.ndarray, "n c"]:
    """M: the best cluster of mean shift, and the ground truth (appendix D, "Meanshift").

    The sets are those of scikit-learn's MeanShift as it comes, for every row whose set a change of C by 1e-12 of its
    largest number leaves as it is. Where a row's bandwidth comes out as 0 scikit-learn may raise; here each distinct
    correlation is a cluster.

    Args:
        correlations, gt_index, form: as in `sigma`.

    Raises:
        DataError, ConfigError: as in `sigma`.
    """
    return _construct(shifting.cluster_of, correlations, gt_index, form)


def agglomerative(
    correlations: Float[np.ndarray, "n c"], gt_index: Int[np.ndarray, "n"], clusters: int = 5, form: str = "others"
) -> Bool[np.ndarray, "n c"]:
    """G: the best of so many clusters by Ward's method, and the ground truth (appendix D, "Agglomerative").

    The sets are those of scikit-learn's AgglomerativeClustering, with SciPy's choice where merges tie. Equal
    correlations are never parted: a row that has no more distinct ones than clusters has one for each.

    Args:
        correlations, gt_index, form: as in `sigma`.
        clusters: 1 or more; in the form `others` the ground truth is outside of them.

    Raises:
        DataError: as in `sigma`.
        ConfigError: an unknown form, or no cluster.
    """
    if clusters < 1:
        raise ConfigError(f"reference sets: {clusters} clusters cannot be made: 1 or more.")
    return _construct(functools.partial(ward.cluster_of, clusters=clusters), correlations, gt_index, form)


def describe_sets(
    correlation: Float[np.ndarray, "n c"],
    members: Bool[np.ndarray, "n c"],
    gt_index: Int[np.ndarray, "n"] | None = None,
) -> Described:
    """Mean correlation, spread and size of each set (section 3.2.1; appendix D, table 10).

    Args:
        correlation: with the ground truth, or with the question.
        members: the sets.
        gt_index: where the ground truth's own correlation, 1, is to stand; None where all are with the question.

    Raises:
        DataError: a set is empty, a correlation within it no finite number, or a ground truth none of the candidates.
    """
    if gt_index is not None:
        check_truths(members, gt_index)
    check_filled(members, "sets")
    n = len(members)
    found = Described(np.empty(n), np.empty(n), members.sum(axis=1))

    def task(first: int) -> None:
        part = slice(first, first + _ROWS)
        of_set, size = members[part], found.size[part]
        # What is outside of the set is not looked at, so it may be anything.
        values = np.where(of_set, correlation[part], 0.0).astype(np.float64)
        if gt_index is not None:
            values[np.arange(len(values)), gt_index[part]] = 1.0
        _finite(values, first, "correlation")
        mean = (values * of_set).sum(axis=1) / size
        squares = ((values - mean[:, None]) ** 2 * of_set).sum(axis=1)
        variance = np.divide(squares, size - 1, out=np.full(len(size), np.nan), where=size > 1)
        found.correlation[part], found.spread[part] = mean, np.sqrt(variance)

    _in_blocks(task, n)
    return found


def check_filled(members: Bool[np.ndarray, "n c"], what: str) -> None:
    """Raises DataError where a set is empty; `what` says whose they are."""
    empty = np.flatnonzero(~members.any(axis=1))
    if len(empty):
        raise DataError(
            f"reference sets: row {empty[0]} of the {what} is empty: a set has one answer at least. Leave such "
            "questions out."
        )


def check_truths(values: Shaped[np.ndarray, "n c"], gt_index: Int[np.ndarray, "n"]) -> None:
    """Raises DataError where there is not a ground truth a row, or it is none of the row's candidates."""
    n, c = values.shape
    if gt_index.shape != (n,):
        raise DataError(f"reference sets: {n} rows of candidates, but ground-truth indices {gt_index.shape}.")
    outside = np.flatnonzero((gt_index < 0) | (gt_index >= c))
    if len(outside):
        raise DataError(
            f"reference sets: row {outside[0]}: the ground truth is candidate {gt_index[outside[0]]}, but there are "
            f"{c}, from 0. Leave out questions whose answer is hidden."
        )


def _band(values: Float[np.ndarray, "r m"], anchor: Int[np.ndarray, "r"]) -> Bool[np.ndarray, "r m"]:
    """Those within a standard deviation of the anchor."""
    centre, deviation = values[np.arange(len(values)), anchor], values.std(axis=1, ddof=1)
    return (values >= (centre - deviation)[:, None]) & (values <= (centre + deviation)[:, None])


def _construct(
    choose: Choose, correlations: Float[np.ndarray, "n c"], gt_index: Int[np.ndarray, "n"], form: str
) -> Bool[np.ndarray, "n c"]:
    """The sets of all questions, a block at a time."""
    if form not in FORMS:
        raise ConfigError(f"reference sets: form {form!r} is unknown: one of {', '.join(FORMS)}.")
    check_truths(correlations, gt_index)
    if correlations.shape[1] < 3:
        raise DataError(f"reference sets: {correlations.shape[1]} candidates are too few to compare: 3 or more.")
    found = np.empty(correlations.shape, bool)

    def task(first: int) -> None:
        part = slice(first, first + _ROWS)
        values = correlations[part].astype(np.float64)
        if form == "others":
            values[np.arange(len(values)), gt_index[part]] = 0.0  # not looked at, so it may be anything
        _finite(values, first, "correlation")
        found[part] = _sets(choose, _of_ordinary_size(values), gt_index[part], form)

    _in_blocks(task, len(found))
    return found


def _in_blocks(task: Callable[[int], None], rows: int) -> None:
    """Calls `task` with the first row of every block, on all cores; raises what the first block to fail raises."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(task, range(0, rows, _ROWS)))


def _of_ordinary_size(values: Float[np.ndarray, "r c"]) -> Float[np.ndarray, "r c"]:
    """Rows of huge or tiny numbers times a power of 2: their squares and sums would be infinite or 0.

    It changes no set, and rounds only what is too small beside the row's largest number to count.
    """
    largest = np.maximum(values.max(axis=1), -values.min(axis=1))
    odd = np.flatnonzero(((largest < _ORDINARY[0]) | (largest > _ORDINARY[1])) & (largest > 0))
    if len(odd):
        values[odd] = np.ldexp(values[odd], -np.frexp(largest[odd])[1][:, None])
    return values


def _sets(
    choose: Choose, values: Float[np.ndarray, "r c"], gt_index: Int[np.ndarray, "r"], form: str
) -> Bool[np.ndarray, "r c"]:
    """The sets of a block."""
    if form != "others":
        return choose(values, gt_index if form == "gt" else values.argmax(axis=1))
    r, c = values.shape
    kept = np.ones((r, c), bool)
    kept[np.arange(r), gt_index] = False
    others = values[kept].reshape(r, c - 1)
    members = np.ones((r, c), bool)
    members[kept] = choose(others, others.argmax(axis=1)).ravel()
    return members


def _finite(values: Real[np.ndarray, "r c"], first: int, what: str) -> None:
    """Raises DataError for the first value that is no finite number; `first` is the number of the first row."""
    row, place = np.nonzero(~np.isfinite(values))
    if len(row):
        raise DataError(
            f"reference sets: row {first + row[0]}: the {what} of candidate {place[0]} is {values[row[0], place[0]]}. "
            "Leave the question out, or mend what its numbers come from."
        )
