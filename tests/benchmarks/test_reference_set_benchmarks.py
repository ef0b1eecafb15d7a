"""The benchmarks of reference sets at small sizes: both sides find the same, and the lines have what they must have."""

import numpy as np
import pytest

from benchmarks import reference_sets, reference_sets_exact, release
from vatex_jax.reference_sets import release as files


def test_correlations_are_made_up_in_blocks_with_ties_and_the_ground_truths_1(monkeypatch):
    plan = reference_sets.Plan(questions=50, candidates=20)
    correlations, truth = plan.correlations(), plan.gt_index()
    assert correlations.dtype == np.float32
    assert (correlations[np.arange(50), truth] == 1.0).all()
    ascending = np.sort(correlations, axis=1)
    assert 0.002 < (ascending[:, 1:] == ascending[:, :-1]).mean() < 0.06
    monkeypatch.setattr(reference_sets, "_BLOCK", 7)
    blocks = plan.correlations()
    assert (np.abs(blocks) <= 1).all()
    assert len(np.unique(blocks[:, 0])) > 40  # every row is filled, and no block repeats another
    assert plan.sampled(5).tolist() == [0, 10, 20, 30, 40]
    assert len(plan.sampled(80)) == 50


def test_rows_of_all_shapes_have_no_ties():
    rows = reference_sets_exact.rows_of_all_shapes(100, 99, seed=0)
    assert rows.shape == (100, 99)
    assert (np.diff(np.sort(rows, axis=1), axis=1) > 0).all()


def test_an_answer_that_rounding_decides_is_called_unstable():
    even = np.array([0.0, 10.0, 20.0, 50.0, 51.0, 52.0])  # which two of the last three are one cluster?
    assert reference_sets_exact.unstable("agglomerative", even, moves=50)
    assert not reference_sets_exact.unstable("agglomerative", np.array([0.0, 1.0, 5.0, 20.0, 50.0, 90.0]), moves=50)


@pytest.mark.slow
def test_both_sides_find_the_same_sets():
    plan = reference_sets.Plan(questions=60, candidates=30, sample=20, sample_g=60, rounds=1)
    found = reference_sets.run(plan)
    assert (found["different"], found["different_g"]) == (0, 0)
    assert found["speedup"] == pytest.approx(found["peer"] / found["ours"])
    assert found["speedup_g"] == pytest.approx(found["peer_g"] / found["ours_g"])
    assert {"sigma_s", "questions", "peak_memory_gb", "mean_sizes"} <= found.keys()


@pytest.mark.slow
def test_rows_that_differ_are_counted_and_tried(monkeypatch):
    rows = reference_sets_exact.rows_of_all_shapes(24, 20, seed=0)
    counts = reference_sets_exact.compare("agglomerative", rows, processes=1, moves=3)
    assert counts == {"rows_g": 24, "different_g": 0, "unstable_g": 0, "unexplained_g": 0}
    monkeypatch.setattr(reference_sets_exact, "ours", lambda construction, rows: np.zeros(rows.shape, bool))
    counts = reference_sets_exact.compare("agglomerative", rows[:6], processes=1, moves=3)
    assert counts == {"rows_g": 6, "different_g": 6, "unstable_g": 0, "unexplained_g": 6}


def test_what_is_released_are_sigmas_sets_and_a_script_would_write_the_same(tmp_path):
    plan = release.Plan(questions=30, answers=50, sample=30)
    made = list(release.Sets(plan).first(30))
    assert [(one.image_id, one.round) for one in made] == [divmod(number, 10) for number in range(30)]
    assert all(len(one.references) == one.members.sum() > 0 for one in made)
    release.as_a_script_would(tmp_path / "script.json.gz", iter(made))
    files.write(tmp_path / "ours.json.gz", made, {})
    theirs, ours = (list(files.read(tmp_path / name)) for name in ("script.json.gz", "ours.json.gz"))
    assert [(one.references, one.answer) for one in theirs] == [(one.references, one.answer) for one in ours]


@pytest.mark.slow
def test_the_line_of_a_release():
    found = release.run(release.Plan(questions=40, answers=50, sample=10))
    assert found["speedup"] == pytest.approx(found["peer"] / found["ours"])
    assert {"plain", "read", "questions", "peak_memory_gb"} <= found.keys()
