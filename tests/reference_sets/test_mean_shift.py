"""Mean shift by hand, by its definition, and scikit-learn's."""

import numpy as np
import pytest

from benchmarks.reference_sets import scikit_mean_shift
from benchmarks.reference_sets_exact import rows_of_all_shapes
from vatex_jax.reference_sets.mean_shift import bandwidth, cluster_of

# Each value's nearest is 1 away: the bandwidth is 1, and the ends of a stretch belong to it. Means rest at 0.5 (of 2
# values), 1 (3), 1.5 (2), 10.5 (2), 11 (3), 12 (3), 12.5 (2). 12 is the first centre, and 11 and 12.5 are near it; 1 is
# the second, and 0.5 and 1.5 are near it; 10.5 is the third. 11 is nearer to 10.5 than to 12.
HEAPS = np.array([[0.0, 1.0, 2.0, 10.0, 11.0, 12.0, 13.0]])


def test_by_hand():
    assert bandwidth(HEAPS).tolist() == [1.0]
    for anchor, expected in (
        (6, [12, 13]),
        (5, [12, 13]),
        (4, [10, 11]),
        (3, [10, 11]),
        (2, [0, 1, 2]),
        (0, [0, 1, 2]),
    ):
        assert HEAPS[cluster_of(HEAPS, np.array([anchor]))].tolist() == expected


def test_a_place_as_far_from_a_centre_as_the_bandwidth_is_none():
    # Means rest at 3, 2 and 1 (3 values each), 11.5, 3.5 and 0.5 (2 each). 2 is 1 from 3, so it is no centre; the value
    # 2 is as near to 1 as to 3, and goes to the first.
    row = np.array([[0.0, 1.0, 2.0, 3.0, 4.0, 11.0, 12.0]])
    for anchor, expected in ((4, [2, 3, 4]), (2, [2, 3, 4]), (0, [0, 1]), (5, [11, 12])):
        assert row[cluster_of(row, np.array([anchor]))].tolist() == expected


@pytest.mark.parametrize("values", [2, 3, 6, 7, 10, 13, 40, 99, 100])
def test_the_bandwidth_is_the_mean_distance_to_the_kth_nearest(values):
    ascending = np.sort(np.random.default_rng(values).normal(size=(5, values)), axis=1)
    distances = np.sort(np.abs(ascending[:, :, None] - ascending[:, None, :]), axis=2)
    k = max(1, int(0.3 * values))
    np.testing.assert_allclose(bandwidth(ascending), distances[:, :, k - 1].mean(axis=1), rtol=1e-12, atol=0)


def test_without_a_bandwidth_each_distinct_value_is_a_cluster():
    # 33 of each of three: the 29 nearest of each are equal to it. So it is in rows of 6 values: the nearest is itself.
    row = np.repeat([0.7, 0.1, 0.3], 33)[None]
    assert bandwidth(np.sort(row, axis=1)).tolist() == [0.0]
    for anchor in (0, 40, 98):
        np.testing.assert_array_equal(cluster_of(row, np.array([anchor])), row == row[0, anchor])
    np.testing.assert_array_equal(cluster_of(row, np.array([0])), scikit_mean_shift(row[0])[None])
    assert cluster_of(np.array([[0.1, 0.9, 0.8999999, 0.9, 0.2, 0.3]]), np.array([1])).tolist() == [
        [False, True, False, True, False, False]
    ]


def test_rows_with_and_without_a_bandwidth_do_not_mix():
    rows = np.concatenate([np.full((1, 7), 0.1), HEAPS, np.full((1, 7), 0.2), HEAPS[:, ::-1]])
    found = cluster_of(rows, np.array([3, 6, 0, 6]))
    assert found.sum(axis=1).tolist() == [7, 2, 7, 3]
    assert rows[1][found[1]].tolist() == [12, 13]
    after = np.array([[13.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0]])  # starts with what the row before ends with
    found = cluster_of(np.concatenate([HEAPS, after]), np.array([6, 0]))
    assert after[0][found[1]].tolist() == [13]


def test_values_a_rounding_apart_stay_together():
    # Sums of such numbers round by more than they are apart, and than the bandwidth is wide.
    row = np.concatenate([np.full(40, 0.1), np.full(40, np.nextafter(0.1, 1)), np.full(19, 0.1 + 3e-17)])[None]
    near = np.concatenate([row[:, :60], np.full((1, 39), 0.9)], axis=1)
    assert cluster_of(near, np.array([98])).tolist() == [[False] * 60 + [True] * 39]


@pytest.mark.parametrize(("values", "rows"), [(2, 10), (5, 10), (7, 20), (12, 20), (30, 12), (99, 3)])
def test_random_rows_are_clustered_as_by_scikit_learn(values, rows):
    row = rows_of_all_shapes(rows, values, seed=values)
    expected = [scikit_mean_shift(one) for one in row]
    np.testing.assert_array_equal(cluster_of(row, row.argmax(axis=1)), expected)


def test_rows_with_equal_values_are_clustered_as_by_scikit_learn():
    row = np.round(rows_of_all_shapes(12, 40, seed=1), 1)
    assert all(len(set(one)) < 35 for one in row)
    np.testing.assert_array_equal(cluster_of(row, row.argmax(axis=1)), [scikit_mean_shift(one) for one in row])


@pytest.mark.slow
def test_300_random_rows_are_clustered_as_by_scikit_learn():
    row = rows_of_all_shapes(300, 99, seed=3)
    np.testing.assert_array_equal(cluster_of(row, row.argmax(axis=1)), [scikit_mean_shift(one) for one in row])
