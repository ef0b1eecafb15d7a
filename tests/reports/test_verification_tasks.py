"""Tasks: sampled evenly and by seed, orders mixed, files read with their faults named, tasks.json as it was written."""

import dataclasses
import gzip
import json

import numpy as np
import pytest

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.reports import verification_tasks
from vatex_jax.reports.verification_tasks import Task, make_batch, read_batch, read_tasks, sample, write_batch

RECORD = {
    "image_id": 185,
    "round_id": 3,
    "in_cluster_idxs": [1, 0, 1],
    "refs": ["yes", "yes it is"],
    "question": "is it sunny?",
    "gt_answer": "yes it is",
}


def make_tasks(count: int, source: str = "H", answers: int = 8) -> list[Task]:
    texts = tuple(f"answer {place}" for place in range(answers))
    truth = tuple(place == 0 for place in range(answers))
    return [Task(number, number % 10, f"question {number}?", texts, source, truth) for number in range(count)]


def test_every_task_is_as_likely_as_another():
    tasks, rng, counts = make_tasks(6), np.random.default_rng(0), np.zeros(6)
    for _ in range(4000):
        for task in sample(tasks, 2, rng):
            counts[task.image_id] += 1
    assert counts.sum() == 8000
    # Binomial with 4000 draws and p = 1/3: a standard deviation of 30.
    assert np.abs(counts - 4000 / 3).max() < 4 * 30


def test_a_sample_is_without_replacement_and_reads_its_tasks_once():
    drawn = sample(iter(make_tasks(50)), 20, np.random.default_rng(1))
    assert len({task.image_id for task in drawn}) == 20
    assert sample(iter(make_tasks(3)), 20, np.random.default_rng(1)) == make_tasks(3)


def test_the_seed_settles_the_batch():
    one, again, other = (make_batch([make_tasks(50), make_tasks(50, "S")], 10, 4, seed) for seed in (1, 1, 2))
    assert one == again
    assert one.id == again.id
    assert other.id != one.id
    assert [task.source for task in one.tasks].count("H") == 10
    assert len(one.tasks) == 20


def test_sources_are_mixed_and_the_ground_truth_may_stand_anywhere():
    batch = make_batch([make_tasks(200), make_tasks(200, "S")], 100, 4, 0)
    assert 30 < [task.source for task in batch.tasks[:100]].count("H") < 70
    places = {task.ground_truth.index(True) for task in batch.tasks}
    assert places == set(range(8))
    for task in batch.tasks:
        assert task.answers[task.ground_truth.index(True)] == "answer 0"
        assert sorted(task.answers) == [f"answer {place}" for place in range(8)]


def test_pages_of_four():
    batch = make_batch([make_tasks(10)], 10, 4, 0)
    assert batch.pages == 3
    assert [batch.page(number) for number in range(10)] == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]


def test_other_tasks_another_order_or_another_page_size_is_another_batch():
    tasks = tuple(make_tasks(4))
    batches = [(tasks, 4), (tasks[::-1], 4), (tasks, 2), (tasks[:3], 4), ((*tasks[:3], make_tasks(4, "S")[3]), 4)]
    assert len({verification_tasks.Batch(*parts).id for parts in batches}) == 5


@pytest.mark.parametrize(("field", "value"), [("tasks", 0), ("per_page", 0), ("seed", -1)])
def test_numbers_that_cannot_be_are_refused(field, value):
    numbers = {"tasks": 1, "per_page": 1, "seed": 1} | {field: value}
    with pytest.raises(ConfigError, match=f"--{field}={value}"):
        make_batch([make_tasks(3)], numbers["tasks"], numbers["per_page"], numbers["seed"])


def test_no_task_and_a_task_twice_are_refused():
    with pytest.raises(DataError, match="no reference set"):
        make_batch([[]], 5, 4, 0)
    with pytest.raises(DataError, match="image 1, round 1 comes twice"):
        make_batch([make_tasks(3) + make_tasks(2)[1:]], 9, 4, 0)


@pytest.mark.parametrize("packed", [False, True])
def test_sets_are_read_plain_and_gzipped(packed, tmp_path):
    path, data = tmp_path / "sets.json", json.dumps([RECORD]).encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    (task,) = read_tasks(path, "sigma")
    assert task == Task(185, 3, "is it sunny?", ("yes", "yes it is"), "sigma", (False, True))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"refs": []}, "record 2: 0 texts in refs"),
        ({"refs": ["a", 3]}, "field refs"),
        ({"refs": "a"}, "field refs"),
        ({"image_id": "185"}, "field image_id: must be a whole number"),
        ({"round_id": True}, "field round_id"),
        ({"question": None}, "field question: must be text"),
    ],
)
def test_a_record_that_is_none_is_named(change, said, tmp_path):
    path = tmp_path / "sets.json"
    path.write_text(json.dumps([RECORD | {"image_id": 1}, RECORD | change]), encoding="utf-8")
    with pytest.raises(DataError, match=r"sets\.json, record 2") as error:
        list(read_tasks(path, "H"))
    assert said in str(error.value)


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b"[1]", b"\x1f\x8bno", b"\xff", b'[{"image_id": 1}]'])
def test_a_file_of_something_else_is_named(data, tmp_path):
    path = tmp_path / "sets.json"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"sets\.json"):
        list(read_tasks(path, "H"))


def test_a_batch_is_read_as_it_was_written(tmp_path):
    batch = make_batch([make_tasks(5), [Task(9, 1, "几只狗? \u2028", ("两只",), "S", (True,))]], 5, 4, 3)
    write_batch(batch, tmp_path, {"seed": 3})
    assert read_batch(tmp_path) == batch
    told = dataclasses.replace(batch, origins={"S": "visdial/v1.0 1.0.0: real data, test split"})
    write_batch(told, tmp_path, {})
    assert read_batch(tmp_path).origins == told.origins
    assert json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))["tasks"][4]["page"] == 2


def test_a_batch_that_was_changed_or_is_none_is_refused(tmp_path):
    write_batch(make_batch([make_tasks(5)], 5, 4, 3), tmp_path, {})
    path = tmp_path / "tasks.json"
    text = path.read_text(encoding="utf-8")
    for changed, said in [
        (text.replace("answer 3", "answer 9", 1), "was changed"),
        (text.replace('"source"', '"sauce"', 1), "damaged"),
        (text.replace("tasks 1", "tasks 2", 1), "not the tasks"),
        ("[]", "not the tasks"),
        ("{", "cannot be read"),
    ]:
        path.write_text(changed, encoding="utf-8")
        with pytest.raises(DataError, match=said):
            read_batch(tmp_path)
