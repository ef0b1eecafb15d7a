"""How far reference sets agree with people's (section 4.2.2, tables 1 and 10).

Dimension legend
    n  questions      c  candidates (100 in VisDial)
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from vatex_jax.reference_sets.clusters import check_filled, check_truths, describe_sets

MEASURES = ("iou", "precision", "recall", "size", "ground_truth_inside", "correlation", "correlation_spread")


def overlaps(sets: Bool[np.ndarray, "n c"], human: Bool[np.ndarray, "n c"]) -> dict[str, Float[np.ndarray, "n"]]:
    """|H n C| / |H u C| (`iou`), / |C| (`precision`), / |H| (`recall`), all in percent, and |C| (`size`), by question.

    Raises:
        DataError: a set is empty.
    """
    check_filled(sets, "sets")
    check_filled(human, "people's sets")
    both, either = (sets & human).sum(axis=1), (sets | human).sum(axis=1)
    size = sets.sum(axis=1)
    return {
        "iou": 100.0 * both / either,
        "precision": 100.0 * both / size,
        "recall": 100.0 * both / human.sum(axis=1),
        "size": size.astype(np.float64),
    }


def measures(
    sets: Bool[np.ndarray, "n c"],
    human: Bool[np.ndarray, "n c"],
    gt_index: Int[np.ndarray, "n"],
    correlation: Float[np.ndarray, "n c"],
    with_truth: bool = True,
) -> dict[str, Float[np.ndarray, "n"]]:
    """The columns of Table 10 (`MEASURES`), a number a question.

    Besides `overlaps`: `ground_truth_inside` (0 or 100), and mean and standard deviation (divisor one less than the
    size) of the correlations within a set. A set of one has no deviation: NaN, to be left out of means.

    Args:
        sets, human: of the same questions.
        gt_index: place of the ground truth.
        correlation: of each candidate with the ground truth, or with the question.
        with_truth: they are with the ground truth, whose own counts as 1.

    Raises:
        DataError: as `overlaps` and `describe_sets`.
    """
    check_truths(sets, gt_index)
    found = overlaps(sets, human)
    described = describe_sets(correlation, sets, gt_index if with_truth else None)
    inside = sets[np.arange(len(sets)), gt_index]
    return found | {
        "ground_truth_inside": 100.0 * inside,
        "correlation": described.correlation,
        "correlation_spread": described.spread,
    }
