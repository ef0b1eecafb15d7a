"""Scores of every generation: kept, read again, and compared between two models."""

import numpy as np
import pytest

from vatex_jax.errors import DataError
from vatex_jax.metrics.generations import compare as compare_tables
from vatex_jax.reports import question_scores
from vatex_jax.reports.cells import of_metric

N = 40


def scores(seed, images=None, shift=0.0):
    rng = np.random.default_rng(seed)
    table = rng.random((N, 3)) + shift
    table[0] = np.nan
    images = np.arange(N) // 2 if images is None else images
    return {"H": question_scores.Scores(images, np.arange(N) % 10, {"cider1": table, "bert_l2": 5 - table})}


def test_what_is_written_is_read(tmp_path):
    written = scores(0)
    question_scores.write(tmp_path, written)
    found = question_scores.read(tmp_path)
    assert list(found) == ["H"]
    assert list(found["H"].tables) == ["cider1", "bert_l2"]
    np.testing.assert_allclose(found["H"].tables["cider1"], written["H"].tables["cider1"], atol=1e-6)
    np.testing.assert_array_equal(found["H"].image_ids, written["H"].image_ids)
    assert question_scores.read(tmp_path / "nowhere") is None


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"[]", "npy"])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / question_scores.FILE
    if content == "npy":
        with path.open("wb") as file:
            np.savez(file, **{"H/image_ids": np.arange(3), "H/rounds": np.arange(3), "H/cider1": np.zeros((2, 1))})
    else:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"question_scores\.npz: cannot be read"):
        question_scores.read(tmp_path)


def folders(tmp_path, **runs):
    for name, one in runs.items():
        question_scores.write(tmp_path / name, one)
    return [tmp_path / name for name in runs]


@pytest.mark.parametrize(("metric", "statistic"), [("cider1", "mean"), ("bert_l2", "best"), ("cider1", "k_std")])
def test_two_models_are_compared_as_their_tables_are(tmp_path, metric, statistic):
    one, two = scores(1, shift=0.3), scores(2)
    a, b = folders(tmp_path, a=one, b=two)
    found = question_scores.compare([a], [b], "H", metric, "k2", statistic)
    expected = compare_tables(one["H"].tables, two["H"].tables, 2, statistic, np.arange(N) // 2)[metric]
    for name in ("difference", "low", "high", "p"):
        assert found[name] == pytest.approx(expected[name], abs=1e-6)


def test_what_does_not_compare(tmp_path):
    a, b, c = folders(tmp_path, a=scores(1), b=scores(2), c=scores(3, np.arange(N)))
    assert question_scores.compare([a], [tmp_path / "nowhere"], "H", "cider1", "k1", "mean") == {}
    assert question_scores.compare([a], [b], "S", "cider1", "k1", "mean") == {}
    assert question_scores.compare([a], [b], "H", "meteor1", "k1", "mean") == {}
    assert question_scores.compare([a], [b], "H", "cider1", "Gamma", "mean") == {}
    assert question_scores.compare([a], [b], "H", "cider1", "k1", "data_std") == {}
    with pytest.raises(DataError, match="other questions were scored there"):
        question_scores.compare([a], [c], "H", "cider1", "k1", "mean")


def test_a_column_is_signed_by_what_is_about_it():
    signature = {"cider": "c", "sbleu": "b", "bert": "x", "tokens": "t", "H/references": "r",
                 "H/document_frequencies": "3", "S/references": "s"}  # fmt: skip
    assert of_metric(signature, "H/cider4") == {
        "cider": "c", "tokens": "t", "references": "r", "document_frequencies": "3",
    }  # fmt: skip
    assert of_metric(signature, "S/bert_l2") == {"bert": "x", "tokens": "t", "references": "s"}
    assert of_metric({"meteor": "1.5", "tokeniser": "ptb"}, "en/bleu4") == {"meteor": "1.5", "tokeniser": "ptb"}
