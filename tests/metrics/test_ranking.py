"""Ranking metrics by hand, against every order of the tied options, and against the published code's output."""

import itertools
import math

import numpy as np
import pytest

from vatex_jax.errors import DataError
from vatex_jax.metrics import ranking


def test_ranks_by_hand():
    scores = np.array([[0.1, 0.9, 0.5], [2.0, 2.0, 1.0], [0.0, 0.0, 0.0], [1.0, 3.0, 3.0]])
    expected = [[3, 1, 2], [1.5, 1.5, 3], [2, 2, 2], [3, 1.5, 1.5]]
    np.testing.assert_array_equal(ranking.ranks(scores), expected)
    np.testing.assert_array_equal(ranking.ranks(np.array([[3, 1, 2]])), [[1, 3, 2]])


def test_retrieval_metrics_by_hand():
    scores = np.array([[0.9, 0.1, 0.5], [0.9, 0.1, 0.5]])
    found = ranking.retrieval_metrics(scores, np.array([0, 1]))
    assert found == {
        "mr": 2.0,
        "r@1": 50.0,
        "r@5": 100.0,
        "r@10": 100.0,
        "mrr": pytest.approx((1 + 1 / 3) / 2),
        "tied": 0.0,
    }


def by_every_order(scores, relevance, truth):
    """Mean over all orders that the scores allow: rank, recalls, reciprocal rank, NDCG; each order by itself."""
    found = []
    for order in itertools.permutations(range(len(scores))):
        if any(scores[a] < scores[b] for a, b in itertools.pairwise(order)):
            continue
        rank = order.index(truth) + 1
        m = sum(r > 0 for r in relevance)
        gain = sum(relevance[order[i]] / math.log2(i + 2) for i in range(m))
        best = sum(r / math.log2(i + 2) for i, r in enumerate(sorted(relevance, reverse=True)[:m]))
        found.append([rank, rank <= 1, rank <= 5, rank <= 10, 1 / rank, gain / best])
    return np.mean(found, axis=0) * [1, 100, 100, 100, 1, 1]


@pytest.mark.parametrize("seed", range(12))
def test_ties_are_expectations_over_every_order_of_the_tied(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, (1, 7)).astype(float)
    relevance = rng.integers(0, 3, (1, 7)) / 2
    relevance[0, rng.integers(7)] = 1.0
    truth = int(rng.integers(7))
    metrics = ranking.retrieval_metrics(scores, np.array([truth]))
    ours = [metrics[name] for name in ("mr", "r@1", "r@5", "r@10", "mrr")] + [ranking.ndcg(scores, relevance)[0]]
    np.testing.assert_allclose(ours, by_every_order(scores[0], relevance[0], truth), atol=1e-12)
    assert ranking.ranks(scores)[0, truth] == pytest.approx(metrics["mr"])


def test_a_tie_never_favours_the_answer():
    scores = np.zeros((3, 100))
    found = ranking.retrieval_metrics(scores, np.array([0, 50, 99]))
    assert found["mr"] == 50.5
    assert found["r@1"] == pytest.approx(1.0)
    assert found["r@10"] == pytest.approx(10.0)
    assert found["tied"] == 3


def test_a_question_counts_as_tied_where_its_answer_is():
    scores = np.array([[1.0, 1.0, 2.0], [1.0, 1.0, 2.0]])
    assert ranking.retrieval_metrics(scores, np.array([0, 2]))["tied"] == 1


def test_ndcg_by_hand():
    # Best: 1, 0.5. Ours puts the 0.5 first and an irrelevant one second: m = 2 cuts before the 1.
    scores, relevance = np.array([[3.0, 2.0, 1.0]]), np.array([[0.5, 0.0, 1.0]])
    best = 1 / math.log2(2) + 0.5 / math.log2(3)
    np.testing.assert_allclose(ranking.ndcg(scores, relevance), [0.5 / best])
    np.testing.assert_allclose(ranking.ndcg(-scores, relevance), [1 / best])


def test_all_zero_relevances_are_nan_and_counted():
    values = ranking.ndcg(np.array([[3.0, 2.0], [3.0, 2.0]]), np.array([[0.0, 0.0], [0.0, 1.0]]))
    assert np.isnan(values[0])
    mean, left_out = ranking.mean_ndcg(values)
    assert mean == pytest.approx(values[1])
    assert left_out == 1
    with pytest.raises(DataError, match="no question has a relevant candidate"):
        ranking.mean_ndcg(values[:1])


def test_infinite_scores_have_ranks():
    scores = np.array([[-np.inf, 1.0, np.inf, -np.inf]])
    np.testing.assert_array_equal(ranking.ranks(scores), [[3.5, 2, 1, 3.5]])


def test_large_integer_scores_are_told_apart():
    scores = np.array([[2**53, 2**53 + 1, 5]])
    np.testing.assert_array_equal(ranking.ranks(scores), [[2, 1, 3]])


def test_many_rows_equal_row_by_row(monkeypatch):
    rng = np.random.default_rng(0)
    scores, relevance = rng.integers(0, 9, (25, 10)).astype(float), rng.integers(0, 3, (25, 10)) / 2
    ranks, ndcg = ranking.ranks(scores), ranking.ndcg(scores, relevance)
    monkeypatch.setattr(ranking, "_ROWS", 4)
    np.testing.assert_array_equal(ranking.ranks(scores), ranks)
    np.testing.assert_array_equal(ranking.ndcg(scores, relevance), ndcg)
    assert ranking.ranks(scores[:0]).shape == (0, 10)


def test_the_distribution_of_ranks():
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 2.0]])
    above, tied = ranking.positions(scores, np.array([0, 1, 0]))
    np.testing.assert_allclose(ranking.rank_distribution(above, tied, 3), np.array([1.5, 0.5, 1.0]) / 3)


def test_permutations_follow_the_scores_and_break_ties_at_random():
    scores = np.tile(np.array([[2.0, 1.0, 1.0, 3.0]]), (2000, 1))
    found = ranking.rank_permutations(scores, seed=0)
    np.testing.assert_array_equal(np.sort(found, axis=1), np.tile([1, 2, 3, 4], (2000, 1)))
    assert (found[:, [0, 3]] == [2, 1]).all()
    assert abs((found[:, 1] == 3).mean() - 0.5) < 0.05
    np.testing.assert_array_equal(found, ranking.rank_permutations(scores, seed=0))


def test_statistics_are_sums_over_each_dialogues_questions():
    """Ranks 1 and 3 of dialogue 7, 2 of dialogue 4, which comes first; one question of 7 has an NDCG."""
    values = ranking.expected_metrics(np.array([0, 1, 2]), np.array([1, 1, 1]))
    found = ranking.statistics(np.array([7, 4, 7]), values, np.array([np.nan, np.nan, 0.25]))
    assert ranking.STATISTICS == ("questions", "mr", "r@1", "r@5", "r@10", "mrr", "annotated", "ndcg")
    np.testing.assert_allclose(found, [[1, 2, 0, 100, 100, 1 / 2, 0, 0], [2, 4, 100, 200, 200, 4 / 3, 1, 0.25]])
    np.testing.assert_array_equal(ranking.sums_of(found, "mr"), [[2, 1], [4, 2]])
    np.testing.assert_array_equal(ranking.sums_of(found, "ndcg"), [[0, 0], [0.25, 1]])
    assert ranking.mean_of_sums(np.array([[6.0, 3.0], [1.0, 4.0]])).tolist() == [2.0, 0.25]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ranking.ranks(np.array([[1.0, np.nan]])), "row 0, candidate 1 is NaN"),
        (lambda: ranking.positions(np.zeros((2, 3)), np.array([0, -1])), "row 1: the ground truth is candidate -1"),
        (lambda: ranking.positions(np.zeros((2, 3)), np.array([3, 0])), "row 0: the ground truth is candidate 3"),
        (lambda: ranking.retrieval_metrics(np.zeros((0, 3)), np.zeros(0, int)), "no question"),
        (lambda: ranking.ndcg(np.zeros((1, 2)), np.array([[-1.0, 1.0]])), "not negative"),
    ],
)
def test_what_cannot_be_ranked_is_told(call, message):
    with pytest.raises(DataError, match=message):
        call()


@pytest.mark.real
def test_the_published_codes_figures(real_data):
    golden = np.load(real_data.parent / "golden" / "ranking.npz", allow_pickle=False)
    found = ranking.retrieval_metrics(golden["scores"], golden["gt_index"])
    for name, key, unit in (
        ("mr", "mean", 1),
        ("r@1", "r_at_1", 100),
        ("r@5", "r_at_5", 100),
        ("r@10", "r_at_10", 100),
        ("mrr", "mrr", 1),
    ):
        assert found[name] == pytest.approx(unit * float(golden[key]), rel=2e-6)
    assert ranking.mean_ndcg(ranking.ndcg(golden["scores"], golden["relevance"]))[0] == pytest.approx(
        float(golden["ndcg"]), rel=2e-6
    )
