"""Ward's clusters by hand, by trying all merges, scikit-learn's, and SciPy's where merges tie."""

import numpy as np
import pytest
from scipy.cluster import hierarchy

from benchmarks.reference_sets import scikit_agglomerative
from benchmarks.reference_sets_exact import rows_of_all_shapes
from vatex_jax.reference_sets import ward
from vatex_jax.reference_sets.ward import cluster_of


def best(rows: np.ndarray, clusters: int) -> np.ndarray:
    return cluster_of(rows, rows.argmax(axis=1), clusters)


def scipy_best(row: np.ndarray, clusters: int) -> np.ndarray:
    """The cluster of the maximum after so many merges of SciPy's tree, merge by merge."""
    groups = {number: {number} for number in range(len(row))}
    for number, (a, b, *_) in enumerate(hierarchy.ward(row[:, None])[: len(row) - clusters]):
        groups[len(row) + number] = groups.pop(int(a)) | groups.pop(int(b))
    wanted = next(group for group in groups.values() if row.argmax() in group)
    return np.isin(np.arange(len(row)), list(wanted))


def by_trying_all(row: np.ndarray, clusters: int) -> list[list[float]]:
    """Merges of the pair, of all, that adds least to the sum of squares within clusters."""
    groups = [[value] for value in row]
    while len(groups) > clusters:
        pairs = [(a, b) for b in range(len(groups)) for a in range(b)]
        within = [np.var(groups[a] + groups[b]) * len(groups[a] + groups[b]) for a, b in pairs]
        apart = [sum(np.var(groups[place]) * len(groups[place]) for place in pair) for pair in pairs]
        a, b = pairs[int(np.argmin(np.subtract(within, apart)))]
        groups[a] += groups.pop(b)
    return [sorted(group) for group in groups]


def test_how_many_values_a_cluster_has_counts():
    # Five zeros, 1 and 2.1: 1 is nearer to the zeros, but 5/6 x 1 is dearer than 1/2 x 1.1^2.
    row = np.array([[0.0, 2.1, 0.0, 1.0, 0.0, 0.0, 0.0]])
    assert row[best(row, 2)].tolist() == [2.1, 1.0]
    single = np.array([[0.0, 2.1, 1.0]])  # with one zero it is 1/2 x 1
    assert single[best(single, 2)].tolist() == [2.1]
    assert row[cluster_of(row, np.array([1]), 3)].tolist() == [2.1]
    assert row[cluster_of(row, np.array([3]), 3)].tolist() == [1.0]
    assert row[cluster_of(row, np.array([4]), 3)].tolist() == [0.0] * 5


@pytest.mark.parametrize("clusters", [1, 2, 3, 5, 11])
def test_every_cluster_is_that_of_trying_all_merges(clusters):
    rows = np.random.default_rng(0).normal(size=(6, 11))
    for row in rows:
        expected = by_trying_all(row, clusters)
        found = cluster_of(np.tile(row, (11, 1)), np.arange(11), clusters)
        assert sorted(sorted(row[members]) for members in np.unique(found, axis=0)) == sorted(expected)


@pytest.mark.parametrize("clusters", [2, 3, 4, 5, 20])
def test_300_random_rows_are_clustered_as_by_scikit_learn(clusters):
    rows = rows_of_all_shapes(300, 99, seed=clusters)
    np.testing.assert_array_equal(best(rows, clusters), [scikit_agglomerative(row, clusters) for row in rows])


@pytest.mark.parametrize("clusters", [2, 3, 5])
@pytest.mark.parametrize(("values", "digits"), [(6, 1), (10, 1), (30, 1), (99, 2), (99, 1)])
def test_ties_are_broken_as_by_scipy(values, digits, clusters):
    rows = np.round(rows_of_all_shapes(200, values, seed=values), digits)
    rows = rows[[len(set(row)) >= clusters for row in rows]]
    assert len(rows) > 50
    np.testing.assert_array_equal(best(rows, clusters), [scipy_best(row, clusters) for row in rows])


@pytest.mark.parametrize(
    "row",
    [
        [0, 1, 2],
        [2, 1, 0],
        [1, 0, 2],
        [0, 1, 2, 3],
        [3, 2, 1, 0],
        [1, 0, 3, 2],
        [0, 2, 1, 3],
        [0, 1, 5, 6],
        [5, 6, 0, 1],
    ],
)
def test_evenly_spaced_values_are_parted_as_by_scipy(row):
    row = np.array(row, np.float64)
    for clusters in range(1, len(row)):
        assert best(row[None], clusters)[0].tolist() == scipy_best(row, clusters).tolist()


def test_few_rows_need_scipy(monkeypatch):
    def fail(*_: object) -> None:
        raise AssertionError("SciPy was asked")

    monkeypatch.setattr(ward, "_scipy_cluster_of", fail)
    rows = rows_of_all_shapes(300, 99, seed=0)
    rows[:, 50:60] = rows[:, 40:50]  # equal values alone leave nothing undecided
    rows[:, 60:70] = rows[:, 40:50]
    best(rows, 5)
    with pytest.raises(AssertionError, match="SciPy was asked"):
        best(np.array([[0.0, 1.0, 2.0]]), 2)
    best(np.array([[0.0, 1.0, 2.0]]), 1)
    best(np.array([[0.0, 1.0, 2.0]]), 3)


def test_equal_values_are_never_parted():
    row = np.repeat([0.1, 0.9, 0.6], 33)[None]
    for clusters in (3, 4, 5, 99, 1000):
        for anchor in (0, 40, 98):
            np.testing.assert_array_equal(cluster_of(row, np.array([anchor]), clusters), row == row[0, anchor])
    np.testing.assert_array_equal(best(row, 2), row > 0.3)
    assert scikit_agglomerative(row[0], 5).sum() < 33  # which is what SciPy's tree does, in the order of the values
