"""Sums by sentence or dialogue: written and read, damaged, and told apart when runs are of other items."""

import numpy as np
import pytest

from vatex_jax.errors import DataError
from vatex_jax.metrics import ranking
from vatex_jax.metrics.significance import paired_bootstrap
from vatex_jax.reports.item_statistics import BLEU, KINDS, RANKING, RECOVERY, kind_of, paired


def sums(ranks: list[list[float]], annotated: int = 0) -> np.ndarray:
    """Statistics of dialogues whose questions have these ranks; the first `annotated` have an NDCG of 1 / rank."""
    rows = [
        [len(one), sum(one), *(sum(100.0 * (r <= k) for r in one) for k in (1, 5, 10)), sum(1 / r for r in one),
         float(number < annotated), (number < annotated) / one[0]]
        for number, one in enumerate(ranks)
    ]  # fmt: skip
    return np.array(rows)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.file)
def test_what_was_written_is_read(kind, tmp_path):
    assert kind.read(tmp_path) is None
    written = np.arange(3 * kind.size).reshape(3, kind.size) * (0.5 if kind is RANKING else 1)
    kind.write(tmp_path, written)
    np.testing.assert_array_equal(kind.read(tmp_path), written)
    assert [path.name for path in tmp_path.iterdir()] == [kind.file]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.file)
def test_what_is_no_statistics_is_an_error_that_names_the_file(kind, tmp_path):
    path = tmp_path / kind.file
    wrong = np.zeros((3, kind.size), int if kind is RANKING else float)
    for damaged in (np.zeros((3, kind.size - 1), wrong.dtype), wrong, np.array({"a": 1}, object)):
        np.save(path, damaged, allow_pickle=True)
        with pytest.raises(DataError, match=kind.file):
            kind.read(tmp_path)
    for content in (b"\x93NUMPY", b""):
        path.write_bytes(content)
        with pytest.raises(DataError, match=kind.file):
            kind.read(tmp_path)


def test_metrics_have_the_statistics_that_tell_them():
    assert [kind_of(metric) for metric in ("bleu4", "mrr", "ndcg", "en/cider")] == [BLEU, RANKING, RANKING, None]
    assert kind_of("verb_recovery") is RECOVERY["verb"]


def test_recovery_of_all_sentences_follows_from_their_counts(tmp_path):
    counts = np.array([[1, 2], [0, 0], [2, 2]])
    (array,), of_counts = paired(RECOVERY["noun"], "noun_recovery", [counts], [tmp_path])
    assert float(of_counts(array.sum(axis=0))) == 75.0


def test_a_metric_of_all_dialogues_follows_from_their_sums(tmp_path):
    """Three dialogues of ranks (1, 4), (8) and (2): mean rank 15 / 4; NDCG is of the first alone."""
    statistics = sums([[1.0, 4.0], [8.0], [2.0]], annotated=1)
    found = {}
    for metric in ranking.METRICS:
        (array,), of_sums = paired(RANKING, metric, [statistics], [tmp_path])
        found[metric] = (len(array), float(of_sums(array.sum(axis=0))))
    assert found == {
        "mr": (3, 3.75), "r@1": (3, 25.0), "r@5": (3, 75.0), "r@10": (3, 100.0),
        "mrr": (3, pytest.approx((1 + 0.25 + 0.125 + 0.5) / 4)), "ndcg": (1, 1.0),
    }  # fmt: skip


def test_two_runs_are_compared_on_the_same_dialogues(tmp_path):
    """Every dialogue is one rank better: so is every choice of them, whatever the ranks."""
    rng = np.random.default_rng(0)
    ranks = [rng.integers(2, 90, rng.integers(1, 10)).tolist() for _ in range(20)]
    worse, better = sums(ranks), sums([[rank - 1 for rank in one] for one in ranks])
    arrays, of_sums = paired(RANKING, "mr", [better, worse], [tmp_path, tmp_path])
    compared = paired_bootstrap(*arrays, of_sums, samples=50)
    assert [compared[name] for name in ("difference", "low", "high")] == pytest.approx([-1.0] * 3)


def test_runs_on_other_items_are_named(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    one, fewer, other = sums([[1], [2]]), sums([[1]]), sums([[1], [2, 3]])
    with pytest.raises(DataError, match=r"b/ranking_statistics\.npy: 1 dialogues, but .*a has 2"):
        paired(RANKING, "mr", [one, fewer], [a, b])
    with pytest.raises(DataError, match=r"b/ranking_statistics\.npy: other questions were ranked"):
        paired(RANKING, "mr", [one, other], [a, b])
    with pytest.raises(DataError, match=r"b/bleu_statistics\.npy: 1 sentences"):
        paired(BLEU, "bleu4", [np.ones((2, 10), int), np.ones((1, 10), int)], [a, b])
