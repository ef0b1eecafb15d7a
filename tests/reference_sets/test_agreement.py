"""Agreement of reference sets, on sets small enough to count by hand."""

import numpy as np
import pytest

from vatex_jax.errors import DataError
from vatex_jax.reference_sets.agreement import MEASURES, measures, overlaps

# Candidates 0 to 4; the ground truth is 0, 2 and 4.
SETS = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 1, 1, 1, 0]], bool)
HUMAN = np.array([[1, 0, 1, 1, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 1]], bool)
GT = np.array([0, 2, 4])
CORRELATION = np.array([[0.3, 0.5, 0.1, 0.2, 0.0], [0.1, 0.2, 0.9, 0.0, 0.0], [0.0, 0.2, 0.4, 0.9, 0.1]], np.float32)


def test_overlaps_by_hand():
    found = overlaps(SETS, HUMAN)
    np.testing.assert_allclose(found["iou"], [25.0, 100.0, 0.0])  # 1 of 4, 1 of 1, 0 of 5
    np.testing.assert_allclose(found["precision"], [50.0, 100.0, 0.0])
    np.testing.assert_allclose(found["recall"], [100 / 3, 100.0, 0.0])
    np.testing.assert_allclose(found["size"], [2, 1, 3])


def test_correlations_within_sets_count_the_ground_truth_as_1():
    found = measures(SETS, HUMAN, GT, CORRELATION)
    assert tuple(found) == MEASURES
    np.testing.assert_allclose(found["ground_truth_inside"], [100, 100, 0])
    np.testing.assert_allclose(found["correlation"], [(1 + 0.5) / 2, 1.0, 0.5], rtol=1e-6)
    # Divisor one less than the size: of 1 and 0.5, and of 0.2, 0.4 and 0.9; a set of one has none.
    np.testing.assert_allclose(found["correlation_spread"], [0.125**0.5, np.nan, 0.13**0.5], rtol=1e-6)


def test_correlations_with_the_question_stay_as_they_are():
    found = measures(SETS, HUMAN, GT, CORRELATION, with_truth=False)
    np.testing.assert_allclose(found["correlation"], [0.4, 0.9, 0.5], rtol=1e-6)


def test_empty_sets_are_refused():
    with pytest.raises(DataError, match="row 1 of the sets is empty"):
        overlaps(SETS & (np.arange(3) != 1)[:, None], HUMAN)
    with pytest.raises(DataError, match="row 0 of the people's sets is empty"):
        overlaps(SETS, HUMAN & (np.arange(3) != 0)[:, None])


def test_hidden_ground_truths_are_refused():
    # NumPy would take the last candidate for it.
    for with_truth in (True, False):
        with pytest.raises(DataError, match="row 2: the ground truth is candidate -1"):
            measures(SETS, HUMAN, np.array([0, 2, -1]), CORRELATION, with_truth)
