"""Reference sets as files."""

import dataclasses
import gzip
import json

import numpy as np
import pytest

from vatex_jax.errors import DataError
from vatex_jax.reference_sets import release
from vatex_jax.reference_sets.release import ReferenceSet, manifest_path

ODD = 'say "红色" </script>\u2028'
SETS = [
    ReferenceSet(7, 0, np.array([True, False, True]), ("yes", "yeah"), "is it red?", "yes"),
    ReferenceSet(7, 9, np.array([False, True, False]), (ODD,), "什么颜色", ODD),
    ReferenceSet(2, 0, np.array([True, True, True]), ("a", "\ud800", ""), "", "a"),
]


def same(a, b):
    return all(
        np.array_equal(getattr(x, field.name), getattr(y, field.name))
        for x, y in zip(a, b, strict=True)
        for field in dataclasses.fields(ReferenceSet)
    )


@pytest.mark.parametrize("name", ["sets.json", "sets.json.gz"])
def test_what_is_written_is_read_back(tmp_path, name):
    told = release.write(tmp_path / name, iter(SETS), {"method": "S"}, len(SETS))
    assert told["sets"] == 3
    assert told["answers"] == 6
    assert told["method"] == "S"
    assert json.loads(manifest_path(tmp_path / name).read_text()) == told
    assert same(release.read(tmp_path / name), SETS)
    assert same(release.read(str(tmp_path / name)), SETS)


def test_the_file_is_the_published_layout(tmp_path):
    release.write(tmp_path / "sets.json", SETS[:1], {})
    assert json.loads((tmp_path / "sets.json").read_text()) == [
        {
            "image_id": 7,
            "round_id": 0,
            "in_cluster_idxs": [1, 0, 1],
            "refs": ["yes", "yeah"],
            "question": "is it red?",
            "gt_answer": "yes",
        }
    ]


def test_the_same_sets_give_the_same_bytes(tmp_path):
    for name in ("a.json.gz", "b.json.gz"):
        release.write(tmp_path / name, SETS, {})
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


def test_no_set_is_a_file_too(tmp_path):
    assert release.write(tmp_path / "sets.json", [], {})["sets"] == 0
    assert list(release.read(tmp_path / "sets.json")) == []


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("image_id", "7", "field image_id: must be a whole number, not '7'"),
        ("round_id", 10, "field round_id: must be from 0 to 9, not 10"),
        ("round_id", True, "field round_id"),
        ("in_cluster_idxs", [1, 0, 2], "field in_cluster_idxs: must be a list of 0 and 1"),
        ("in_cluster_idxs", [0, 0, 0], "2 texts in refs, but in_cluster_idxs marks 0"),
        ("in_cluster_idxs", [1, 1, 1], "2 texts in refs, but in_cluster_idxs marks 3"),
        ("refs", ["yes", 3], "field refs: must be texts in a list"),
        ("refs", "yes", "field refs: must be texts in a list"),
        ("question", None, "field question: must be text"),
        ("gt_answer", ["yes"], "field gt_answer: must be text"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, field, value, said):
    path = tmp_path / "sets.json"
    release.write(path, SETS, {})
    manifest_path(path).unlink()
    records = json.loads(path.read_text())
    records.insert(1, {**records[0], "round_id": 1, field: value})
    path.write_text(json.dumps(records))
    with pytest.raises(DataError, match=f"sets.json, record 2.*{said}"):
        list(release.read(path))


@pytest.mark.parametrize("field", ["image_id", "round_id", "in_cluster_idxs", "refs", "question", "gt_answer"])
def test_a_missing_field_is_named(tmp_path, field):
    path = tmp_path / "sets.json"
    release.write(path, SETS, {})
    records = json.loads(path.read_text())
    del records[2][field]
    path.write_text(json.dumps(records))
    with pytest.raises(DataError, match=f"record 3: must be an object with {field}"):
        list(release.read(path))


def test_a_set_may_stand_there_once(tmp_path):
    path = tmp_path / "sets.json"
    with pytest.raises(DataError, match="record 2: image 7, round 0 is there twice"):
        release.write(path, [SETS[0], SETS[0]], {})
    assert not path.exists()
    with pytest.raises(DataError, match="record 2, field round_id: must be from 0 to 9, not 10"):
        release.write(path, [SETS[0], dataclasses.replace(SETS[0], round=10)], {})
    release.write(path, SETS, {})
    records = json.loads(path.read_text())
    path.write_text(json.dumps([*records, records[0]]))
    with pytest.raises(DataError, match="record 4: image 7, round 0 is there twice"):
        list(release.read(path))


@pytest.mark.parametrize("name", ["sets.json", "sets.json.gz"])
def test_a_cut_file_is_refused_by_record(tmp_path, name):
    path = tmp_path / name
    release.write(path, SETS, {})
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(DataError, match=name):
            list(release.read(path))


def test_a_file_that_is_not_its_manifests_is_refused(tmp_path):
    path = tmp_path / "sets.json"
    release.write(path, SETS, {})
    whole = path.read_text()
    path.write_text(whole.replace("yeah", "nope"))
    with pytest.raises(DataError, match="its hash differs"):
        list(release.read(path))
    path.write_text(json.dumps(json.loads(whole)[:2]))
    with pytest.raises(DataError, match=r"holds 2 sets, but sets\.json\.manifest\.json tells of 3"):
        list(release.read(path))


def test_a_failure_leaves_the_file_before(tmp_path):
    path = tmp_path / "sets.json"
    release.write(path, SETS, {})
    before = path.read_bytes()
    wrong = dataclasses.replace(SETS[0], references=("one", "two", "three"))
    with pytest.raises(DataError, match="record 1: 3 texts in refs"):
        release.write(path, [wrong], {})
    assert path.read_bytes() == before
    assert same(release.read(path), SETS)


def test_a_file_of_others_needs_no_manifest(tmp_path):
    path = tmp_path / "sets.json.gz"
    release.write(path, SETS, {})
    manifest_path(path).unlink()
    path.write_bytes(gzip.compress(json.dumps(json.loads(gzip.decompress(path.read_bytes())), indent=1).encode()))
    assert same(release.read(path), SETS)
