"""Scores of candidates against a loop over questions."""

import numpy as np
import pytest

from vatex_jax.cca import retrieval


def inputs(questions=23, candidates=7, dimension=5):
    rng = np.random.default_rng(0)
    queries, answers = (rng.normal(size=(n, dimension)).astype(np.float32) for n in (9, 11))
    return (
        queries,
        rng.integers(0, 9, questions),
        answers,
        rng.integers(0, 11, (questions, candidates)).astype(np.int32),
    )


@pytest.mark.parametrize(("rows", "task"), [(1, 5), (4, 9), (4, 4), (1000, 256)])
@pytest.mark.parametrize("threads", [1, 3])
def test_every_candidate_is_scored_with_its_own_question(monkeypatch, rows, task, threads):
    queries, ids, answers, options = inputs()
    monkeypatch.setattr(retrieval, "_GATHERED_BYTES", rows * options.shape[1] * 4 * answers.shape[1])
    monkeypatch.setattr(retrieval, "_TASK", task)
    dots = retrieval.score_candidates(retrieval.correlations, queries, ids, answers, options, threads)
    away = retrieval.score_candidates(retrieval.negative_distances, queries, ids, answers, options, threads)
    for row in range(len(ids)):
        for place, answer in enumerate(options[row]):
            expected = queries[ids[row]] @ answers[answer]
            assert dots[row, place] == pytest.approx(expected, abs=1e-5)
            assert away[row, place] == pytest.approx(-np.linalg.norm(queries[ids[row]] - answers[answer]), abs=1e-5)


def test_no_question_has_no_scores():
    queries, ids, answers, options = inputs()
    assert retrieval.score_candidates(retrieval.correlations, queries, ids[:0], answers, options[:0]).shape == (0, 7)
