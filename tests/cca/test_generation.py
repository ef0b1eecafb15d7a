"""The generator's distribution: proportions by hand, and frequencies over many draws."""

import itertools

import numpy as np
import pytest

from vatex_jax.cca.generation import draw, probabilities
from vatex_jax.errors import ConfigError


def test_chances_are_proportional_to_correlations():
    correlation = np.array([[0.6, 0.3, -0.2, 0.1]])
    np.testing.assert_allclose(probabilities(correlation, "zero"), [[0.6, 0.3, 0.0, 0.1]])
    np.testing.assert_allclose(probabilities(correlation, "shift"), np.array([[0.8, 0.5, 0.0, 0.3]]) / 1.6)


@pytest.mark.parametrize("negative", ["zero", "shift"])
def test_where_nothing_has_a_chance_all_have_the_same(negative):
    np.testing.assert_allclose(probabilities(np.array([[-0.5, -0.5], [-0.1, -0.1]]), negative), np.full((2, 2), 0.5))


def test_draws_with_replacement_are_as_frequent_as_their_chances():
    chances = np.array([[0.6, 0.3, 0.0, 0.1]])
    drawn = draw(np.repeat(chances, 20_000, axis=0), 5, replacement=True, seed=0)
    assert drawn.size == 100_000
    frequency = np.bincount(drawn.ravel(), minlength=4) / drawn.size
    np.testing.assert_allclose(frequency, chances[0], atol=4 * np.sqrt(0.25 / drawn.size))
    assert frequency[2] == 0
    # The draws of a question are independent of one another.
    together = np.mean((drawn[:, 0] == 0) & (drawn[:, 1] == 0))
    assert together == pytest.approx(0.36, abs=4 * np.sqrt(0.25 / len(drawn)))


def test_draws_without_replacement_follow_what_is_left():
    weights = np.array([0.5, 0.3, 0.2, 0.0])
    drawn = draw(np.repeat(weights[None], 100_000, axis=0), 2, replacement=False, seed=1)
    for first, second in itertools.permutations(range(3), 2):
        expected = weights[first] * weights[second] / (1 - weights[first])
        found = np.mean((drawn[:, 0] == first) & (drawn[:, 1] == second))
        assert found == pytest.approx(expected, abs=4 * np.sqrt(0.25 / len(drawn)))
    assert (drawn < 3).all()
    assert (drawn[:, 0] != drawn[:, 1]).all()


def test_without_replacement_those_without_a_chance_come_last_and_all_alike():
    drawn = draw(np.repeat([[0.0, 0.7, 0.0, 0.3]], 10_000, axis=0), 4, replacement=False, seed=0)
    assert (np.sort(drawn[:, :2], axis=1) == [1, 3]).all()
    assert np.mean(drawn[:, 2] == 0) == pytest.approx(0.5, abs=0.02)


def test_no_question_has_no_draws():
    assert draw(np.zeros((0, 4)), 3, replacement=True, seed=0).shape == (0, 3)
    assert draw(np.zeros((0, 4)), 3, replacement=False, seed=0).shape == (0, 3)


def test_a_seed_gives_the_same_draws_and_another_others():
    chances = np.full((50, 10), 0.1)
    one, again, other = (draw(chances, 5, replacement=True, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_each_question_has_its_own_chances():
    chances = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(draw(chances, 3, replacement=True, seed=0), [[0, 0, 0], [2, 2, 2]])


def test_too_many_draws_and_unknown_settings_are_told():
    with pytest.raises(ConfigError, match="4 generations without replacement from 3"):
        draw(np.array([[0.5, 0.5, 0.0]]), 4, replacement=False, seed=0)
    with pytest.raises(ConfigError, match="zero, shift, not 'abs'"):
        probabilities(np.ones((1, 2)), "abs")
