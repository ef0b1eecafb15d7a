"""Nearest training questions against a stable sort of all distances."""

import numpy as np
import pytest

from vatex_jax.cca import neighbours as module
from vatex_jax.cca.neighbours import nearest_images, neighbours
from vatex_jax.errors import DataError


def brute_force(queries, questions, ids, count, metric):
    rows = questions[ids].astype(np.float64)
    found = []
    for query in queries.astype(np.float64):
        distance = ((rows - query) ** 2).sum(axis=1) if metric == "l2" else -(rows @ query)
        found.append(np.argsort(distance, kind="stable")[:count])
    return np.array(found)


@pytest.mark.parametrize("metric", ["l2", "correlation"])
@pytest.mark.parametrize("count", [1, 6, 40])
def test_neighbours_are_counted_with_repetitions_in_the_data_sets_order(monkeypatch, metric, count):
    rng = np.random.default_rng(0)
    # Small whole numbers: distances are exact, and many are tied.
    queries, questions = (rng.integers(-2, 3, (n, 3)).astype(np.float32) for n in (8, 15))
    ids = rng.integers(0, 13, 40)  # two distinct questions are in no training question
    monkeypatch.setattr(module, "_CELLS", 45)
    np.testing.assert_array_equal(
        neighbours(queries, questions, ids, count, metric), brute_force(queries, questions, ids, count, metric)
    )


def test_more_neighbours_than_questions_are_all_of_them_with_a_warning():
    with pytest.warns(UserWarning, match="5 neighbours are asked for, there are 2"):
        found = neighbours(np.zeros((1, 2), np.float32), np.eye(2, dtype=np.float32), np.array([1, 0]), 5, "l2")
    np.testing.assert_array_equal(found, [[0, 1]])


def test_no_training_question_is_told():
    with pytest.raises(DataError, match="no training questions"):
        neighbours(np.zeros((1, 2), np.float32), np.eye(2, dtype=np.float32), np.zeros(0, int), 1, "l2")


def test_images_choose_among_the_neighbours():
    images = np.array([[0.0], [10.0]], np.float32)
    table, ids = np.array([[1.0], [9.0], [5.0]], np.float32), np.array([0, 0, 1, 2, 2])
    found = np.array([[4, 2, 0, 1], [4, 2, 0, 1]])
    np.testing.assert_array_equal(nearest_images(found, images, table, ids, 2), [[0, 1], [2, 4]])
    np.testing.assert_array_equal(nearest_images(found, images, table, ids, 9), [[0, 1, 4, 2], [2, 4, 0, 1]])
