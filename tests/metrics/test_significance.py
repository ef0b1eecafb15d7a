"""Bootstrap and t-intervals against enumeration, plain loops and SciPy's tests."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from vatex_jax.errors import DataError
from vatex_jax.metrics import significance
from vatex_jax.metrics.bleu import bleu_from_statistics, corpus_scores, sufficient_statistics

SEED = 3


@pytest.fixture
def corpus():
    """Eight sentences of one reference each, and three systems' outputs, each a little worse than the one before."""
    generator = np.random.default_rng(0)
    references = [[f"w{i}" for i in generator.integers(20, size=9)] for _ in range(8)]
    systems = [
        [[word if generator.random() < keep else "x" for word in reference] for reference in references]
        for keep in (0.95, 0.9, 0.8)
    ]
    return systems, [[reference] for reference in references]


def mean(summed):
    return summed[..., 0] / summed[..., 1]


def resamples(n, samples):
    return np.random.default_rng(SEED).integers(n, size=(samples, n))


def test_the_interval_is_that_of_corpora_drawn_and_scored_one_by_one(corpus):
    systems, references = corpus
    scores = [
        corpus_scores([systems[0][i] for i in drawn], [references[i] for i in drawn])["bleu4"]
        for drawn in resamples(8, 40)
    ]
    statistics = sufficient_statistics(systems[0], references)
    interval = significance.bootstrap_interval(statistics, samples=40, seed=SEED, level=0.9)
    assert interval == pytest.approx(tuple(np.quantile(scores, [0.05, 0.95])))


def test_the_paired_bootstrap_is_that_of_pairs_drawn_and_scored_one_by_one(corpus):
    systems, references = corpus
    score = lambda system, drawn: corpus_scores([system[i] for i in drawn], [references[i] for i in drawn])["bleu4"]  # noqa: E731
    differences = np.array([score(systems[0], drawn) - score(systems[2], drawn) for drawn in resamples(8, 40)])
    a, b = (sufficient_statistics(system, references) for system in (systems[0], systems[2]))
    compared = significance.paired_bootstrap(a, b, samples=40, seed=SEED)
    assert compared["difference"] == pytest.approx(score(systems[0], range(8)) - score(systems[2], range(8)))
    assert (compared["low"], compared["high"]) == pytest.approx(tuple(np.quantile(differences, [0.025, 0.975])))
    tail = min((differences <= 0).sum(), (differences >= 0).sum())
    assert compared["p"] == pytest.approx(min(1, 2 * (1 + tail) / 41))


def test_a_sentence_is_drawn_with_all_its_seeds(corpus):
    systems, references = corpus
    a, b, c = (sufficient_statistics(system, references) for system in systems)
    pooled = []
    for drawn in resamples(8, 30):
        both = [system[i] for system in systems[:2] for i in drawn]
        twice = [references[i] for i in drawn] * 2
        single = corpus_scores([systems[2][i] for i in drawn], [references[i] for i in drawn])["bleu4"]
        pooled.append(corpus_scores(both, twice)["bleu4"] - single)
    compared = significance.paired_bootstrap(np.stack([a, b]), c, samples=30, seed=SEED)
    assert (compared["low"], compared["high"]) == pytest.approx(tuple(np.quantile(pooled, [0.025, 0.975])))


def test_p_comes_close_to_its_value_over_all_resamples():
    a, b = np.array([[5, 10], [4, 10], [6, 10]]), np.array([[3, 10], [6, 10], [5, 10]])
    differences = [
        mean(a[list(drawn)].sum(axis=0)) - mean(b[list(drawn)].sum(axis=0))
        for drawn in itertools.product(range(3), repeat=3)
    ]
    below = np.mean(np.array(differences) <= 1e-12)
    assert 0 < below < 0.5
    compared = significance.paired_bootstrap(a, b, metric=mean, samples=20_000)
    assert compared["p"] == pytest.approx(2 * below, abs=0.02)


def test_the_order_of_the_systems_turns_the_sign_alone(corpus):
    systems, references = corpus
    a, b = (sufficient_statistics(system, references) for system in systems[:2])
    forth, back = significance.paired_bootstrap(a, b), significance.paired_bootstrap(b, a)
    assert back["p"] == forth["p"]
    assert (back["difference"], back["low"], back["high"]) == pytest.approx(
        (-forth["difference"], -forth["high"], -forth["low"])
    )


def test_equal_systems_do_not_differ(corpus):
    systems, references = corpus
    statistics = sufficient_statistics(systems[0], references)
    compared = significance.paired_bootstrap(statistics, statistics)
    assert compared == {"difference": 0.0, "low": 0.0, "high": 0.0, "p": 1.0}


def test_memory_limits_change_no_result(corpus, monkeypatch):
    systems, references = corpus
    statistics = sufficient_statistics(systems[0], references)
    at_once = significance.bootstrap_interval(statistics, samples=101, seed=SEED)
    monkeypatch.setattr(significance, "_CHUNK", 3 * 8)
    assert significance.bootstrap_interval(statistics, samples=101, seed=SEED) == at_once
    monkeypatch.setattr(significance, "_CHUNK", 1)
    assert significance.bootstrap_interval(statistics, samples=101, seed=SEED) == at_once


def test_one_sentence_leaves_no_doubt(corpus):
    systems, references = corpus
    statistics = sufficient_statistics(systems[0][:1], references[:1])
    score = float(bleu_from_statistics(statistics.sum(axis=0)))
    assert significance.bootstrap_interval(statistics) == pytest.approx((score, score))


def test_nothing_to_draw_from_and_unpaired_systems_are_errors():
    with pytest.raises(DataError, match="at least one sentence"):
        significance.bootstrap_interval(np.zeros((0, 10), np.int64))
    with pytest.raises(DataError, match="3 and the other 2"):
        significance.paired_bootstrap(np.ones((3, 10), np.int64), np.ones((2, 10), np.int64))


def test_the_t_interval_of_three_seeds():
    # t_2 at 0.975 is 4.302653, the sample deviation is 1.
    assert significance.t_interval([1.0, 2.0, 3.0]) == pytest.approx((2.0, 4.302653 / math.sqrt(3)))
    assert significance.t_interval([1.0, 2.0, 3.0], level=0.5)[1] == pytest.approx(0.816497 / math.sqrt(3), rel=1e-5)


def test_one_seed_has_no_interval_and_none_no_mean():
    mean_of_one, half = significance.t_interval([7.0])
    assert mean_of_one == 7.0
    assert math.isnan(half)
    with pytest.raises(DataError, match="at least one"):
        significance.t_interval([])


def test_paired_t_is_scipys():
    a, b = [30.1, 29.5, 31.2, 30.0], [28.0, 29.6, 29.9, 28.7]
    compared, oracle = significance.paired_t(a, b, level=0.9), stats.ttest_rel(a, b)
    interval = oracle.confidence_interval(0.9)
    assert compared == pytest.approx(
        {"difference": np.mean(a) - np.mean(b), "low": interval.low, "high": interval.high, "p": oracle.pvalue}
    )


def test_paired_t_without_spread_and_with_one_seed():
    assert significance.paired_t([1.0, 2.0], [1.0, 2.0])["p"] == 1.0
    assert significance.paired_t([2.0, 3.0], [1.0, 2.0]) == {"difference": 1.0, "low": 1.0, "high": 1.0, "p": 0.0}
    alone = significance.paired_t([2.0], [1.0])
    assert alone["difference"] == 1.0
    assert math.isnan(alone["p"])
    with pytest.raises(DataError, match="same seeds"):
        significance.paired_t([1.0], [1.0, 2.0])
