"""Sets by hand, and the published code's."""

import numpy as np
import pytest

from vatex_jax.errors import DataError
from vatex_jax.reference_sets.clusters import describe_sets, sigma


def test_sigma_by_hand():
    # The others have maximum 0.9 and, with divisor 2, standard deviation 0.2501: from 0.6499 up. Divisor 3: 0.6958.
    correlation = np.array([[0.9, 0.66, 1.0, 0.4]])
    np.testing.assert_array_equal(sigma(correlation, np.array([2])), [[True, True, True, False]])
    np.testing.assert_array_equal(sigma(correlation - [[0, 0.02, 0, 0]], np.array([2])), [[True, False, True, False]])


def test_the_ground_truth_is_in_its_set_and_does_not_make_it():
    correlation = np.array([[0.9, 0.8, -5.0, 0.1], [0.9, 0.8, 77.0, 0.1]])
    members = sigma(correlation, np.array([2, 2]))
    np.testing.assert_array_equal(members[0], members[1])
    assert members[:, 2].all()


def test_sets_in_numbers():
    correlation = np.array([[0.5, 0.7, 9.0, 0.1], [0.5, 0.7, 9.0, 0.1]])
    members = np.array([[True, True, True, False], [False, False, True, False]])
    found = describe_sets(correlation, members, np.array([2, 2]))
    np.testing.assert_allclose(found.correlation, [(0.5 + 0.7 + 1.0) / 3, 1.0])
    np.testing.assert_allclose(found.spread, [np.std([0.5, 0.7, 1.0], ddof=1), np.nan])
    np.testing.assert_array_equal(found.size, [3, 1])


def test_too_few_candidates_are_told():
    with pytest.raises(DataError, match="2 candidates are too few"):
        sigma(np.ones((1, 2)), np.array([0]))


@pytest.mark.real
def test_the_published_codes_sets(real_data):
    golden = np.load(real_data.parent / "golden" / "reference_sets.npz", allow_pickle=False)
    np.testing.assert_array_equal(sigma(golden["correlations"], golden["gt_index"]), golden["S"])
