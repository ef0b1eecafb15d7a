"""Sets by hand, and the published code's; what all constructions share. The clustering has tests of its own."""

import numpy as np
import pytest

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.reference_sets import clusters
from vatex_jax.reference_sets.clusters import agglomerative, describe_sets, human, mean_shift, sigma

FROM_CORRELATIONS = [sigma, mean_shift, agglomerative]


def rows_with_copies(rows: int, candidates: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlations of which some equal another of their row, and ground truths."""
    rng = np.random.default_rng(0)
    correlations = rng.normal(0.2, 0.3, (rows, candidates))
    copied = rng.random(correlations.shape) < 0.1
    return np.where(copied, correlations[:, [candidates // 2]], correlations), rng.integers(0, candidates, rows)


def places(members: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in members]


def test_sigma_by_hand():
    # The others have maximum 0.9 and, with divisor 2, standard deviation 0.2501: from 0.6499 up. Divisor 3: 0.6958.
    correlation = np.array([[0.9, 0.66, 1.0, 0.4]])
    np.testing.assert_array_equal(sigma(correlation, np.array([2])), [[True, True, True, False]])
    np.testing.assert_array_equal(sigma(correlation - [[0, 0.02, 0, 0]], np.array([2])), [[True, False, True, False]])


def test_sigma_of_all_candidates_by_hand():
    # Mean 0.5, squares .16 + .09 + 0 + .01 + .04 + .16 = 0.46, divisor 5: sigma = 0.3033.
    correlation = np.array([[0.1, 0.2, 0.5, 0.6, 0.7, 0.9]])
    truth = np.array([3])
    assert places(sigma(correlation, truth, "max")) == [[3, 4, 5]]  # from 0.5967
    assert places(sigma(correlation, np.array([2]), "max")) == [[3, 4, 5]]  # the ground truth, 0.5, is not in it
    assert places(sigma(correlation, truth, "gt")) == [[2, 3, 4, 5]]  # 0.2967 to 0.9033
    assert places(sigma(correlation, np.array([1]), "gt")) == [[0, 1, 2]]  # -0.1033 to 0.5033


def test_human_sets_hold_what_is_relevant_at_all_and_a_rejected_ground_truth():
    relevance = np.array([[0.0, 0.2, 1.0, 0.0], [0.0, 0.2, 0.0, 0.0]], np.float32)
    assert places(human(relevance, np.array([2, 3]))) == [[1, 2], [1, 3]]
    with pytest.raises(DataError, match="row 1: the relevance of candidate 3 is nan"):
        human(np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, np.nan]]), np.array([1, 1]))


def test_agglomerative_sets_by_hand():
    # Others: 0, 0.1, 0.55, 0.9, 1. Two pairs merge first; then 0.55 joins 0.95 (0.4 away), not 0.05 (0.5 away).
    correlation = np.array([[0.9, 0.0, 77.0, 0.1, 1.0, 0.55]])
    truth = np.array([2])
    assert places(agglomerative(correlation, truth, 1)) == [[0, 1, 2, 3, 4, 5]]
    assert places(agglomerative(correlation, truth, 2)) == [[0, 2, 4, 5]]
    assert places(agglomerative(correlation, truth, 3)) == [[0, 2, 4]]
    assert places(agglomerative(correlation, truth, 5)) == [[2, 4]]
    # Of all candidates, 0.1 for the ground truth: the same clusters, and the ground truth's own.
    correlation[0, 2] = 0.1
    assert places(agglomerative(correlation, truth, 2, "max")) == [[0, 4, 5]]
    assert places(agglomerative(correlation, truth, 2, "gt")) == [[1, 2, 3]]
    assert places(agglomerative(correlation, truth, 3, "gt")) == [[1, 2, 3]]
    assert places(agglomerative(correlation, np.array([5]), 3, "gt")) == [[5]]


def test_mean_shift_sets_by_hand():
    # Others as in test_mean_shift.py: centres 12, 10.5 and 1.
    correlation = np.array([[13.0, 0.0, 1.0, 2.0, 10.0, -99.0, 11.0, 12.0]])
    assert places(mean_shift(correlation, np.array([5]))) == [[0, 5, 7]]
    correlation = np.delete(correlation, 5, axis=1)
    assert places(mean_shift(correlation, np.array([4]), "max")) == [[0, 6]]
    assert places(mean_shift(correlation, np.array([4]), "gt")) == [[4, 5]]
    assert places(mean_shift(correlation, np.array([1]), "gt")) == [[1, 2, 3]]


@pytest.mark.parametrize("construct", FROM_CORRELATIONS)
def test_the_ground_truth_is_in_its_set_and_does_not_make_it(construct):
    others = [0.9, 0.85, 0.5, 0.4, 0.1, 0.0, -0.3]
    sets = []
    for own in (-5.0, 77.0, np.nan, np.inf):
        for place in (0, 3, 7):
            members = construct(np.insert(others, place, own)[None], np.array([place]))[0]
            assert members[place]
            sets.append(np.delete(members, place).tolist())
    assert all(members == sets[0] for members in sets)
    assert sets[0][0]
    assert not sets[0][-1]


@pytest.mark.parametrize("construct", FROM_CORRELATIONS)
def test_among_all_candidates_a_ground_truth_of_1_is_the_best(construct):
    correlation, truth = rows_with_copies(50, 30)
    correlation[np.arange(50), truth] = 1.5
    np.testing.assert_array_equal(construct(correlation, truth, form="gt"), construct(correlation, truth, form="max"))


@pytest.mark.parametrize("form", clusters.FORMS)
@pytest.mark.parametrize("construct", FROM_CORRELATIONS)
def test_sets_do_not_depend_on_the_order_of_candidates_or_questions(construct, form):
    correlation, truth = rows_with_copies(40, 30)
    expected = construct(correlation, truth, form=form)
    order = np.random.default_rng(1).permuted(np.tile(np.arange(30), (40, 1)), axis=1)
    moved = np.argmax(order == truth[:, None], axis=1)
    found = construct(np.take_along_axis(correlation, order, axis=1), moved, form=form)
    np.testing.assert_array_equal(found, np.take_along_axis(expected, order, axis=1))
    np.testing.assert_array_equal(construct(correlation[::-1], truth[::-1], form=form), expected[::-1])
    assert 40 < expected.sum() < 40 * 25


@pytest.mark.parametrize("form", clusters.FORMS)
@pytest.mark.parametrize("construct", FROM_CORRELATIONS)
def test_blocks_do_not_show(construct, form, monkeypatch):
    correlation, truth = rows_with_copies(17, 20)
    expected = construct(correlation, truth, form=form)
    for rows in (1, 4, 17):
        monkeypatch.setattr(clusters, "_ROWS", rows)
        np.testing.assert_array_equal(construct(correlation, truth, form=form), expected)
    assert construct(correlation[:0], truth[:0], form=form).shape == (0, 20)


@pytest.mark.parametrize("construct", FROM_CORRELATIONS)
def test_single_precision_is_computed_in_double(construct):
    correlation, truth = rows_with_copies(50, 30)
    single = correlation.astype(np.float32)
    np.testing.assert_array_equal(construct(single, truth), construct(single.astype(np.float64), truth))


@pytest.mark.parametrize("form", clusters.FORMS)
@pytest.mark.parametrize("construct", FROM_CORRELATIONS)
def test_how_large_all_numbers_are_does_not_matter(construct, form):
    # Squares of 1e200 are infinite and those of 1e-200 are 0; sums of 1e307 are infinite too.
    correlation, truth = rows_with_copies(5, 30)
    expected = construct(correlation, truth, form=form)
    for power in (-1000, -300, -120, 120, 300, 600, 1021):
        rows = correlation.copy()
        rows[1:4] = np.ldexp(rows[1:4], power)  # beside rows of ordinary size
        np.testing.assert_array_equal(construct(rows, truth, form=form), expected)
    smallest = np.array([[0, 1, 2, 8, 9, 3.0]])
    np.testing.assert_array_equal(
        construct(smallest * 5e-324, np.array([0]), form=form), construct(smallest, np.array([0]), form=form)
    )


@pytest.mark.parametrize("form", clusters.FORMS)
@pytest.mark.parametrize("value", [0.5, 0.1, 0.0, -1 / 3])
@pytest.mark.parametrize("construct", FROM_CORRELATIONS)
def test_where_all_correlations_are_equal_all_belong(construct, value, form):
    # scikit-learn's MeanShift raises for most such values, and its agglomerative clusters part equal ones.
    for candidates in (3, 8, 100):
        assert construct(np.full((2, candidates), value), np.array([0, candidates - 1]), form=form).all()


@pytest.mark.parametrize("construct", FROM_CORRELATIONS)
def test_three_candidates_are_enough_and_two_are_told(construct):
    assert places(construct(np.array([[0.1, 5.0, 0.9]]), np.array([1]))) == [[1, 2]]
    with pytest.raises(DataError, match="2 candidates are too few"):
        construct(np.ones((1, 2)), np.array([0]))


@pytest.mark.parametrize("construct", FROM_CORRELATIONS)
def test_correlations_that_are_no_numbers_are_told_by_row(construct, monkeypatch):
    monkeypatch.setattr(clusters, "_ROWS", 4)
    for value in (np.nan, np.inf, -np.inf):
        correlation = np.ones((11, 5), np.float32)
        correlation[9, 3] = value
        with pytest.raises(DataError, match=f"row 9: the correlation of candidate 3 is {value}"):
            construct(correlation, np.zeros(11, int))


@pytest.mark.parametrize("construct", [human, *FROM_CORRELATIONS])
def test_hidden_ground_truths_are_told_by_row(construct):
    for place in (-1, 5):
        with pytest.raises(DataError, match=f"row 1: the ground truth is candidate {place}, but there are 5"):
            construct(np.ones((2, 5)), np.array([0, place]))


def test_what_is_unknown_is_told():
    correlation, truth = np.ones((2, 5)), np.array([0, 1])
    for construct in FROM_CORRELATIONS:
        with pytest.raises(ConfigError, match="form 'best' is unknown: one of others, gt, max"):
            construct(correlation, truth, form="best")
    with pytest.raises(ConfigError, match="0 clusters cannot be made"):
        agglomerative(correlation, truth, 0)


def test_sets_in_numbers():
    correlation = np.array([[0.5, 0.7, 9.0, 0.1], [0.5, 0.7, 9.0, 0.1]])
    members = np.array([[True, True, True, False], [False, False, True, False]])
    found = describe_sets(correlation, members, np.array([2, 2]))
    np.testing.assert_allclose(found.correlation, [(0.5 + 0.7 + 1.0) / 3, 1.0])
    np.testing.assert_allclose(found.spread, [np.std([0.5, 0.7, 1.0], ddof=1), np.nan])
    np.testing.assert_array_equal(found.size, [3, 1])
    np.testing.assert_allclose(describe_sets(correlation, members).correlation, [(0.5 + 0.7 + 9.0) / 3, 9.0])


def test_sets_in_numbers_do_not_show_blocks_and_must_not_be_empty(monkeypatch):
    correlation, truth = rows_with_copies(17, 20)
    members = sigma(correlation, truth)
    members[5] = np.arange(20) == truth[5]
    whole = describe_sets(correlation, members, truth)
    assert np.flatnonzero(np.isnan(whole.spread)).tolist() == [5]
    for rows in (1, 4):
        monkeypatch.setattr(clusters, "_ROWS", rows)
        found = describe_sets(correlation, members, truth)
        for name in ("correlation", "spread", "size"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    members[9] = False
    with pytest.raises(DataError, match="row 9 of the sets is empty"):
        describe_sets(correlation, members, truth)
    assert len(describe_sets(correlation[:0], members[:0]).size) == 0


def test_what_cannot_be_described_is_told():
    correlation, members = np.ones((2, 3)), np.array([[True, True, False], [True, False, False]])
    correlation[:, 2] = np.nan, np.inf  # of candidates that are in no set
    np.testing.assert_array_equal(describe_sets(correlation, members).correlation, [1, 1])
    with pytest.raises(DataError, match="row 1: the ground truth is candidate -1"):
        describe_sets(correlation, members, np.array([0, -1]))
    correlation[1, 0] = np.nan
    with pytest.raises(DataError, match="row 1: the correlation of candidate 0 is nan"):
        describe_sets(correlation, members)
    np.testing.assert_array_equal(describe_sets(correlation, members, np.array([1, 0])).correlation, [1, 1])


@pytest.mark.real
def test_the_published_codes_sets(real_data):
    golden = np.load(real_data.parent / "golden" / "reference_sets.npz", allow_pickle=False)
    question = golden["correlations"], golden["gt_index"]
    np.testing.assert_array_equal(sigma(*question), golden["S"])
    np.testing.assert_array_equal(mean_shift(*question), golden["M"])
    for count in (3, 4, 5):
        np.testing.assert_array_equal(agglomerative(*question, count), golden[f"G{count}"])
