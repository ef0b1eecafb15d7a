"""The benchmark of overlap metrics at a small size: what it makes up, and that both sides score alike."""

import numpy as np
import pytest

from benchmarks import consensus
from benchmarks.consensus import Plan

SMALL = Plan(questions=40, generations=3, references=4, answers=500, vocabulary=300, share=4, meteor_share=8, rounds=1)


def test_answers_are_distinct_and_short_ones_come_first():
    texts = consensus.made_up_answers(2000, 300, np.random.default_rng(0))
    assert len(set(texts)) == len(texts) == 2000
    lengths = [len(text.split()) for text in texts]
    assert np.mean(lengths[:50]) + 1 < np.mean(lengths[-500:])
    assert min(lengths) == 1


def test_popular_answers_are_drawn_in_proportion():
    drawn = consensus.popular(1000, 200_000, np.random.default_rng(0))
    share = np.bincount(drawn, minlength=1000) / len(drawn)
    assert drawn.max() < 1000
    assert share[0] / share[5] == pytest.approx(10 / 5, rel=0.1)
    assert share[0] / share[95] == pytest.approx(100 / 5, rel=0.2)


def test_lists_have_the_planned_shape_and_stay():
    generations, references = SMALL.lists()
    assert (len(generations), {len(row) for row in generations}, {len(row) for row in references}) == (40, {3}, {4})
    assert (generations, references) == SMALL.lists()
    assert list(SMALL.sampled(8)) == [0, 8, 16, 24, 32]


def test_both_sides_count_alike():
    ours, peer = consensus.Ours(SMALL), consensus.Peer(SMALL)
    for metric in ("cider", "sbleu"):
        assert ours.score(metric) > 0 < getattr(peer, metric)()
        found = ours.found(metric, SMALL.share)
        assert found.shape == (30, 4)
        np.testing.assert_allclose(found, peer.found(metric), atol=1e-12)
    assert ours.distinct_pairs() <= 40 * 12


@pytest.mark.slow
def test_the_whole_of_a_small_benchmark():
    found = consensus.run(SMALL)
    assert found["largest_difference"] < 1e-9
    for name in ("", "_bleu", "_meteor", "_meteor_distinct"):
        assert found["speedup" + name] > 0
    assert found["speedup"] == pytest.approx(found["peer"] / found["ours"])
    assert found["peak_memory_gb"] < found["peak_memory_with_java_gb"]
    assert "40 questions, 480 pairs" in consensus.table(found)
