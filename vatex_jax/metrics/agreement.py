"""What annotators said of sets of answers, and how far they agree (visual dialogue paper, section 4.2.2, Table 2).

Every annotator gives every answer of a task one of two values: still ticked or not. Annotators may be missing, so the
number of judgements differs from answer to answer.

Dimension legend
    u  units: answers, each judged by some annotators      v  values: 2 for ticked or not
"""

import dataclasses

import numpy as np
from jaxtyping import Int

from vatex_jax.errors import DataError


@dataclasses.dataclass(frozen=True)
class Selection:
    """Table 2's figures. Shares are of a task's answers, percent, each task counting the same.

    The paper prints "variance in brackets" without a unit. Read as that of shares between 0 and 1 over tasks, times
    100, its figures are possible ones (2.15 is a standard deviation of 15 points); read as squared percent, tasks of
    a dozen answers would have to differ by 1.5 points. Hence the first.

    Attributes:
        selected: mean over tasks of the ticks a task's answers got, of all they could get.
        selected_variance: of the shares over tasks, divisor one less than the tasks, times 100; NaN for one task.
        by_one: mean over tasks of the answers that one annotator or more left ticked.
        by_one_variance: likewise.
        pooled: ticks of all tasks, of all they could get: large sets count more.
    """

    selected: float
    selected_variance: float
    by_one: float
    by_one_variance: float
    pooled: float


def selection(votes: Int[np.ndarray, "u"], annotators: Int[np.ndarray, "u"], task: Int[np.ndarray, "u"]) -> Selection:
    """How much of their sets annotators left ticked.

    Args:
        votes: ticks each answer got.
        annotators: who judged it, 1 or more.
        task: which task it belongs to; any numbers.

    Raises:
        DataError: there is no answer, one without annotator, or one with more ticks than annotators.
    """
    if not len(votes):
        raise DataError("selection: there is no judged answer to take shares of.")
    wrong = np.flatnonzero((annotators < 1) | (votes < 0) | (votes > annotators))
    if len(wrong):
        row = wrong[0]
        raise DataError(f"selection: answer {row} has {votes[row]} ticks from {annotators[row]} annotators.")
    _, place = np.unique(task, return_inverse=True)
    selected = np.bincount(place, votes) / np.bincount(place, annotators)
    by_one = np.bincount(place, votes > 0) / np.bincount(place)
    return Selection(
        *(100.0 * selected.mean(), 100.0 * _variance(selected)),
        *(100.0 * by_one.mean(), 100.0 * _variance(by_one)),
        pooled=100.0 * float(votes.sum() / annotators.sum()),
    )


def krippendorff_alpha(counts: Int[np.ndarray, "u v"]) -> float:
    """Krippendorff's alpha for nominal values: 1 - D_o / D_e; 1 is full agreement, 0 what chance would give.

    With n_uv annotators who gave unit u the value v, m_u = sum_v n_uv, n = the sum of m_u and n_v that of n_uv over
    the units with m_u >= 2 (others have no pair and count nowhere):
        D_o = (1 / n) sum_u sum_{v != w} n_uv n_uw / (m_u - 1),   D_e = sum_{v != w} n_v n_w / (n (n - 1))
    (K. Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011, section C). Where nothing is missing and
    there are many units it comes close to Fleiss' kappa.

    Returns:
        alpha; NaN where no unit has a pair, or all have one value: D_e is 0, and agreement proves nothing.
    """
    paired = _paired(counts)
    total = paired.sum()
    by_value = paired.sum(axis=0)
    expected = total**2 - (by_value**2).sum()  # sum_{v != w} n_v n_w
    if not expected:
        return float("nan")
    return float(1.0 - (total - 1.0) * _disagreement(paired).sum() / expected)


def pair_agreement(counts: Int[np.ndarray, "u v"]) -> float:
    """Share of judgement pairs about one unit that agree, percent; a unit counts by its judgements: 100 (1 - D_o).

    NaN where no unit has a pair.
    """
    paired = _paired(counts)
    return float(100.0 * (1.0 - _disagreement(paired).sum() / paired.sum())) if len(paired) else float("nan")


def _paired(counts: np.ndarray) -> np.ndarray:
    """The units that two annotators or more judged, in float64: squares of counts must not overflow."""
    return counts[counts.sum(axis=1) >= 2].astype(np.float64)


def _disagreement(paired: np.ndarray) -> np.ndarray:
    """sum_{v != w} n_uv n_uw / (m_u - 1) of each unit."""
    judged = paired.sum(axis=1)
    return (judged**2 - (paired**2).sum(axis=1)) / (judged - 1.0)


def _variance(shares: np.ndarray) -> float:
    return float(shares.var(ddof=1)) if len(shares) > 1 else float("nan")
