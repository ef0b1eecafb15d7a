"""Columns of dialogues from records written out here."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from vatex_jax.data.dialogues import read_dialogues
from vatex_jax.data.sources import Source
from vatex_jax.errors import DataError
from vatex_jax.files import write_json_whole

ANSWERS = ["yes", "no", "2", ""]


def record(image_id, questions, answers, gt_index, options=None, relevance_round=-1):
    """Rounds without a ground truth index have no candidates unless told."""
    table = np.full((10, 100), -1, np.int32)
    index = np.full(10, -1, np.int32)
    for turn, place in enumerate(gt_index):
        index[turn] = place
        if place >= 0 or turn in (options or ()):
            table[turn] = np.arange(100) % len(ANSWERS)
    return {
        "image_id": image_id,
        "caption": "a caption 好".encode(),
        "rounds": len(questions),
        "questions": [question.encode() for question in questions],
        "answers": [answer.encode() for answer in answers],
        "options": table,
        "gt_index": index,
        "relevance_round": relevance_round,
        "relevance": np.full(100, 0.2 * (relevance_round >= 0), np.float32),
        "image": np.zeros(0, np.float32),
    }


class Builder:
    def __init__(self, records):
        self.info = SimpleNamespace(splits={"train": None})
        self._records = records

    def as_data_source(self, split):
        return self._records


def source(folder, records, answers=ANSWERS):
    if answers is not None:
        write_json_whole(folder / "answers.json", answers)
    return Source("visdial/v1.0", "1", Path(folder), simulated=False, stand_in=False, builder=Builder(records))


def test_rounds_become_columns_with_ids(tmp_path):
    whole = record(5, ["is it", "how many", "is it"], ["no", "2", ""], [1, 2, 3], relevance_round=2)
    hidden = record(7, ["how many", "why"], ["yes", ""], [-1, -1], options=(1,))
    split = read_dialogues(source(tmp_path, [whole, hidden]), "train")
    assert len(split) == 2
    assert split.captions == ("a caption 好",) * 2
    assert split.question_table == ("is it", "how many", "why")
    np.testing.assert_array_equal(split.questions[:, :4], [[0, 1, 0, -1], [1, 2, -1, -1]])
    # An empty answer is one where its place among the candidates is known, and hidden where it is not.
    np.testing.assert_array_equal(split.answers[:, :3], [[1, 2, 3], [0, -1, -1]])
    np.testing.assert_array_equal(split.answered.sum(axis=1), [3, 1])
    np.testing.assert_array_equal(split.rankable[:, :3], [[True, True, True], [False, True, False]])
    np.testing.assert_array_equal(split.judged[:, :3], [[True, True, True], [False, False, False]])
    np.testing.assert_array_equal(split.relevance_round, [2, -1])
    assert split.images.shape == (2, 0)


def test_everything_that_a_result_depends_on_changes_the_fingerprint(tmp_path):
    def fingerprint(changes=None, answers=ANSWERS):
        one = record(5, ["is it", "how many"], ["no", "2"], [1, 2], relevance_round=1) | (changes or {})
        opened = source(tmp_path, [one], answers)
        return opened.describe("train", [read_dialogues(opened, "train")])["fingerprint"]

    base = record(5, ["is it", "how many"], ["no", "2"], [1, 2], relevance_round=1)
    changed = [
        {"image_id": 6},
        {"caption": b"another"},
        {"questions": [b"is it", b"how much"]},
        {"answers": [b"no", b"yes"]},
        {"options": base["options"][:, ::-1]},
        {"gt_index": base["gt_index"] + 1},
        {"relevance_round": 0},
        {"relevance": base["relevance"] * 2},
        {"image": np.ones(3, np.float32)},
    ]
    prints = [fingerprint(), *map(fingerprint, changed), fingerprint(answers=[*ANSWERS[:3], "never", ""])]
    assert len(set(prints)) == len(prints)
    assert fingerprint() == prints[0]


def test_a_set_of_videos_and_a_damaged_one_are_told(tmp_path):
    with pytest.raises(DataError, match="holds no visual dialogues"):
        read_dialogues(source(tmp_path, [], answers=None), "train")
    with pytest.raises(DataError, match="has no split 'dev'"):
        read_dialogues(source(tmp_path, []), "dev")
    foreign = record(5, ["is it"], ["maybe"], [1])
    with pytest.raises(DataError, match=r"split train cannot be read .*maybe.*--overwrite"):
        read_dialogues(source(tmp_path, [foreign]), "train")
