"""The benchmarks of CCA at small sizes: both sides find the same, and the line has what it must have."""

import numpy as np
import pytest

from benchmarks import cca_fit, cca_rank


def test_numbers_are_zipfs_and_each_is_there():
    drawn = cca_fit.zipf(50, 100_000, np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=50)
    assert (counts > 0).all()
    assert counts[0] / counts[9] == pytest.approx(10, rel=0.15)
    assert sorted(cca_fit.zipf(50, 20, np.random.default_rng(0))) == list(range(20))


@pytest.mark.slow
def test_both_fits_project_alike():
    found = cca_fit.run(cca_fit.Plan(pairs=4000, questions=300, answers=200, dimension=8, k=8, sample=1500, rounds=1))
    assert found["largest_difference"] < 1e-6
    assert found["speedup"] == pytest.approx(found["peer"] / found["ours"])
    assert {"pairs", "sample", "peak_memory_gb"} <= found.keys()


@pytest.mark.slow
def test_both_rankings_score_alike():
    found = cca_rank.run(
        cca_rank.Plan(questions=70, distinct_questions=30, answers=50, candidates=9, dimension=8, share=7, rounds=1)
    )
    assert found["largest_difference"] < 1e-5
    assert found["over_gather"] == pytest.approx(found["ours"] / found["gather"])
    assert "peak_memory_gb" in found
