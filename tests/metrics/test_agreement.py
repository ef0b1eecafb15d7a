"""Selection shares by hand; Krippendorff's alpha on the examples its author works out."""

import math

import numpy as np
import pytest

from vatex_jax.errors import DataError
from vatex_jax.metrics import agreement


def counted(ratings: list[str], values: str) -> np.ndarray:
    """Counts [units, values] from a line an observer, a character a unit, `.` where missing."""
    return np.array(
        [[sum(line[unit] == value for line in ratings) for value in values] for unit in range(len(ratings[0]))]
    )


def test_shares_of_two_tasks_by_hand():
    # Task 7: two answers, 3 annotators: 3 + 0 of 6 ticks. Task 2: one answer, 2 annotators: 2 of 2.
    found = agreement.selection(np.array([3, 2, 0]), np.array([3, 2, 3]), np.array([7, 2, 7]))
    assert found.selected == pytest.approx(75.0)
    assert found.selected_variance == pytest.approx(100 * 2 * 0.25**2)
    assert found.by_one == pytest.approx(75.0)
    assert found.by_one_variance == pytest.approx(12.5)
    assert found.pooled == pytest.approx(100 * 5 / 8)


def test_one_vote_is_enough_for_an_answer_to_count_as_selected_by_one():
    found = agreement.selection(np.array([1, 5, 0, 5]), np.array([5, 5, 5, 5]), np.array([0, 0, 0, 0]))
    assert found.by_one == pytest.approx(75.0)
    assert found.selected == pytest.approx(55.0)
    assert math.isnan(found.selected_variance)
    assert math.isnan(found.by_one_variance)


@pytest.mark.parametrize(
    ("votes", "annotators", "said"),
    [([], [], "no judged answer"), ([1, 3], [1, 2], "answer 1 has 3 ticks from 2"), ([0], [0], "0 annotators")],
)
def test_shares_of_impossible_votes_are_refused(votes, annotators, said):
    task = np.zeros(len(votes), int)
    with pytest.raises(DataError, match=said):
        agreement.selection(np.array(votes, int), np.array(annotators, int), task)


def test_alpha_of_two_observers_as_krippendorff_works_it():
    # 2011, section A: ten articles, binary; 14 zeros, 6 ones, 4 disagreements: 1 - 19 * 8 / (2 * 14 * 6) = 0.0952
    counts = counted(["0100000010", "1110010000"], "01")
    assert agreement.krippendorff_alpha(counts) == pytest.approx(1 - 19 * 8 / (2 * 14 * 6))
    assert agreement.pair_agreement(counts) == pytest.approx(60.0)


def test_alpha_of_four_observers_with_missing_data_as_krippendorff_gives_it():
    # 2011, section C: "nominal alpha = 0.743"; the twelfth unit was judged once and counts nowhere.
    counts = counted(["123321412...", "1233224125.3", ".3332342251.", "12332441251."], "12345")
    assert agreement.krippendorff_alpha(counts) == pytest.approx(0.743, abs=5e-4)
    assert agreement.krippendorff_alpha(counts[:11]) == pytest.approx(agreement.krippendorff_alpha(counts))


def test_alpha_is_one_minus_disagreeing_pairs_over_those_expected_by_brute_force():
    counts = np.random.default_rng(3).integers(0, 4, (40, 3))
    lists = [[value for value in range(3) for _ in range(row[value])] for row in counts]
    lists = [values for values in lists if len(values) >= 2]
    judged = [value for values in lists for value in values]

    def disagreeing(values):
        return np.mean([a != b for i, a in enumerate(values) for j, b in enumerate(values) if i != j])

    observed = sum(len(values) * disagreeing(values) for values in lists) / len(judged)
    assert agreement.krippendorff_alpha(counts) == pytest.approx(1 - observed / disagreeing(judged))
    assert agreement.pair_agreement(counts) == pytest.approx(100 * (1 - observed))


@pytest.mark.parametrize(("counts", "alpha"), [([[2, 0], [0, 2]], 1.0), ([[1, 1], [1, 1]], -0.5)])
def test_alpha_at_its_ends(counts, alpha):
    assert agreement.krippendorff_alpha(np.array(counts)) == pytest.approx(alpha)


@pytest.mark.parametrize("counts", [[[2, 0], [3, 0]], [[1, 0], [0, 1]]])
def test_alpha_is_undefined_without_pairs_or_without_two_values(counts):
    assert math.isnan(agreement.krippendorff_alpha(np.array(counts)))


def test_pairs_that_all_agree_and_none():
    assert agreement.pair_agreement(np.array([[2, 0], [3, 0]])) == 100.0
    assert math.isnan(agreement.pair_agreement(np.array([[1, 0]])))
