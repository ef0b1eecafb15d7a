"""Mean, spread and best of k generations, by hand and by loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.metrics.generations import choose_ks, compare, count, summarise

NAN = np.nan
SCORES = np.array([[0.2, 0.4, 0.9], [NAN, 0.1, 0.5], [NAN, NAN, NAN], [0.6, NAN, NAN]])


def test_a_summary_worked_by_hand():
    found = summarise({"cider1": SCORES, "bert_l2": SCORES})
    assert found["cider1/mean"] == pytest.approx((0.5 + 0.3 + 0.6) / 3)
    assert found["cider1/data_std"] == pytest.approx(np.sqrt(0.14 / 9))  # off by 1/30, 1/6, 2/15: (1 + 25 + 16) / 900
    spread = np.sqrt((0.09 + 0.01 + 0.16) / 3)
    assert found["cider1/k_std"] == pytest.approx((spread + 0.2 + 0.0) / 3)
    assert found["cider1/best"] == pytest.approx((0.9 + 0.5 + 0.6) / 3)
    assert found["bert_l2/best"] == pytest.approx((0.2 + 0.1 + 0.6) / 3)
    assert found["bert_l2/best"] < found["bert_l2/mean"] < found["cider1/best"]
    assert {found[f"bert_l2/{name}"] - found[f"cider1/{name}"] for name in ("mean", "k_std", "data_std")} == {0}


def test_the_first_k_count():
    found = summarise({"cider1": SCORES}, 2)
    assert found["cider1/mean"] == pytest.approx((0.3 + 0.1 + 0.6) / 3)
    assert found["cider1/best"] == pytest.approx((0.4 + 0.1 + 0.6) / 3)
    assert summarise({"cider1": SCORES}, 1)["cider1/mean"] == pytest.approx((0.2 + 0.6) / 2)
    assert summarise({"cider1": SCORES}, 9) == summarise({"cider1": SCORES})


def test_one_generation_has_no_spread_over_k_but_one_over_questions():
    found = summarise({"cider1": np.array([[0.1, 0.7], [0.3, 0.9]])}, 1)
    assert found["cider1/k_std"] == 0
    assert found["cider1/data_std"] == pytest.approx(0.1)
    assert found["cider1/mean"] == found["cider1/best"]


@pytest.mark.parametrize("scores", [np.full((2, 3), NAN), np.zeros((2, 0))])
def test_where_nothing_is_scored_nothing_is_known(scores):
    assert all(np.isnan(value) for value in summarise({"x": scores, "x_l2": scores}, 5).values())


@settings(deadline=None)
@given(arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=st.floats(0, 9) | st.just(NAN)))
def test_summaries_equal_loops(scores):
    rows = [row[~np.isnan(row)] for row in scores]
    rows = [row for row in rows if len(row)]
    if not rows:
        return
    for name, best in (("x", np.max), ("x_l2", np.min)):
        found = summarise({name: scores})
        assert found[f"{name}/mean"] == pytest.approx(np.mean([row.mean() for row in rows]))
        assert found[f"{name}/k_std"] == pytest.approx(np.mean([row.std() for row in rows]), abs=1e-12)
        assert found[f"{name}/best"] == pytest.approx(np.mean([best(row) for row in rows]))
        assert found[f"{name}/data_std"] == pytest.approx(np.std([row.mean() for row in rows]), abs=1e-12)


def test_what_there_is_is_counted():
    generations = [["a", "", "b"], [" ", "\n"], [], ["c"]]
    assert count(generations, 2) == {"scored": 2, "empty": 3, "unscored": 2, "fewer": 2}
    assert count(generations, 1) == {"scored": 2, "empty": 1, "unscored": 2, "fewer": 1}


def test_which_k_are_reported():
    assert choose_ks(15) == [1, 5, 10, 15]
    assert choose_ks(1) == choose_ks(0) == [1]
    assert choose_ks(7) == [1, 5, 7]
    assert choose_ks(20) == [1, 5, 10, 15, 20]
    assert choose_ks(15, [10, 2, 10]) == [2, 10]
    for wrong in (0, 16):
        with pytest.raises(ConfigError, match=f"k = {wrong}: no question has more than 15"):
            choose_ks(15, [1, wrong])


def test_two_models_are_compared_on_what_both_have():
    rng = np.random.default_rng(0)
    a = {"cider1": rng.random((200, 3)), "only_a": np.zeros((200, 1))}
    b = {"cider1": a["cider1"][:, :2] - 0.1}
    b["cider1"][:50] = NAN
    found = compare(a, b, k=2)
    assert list(found) == ["cider1"]
    assert found["cider1"]["questions"] == 150
    for key in ("difference", "low", "high"):
        assert found["cider1"][key] == pytest.approx(0.1)
    assert found["cider1"]["p"] < 0.01
    same = compare(a, a, k=3, statistic="best")["cider1"]
    assert (same["difference"], same["p"]) == (0, 1)


def test_the_best_of_a_distance_is_compared_as_such():
    a, b = {"x_l2": np.array([[1.0, 3.0]])}, {"x_l2": np.array([[2.0, 9.0]])}
    assert compare(a, b, 2, "best")["x_l2"]["difference"] == -1
    assert compare(a, b, 2, "mean")["x_l2"]["difference"] == pytest.approx(2 - 5.5)


def test_questions_of_a_group_are_drawn_together():
    """Ten times the same question a group: as sure as one question a group, not as ten."""
    rng = np.random.default_rng(1)
    each = rng.normal(0.1, 1.0, (40, 1))
    zeros = np.zeros_like(each)
    once = compare({"x": each}, {"x": zeros}, 1)["x"]
    many = {"x": np.repeat(each, 10, axis=0)}, {"x": np.repeat(zeros, 10, axis=0)}
    together = compare(*many, 1, groups=np.repeat(np.arange(40) * 7, 10))["x"]
    apart = compare(*many, 1)["x"]
    assert (together["low"], together["high"]) == pytest.approx((once["low"], once["high"]))
    assert apart["high"] - apart["low"] < 0.5 * (once["high"] - once["low"])


def test_comparisons_that_cannot_be_are_refused():
    a, b = {"x": np.zeros((2, 1))}, {"x": np.zeros((3, 1))}
    with pytest.raises(DataError, match="x: the models are scored on 2 and 3 questions"):
        compare(a, b, 1)
    with pytest.raises(DataError, match="no question has a score of both"):
        compare(a, {"x": np.full((2, 1), NAN)}, 1)
    with pytest.raises(ConfigError, match="'data_std'"):
        compare(a, a, 1, "data_std")


def test_rounding_decides_no_p():
    """One answer fifteen times and once: the means differ by 1e-17, which is no difference."""
    often = np.zeros((20, 15))
    often[:15] = 0.2
    compared = compare({"meteor1": often}, {"meteor1": often[:, :1]}, 15)["meteor1"]
    assert compared["p"] == 1
    assert compared["low"] == compared["high"] == 0
