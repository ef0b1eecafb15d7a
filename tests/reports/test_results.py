"""The schema of results.json: what it takes, what it refuses, and by which name it calls the fault."""

import json
import math
import os
import subprocess

import pytest

from vatex_jax.errors import DataError
from vatex_jax.reports import results


def test_what_is_written_is_read_back(tmp_path, make_result):
    result = make_result(metrics={"bleu4": 30.25, "en/cider": 45, "H/bert_l2/k_std": 0.5, "r@1": 1.0}, variant="")
    path = tmp_path / "run" / results.FILE_NAME
    results.write(path, result)
    assert results.read(path) == result
    assert os.listdir(path.parent) == [results.FILE_NAME]


@pytest.mark.parametrize("field", [*results.FIELDS])
def test_a_missing_field_is_named(field, make_result):
    result = make_result()
    del result[field]
    with pytest.raises(DataError, match=f"the field '{field}' is missing"):
        results.validate(result)


@pytest.mark.parametrize("field", [*results.DATASET_FIELDS])
def test_a_missing_field_of_the_data_set_is_named(field, make_result):
    result = make_result()
    del result["dataset"][field]
    with pytest.raises(DataError, match=f"dataset: the field '{field}' is missing"):
        results.validate(result)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"note": "x"}, "unknown field 'note'"),
        ({"dataset": {"note": "x"}}, "dataset: unknown field 'note'"),
        ({"experiment": ""}, "experiment: must not be empty"),
        ({"experiment": None}, "experiment: must be of type str"),
        ({"seed": -1}, "seed: must not be negative"),
        ({"seed": True}, "seed: must be of type int"),
        ({"parameters": 1.5}, "parameters: must be of type int"),
        ({"dataset": {"simulated": 1}}, "dataset: simulated: must be of type bool"),
        ({"dataset": {"sizes": {"test": -1}}}, "dataset.sizes.test: must be a count"),
        ({"dataset": {"sizes": {1: 1}}}, "dataset.sizes: must have names of text"),
        ({"metrics": {"bleu4": math.nan}}, "metrics.bleu4: must be a finite number"),
        ({"metrics": {"bleu4": math.inf}}, "metrics.bleu4: must be a finite number"),
        ({"metrics": {"bleu4": 10**400}}, "metrics.bleu4: must be a finite number"),
        ({"metrics": {"bleu4": None}}, "metrics.bleu4: must be a finite number"),
        ({"metrics": {"bleu4": True}}, "metrics.bleu4: must be a finite number"),
        ({"metrics": {"bleu4": "30"}}, "metrics.bleu4: must be a finite number"),
        ({"metrics": {"blue4": 1.0}}, "did you mean 'bleu4'"),
        ({"metrics": [1.0]}, "metrics: must be of type dict"),
        ({"signature": {"bleu": 1}}, "signature.bleu: must be text"),
        ({"timing": {"train": "long"}}, "timing.train: must be a finite number of seconds"),
        ({"software": {"jax": 12}}, "software.jax: must be text or null"),
        ({"config": {"rate": math.nan}}, "config: must be plain JSON"),
        ({"config": {"rate": {1, 2}}}, "config: must be plain JSON"),
        ({"variant": "\ud800"}, "variant: must be plain JSON in UTF-8"),
    ],
)
def test_a_fault_is_named_and_nothing_is_written(changes, message, tmp_path, make_result):
    with pytest.raises(DataError, match=message):
        results.write(tmp_path / results.FILE_NAME, make_result(**changes))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "name",
    [
        "bleu4",
        "en/bleu4",
        "H/mrr",
        "S/cider1/mean",
        "bert_cs/data_std",
        "25/noun_recovery",
        "bleu4_low",
        "H/k15/cider1/mean",
        "S/Gamma/bert_l2/best",
        "refs/A_gt/sbleu4/data_std",
        "S/k1/empty",
    ],
)
def test_names_of_the_contract(name):
    assert results.check_metric_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "bleu",
        "bleu5",
        "en/",
        "/bleu4",
        "en/zh/bleu4",
        "H/k0/bleu4",
        "k1/H/bleu4",
        "bleu4/worst",
        "mean",
        4,
        "BLEU4",
    ],
)
def test_other_names_are_refused(name):
    with pytest.raises(DataError, match="is no metric"):
        results.check_metric_name(name)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[]", b"null", b"[" * 100_000, b'{"seed": ' + b"9" * 5000 + b"}"]
)
def test_a_damaged_file_is_an_error_that_names_it(content, tmp_path):
    path = tmp_path / results.FILE_NAME
    path.write_bytes(content)
    with pytest.raises(DataError, match=results.FILE_NAME):
        results.read(path)


def test_no_prefix_of_a_file_is_valid(tmp_path, make_result):
    path = tmp_path / results.FILE_NAME
    whole = json.dumps(make_result()).encode()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError):
            results.read(path)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        results.read(tmp_path / results.FILE_NAME)


def test_software_names_versions_and_is_itself_valid(make_result):
    software = results.software()
    assert software["sacrebleu"]
    assert software["python"].startswith("3.")
    results.validate(make_result(software=software))


def test_the_commit_is_that_of_the_checkout_and_says_where_files_were_changed(tmp_path):
    def git(*arguments):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", tmp_path, *identity, *arguments], check=True, capture_output=True)

    (tmp_path / "inner").mkdir()
    assert results.git_commit(tmp_path) is None
    git("init")
    assert results.git_commit(tmp_path) is None  # no commit yet
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-m", "first")
    commit = results.git_commit(tmp_path)
    assert len(commit) == 40
    (tmp_path / "file").write_text("2")
    assert results.git_commit(tmp_path) == f"{commit}-dirty"
    assert results.git_commit(tmp_path / "inner") is None
