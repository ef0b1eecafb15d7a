"""Which candidates answer a question as its ground truth does, from correlations (paper, section 4.2.2, appendix D).

Dimension legend
    n  questions      c  candidates (100 in VisDial)
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from vatex_jax.errors import DataError


@dataclasses.dataclass(frozen=True)
class Described:
    """Reference sets in numbers, a row a question.

    Attributes:
        correlation: mean over the set, the ground truth's own 1 included.
        spread: standard deviation over the set (divisor one less than its size); NaN for a set of one.
        size: answers.
    """

    correlation: Float[np.ndarray, "n"]
    spread: Float[np.ndarray, "n"]
    size: Int[np.ndarray, "n"]


def sigma(correlation: Float[np.ndarray, "n c"], gt_index: Int[np.ndarray, "n"]) -> Bool[np.ndarray, "n c"]:
    """Sigma = {A: phi(A_gt, A) in [C_max - sigma, C_max]} and the ground truth (appendix D, "Simple").

    C holds the correlations of the other candidates with the ground truth; sigma is their standard deviation with
    divisor c - 2.

    Args:
        correlation: of each candidate with the ground truth; what stands at the ground truth itself is not looked at.
        gt_index: place of the ground truth.

    Raises:
        DataError: fewer than 3 candidates, which have no deviation.
    """
    rows, others = _others(correlation, gt_index)
    low = others.max(axis=1) - others.std(axis=1, ddof=1)
    members = correlation >= low[:, None]
    members[rows, gt_index] = True
    return members


def describe_sets(
    correlation: Float[np.ndarray, "n c"], members: Bool[np.ndarray, "n c"], gt_index: Int[np.ndarray, "n"]
) -> Described:
    """Mean correlation, spread and size of each set (section 3.2.1; appendix D, table 10)."""
    values = correlation.astype(np.float64)
    values[np.arange(len(values)), gt_index] = 1.0
    size = members.sum(axis=1)
    mean = (values * members).sum(axis=1) / size
    squares = ((values - mean[:, None]) ** 2 * members).sum(axis=1)
    spread = np.sqrt(np.divide(squares, size - 1, out=np.full(len(size), np.nan), where=size > 1))
    return Described(mean, spread, size)


def _others(correlation: np.ndarray, gt_index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the rows, and the correlations without the ground truth's [n, c - 1]."""
    n, c = correlation.shape
    if c < 3:
        raise DataError(f"reference sets: {c} candidates are too few to have a standard deviation: 3 or more.")
    kept = np.ones((n, c), bool)
    kept[np.arange(n), gt_index] = False
    return np.arange(n), correlation[kept].reshape(n, c - 1).astype(np.float64)
