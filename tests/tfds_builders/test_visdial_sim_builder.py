"""`visdial_sim` through TFDS, without TensorFlow: the schema of VisDial, the side files, and nothing left half made."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow_datasets as tfds

from tfds_builders.visdial_sim.visdial_sim_dataset_builder import Builder, facts, make_config
from tfds_builders.visdial_sim.world import World
from vatex_jax.errors import ConfigError

ROOT = pathlib.Path(__file__).parents[2]
PREPARE = """
import sys
from tfds_builders.visdial_sim.visdial_sim_dataset_builder import Builder, make_config
builder = Builder(config=make_config("tiny", 0), data_dir=sys.argv[1], file_format="array_record")
builder.download_and_prepare()
assert len(builder.as_data_source(split="train")[0]["questions"]) == 10
assert "tensorflow" not in sys.modules
assert "jax" not in sys.modules
"""


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    subprocess.run(
        [sys.executable, "-c", PREPARE, folder], check=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    return Builder(config=make_config("tiny"), data_dir=folder, file_format="array_record")


def _json(builder, name):
    return json.loads((builder.data_path / name).read_text(encoding="utf-8"))


def test_examples_have_the_schema_of_visdial_and_hold_the_world(builder):
    world, table = World(0, "tiny"), _json(builder, "answers.json")
    assert len(set(table)) == len(table)
    for split, size in (("train", 24), ("validation", 8), ("test", 8)):
        found, annotations = world.dialogues(split), world.annotations(split)
        images = {image_id: index for index, image_id in enumerate(world.image_ids(split).tolist())}
        source = builder.as_data_source(split=split)
        assert len(source) == size
        for example in source:
            index = images.pop(example["image_id"])
            assert example["caption"].decode() == found.captions[index]
            assert example["rounds"] == len(example["questions"]) == len(example["answers"]) == 10
            for turn in range(10):
                answer = example["answers"][turn].decode()
                assert answer == world.answers[found.answers[index, turn]]
                assert example["questions"][turn].decode() == world.question(split, index, turn)
                assert table[example["options"][turn][example["gt_index"][turn]]] == answer
            assert np.array_equal(example["options"], world.options(split)[0][index])
            assert np.array_equal(example["image"], world.features(split)[index])
            assert example["relevance_round"] == annotations.rounds[index]
            assert np.array_equal(example["relevance"], annotations.relevance[index])
            types = {name: example[name].dtype for name in ("options", "gt_index", "relevance", "image")}
            assert types == {"options": np.int32, "gt_index": np.int32, "relevance": np.float32, "image": np.float32}
        assert not images


def test_rounds_without_annotations_have_none(tmp_path, monkeypatch):
    from tfds_builders.visdial_sim import world as world_lib

    monkeypatch.setitem(world_lib.ANNOTATED, "tiny", {"train": 5})
    builder = Builder(config=make_config("tiny"), data_dir=tmp_path, file_format="array_record")
    examples = [example for _, example in builder._generate_examples(World(0, "tiny"), "train")]
    without = [example for example in examples if example["relevance_round"] == -1]
    assert (len(examples), len(without)) == (24, 19)
    assert not any(example["relevance"].any() for example in without)
    assert all(example["relevance"].any() for example in examples if example["relevance_round"] >= 0)


def test_side_files_tell_the_worlds_answers(builder):
    world, table = World(0, "tiny"), _json(builder, "answers.json")
    described, found = _json(builder, "world.json"), _json(builder, "facts.json")
    assert (described["world_seed"], described["size"]) == (0, "tiny")
    assert described["acceptance"]["options/distinct"] == 100
    assert found == json.loads(json.dumps(facts(world)))
    assert len(found["answer_classes"]) == len(table)
    assert "count:dog/2" in found["answer_classes"][table.index("2")]
    assert found["answer_classes"][table.index("the dog is white")] == ["color:dog/white"]
    for split in ("validation", "test"):
        told = {row["image_id"]: row for row in found[split]}
        for example in builder.as_data_source(split=split):
            row = told.pop(example["image_id"])
            assert row["relevance_round"] == example["relevance_round"]
            asked = row["rounds"][row["relevance_round"]]
            assert (row["seen"]["type"], row["seen"]["subject"]) == (asked["type"], asked["subject"])
            for turn, fact in enumerate(row["rounds"]):
                answer = table.index(example["answers"][turn].decode())
                assert fact["class"] in found["answer_classes"][answer]
                assert (
                    fact["class"] == f"{fact['type']}{':' * bool(fact['subject'])}{fact['subject']}/{fact['content']}"
                )
                if fact["pronoun"]:
                    assert fact["subject"] == row["rounds"][turn - 1]["subject"]
        assert not told


def test_two_preparations_give_the_same_records_in_the_same_order(builder, tmp_path):
    """Record files are not compared byte by byte: protocol buffers write the fields of a record in any order."""
    again = Builder(config=make_config("tiny"), data_dir=tmp_path, file_format="array_record")
    again.download_and_prepare()
    assert sorted(path.name for path in builder.data_path.iterdir()) == sorted(
        path.name for path in again.data_path.iterdir()
    )
    for name in ("answers.json", "world.json", "facts.json", "features.json"):
        assert (builder.data_path / name).read_bytes() == (again.data_path / name).read_bytes(), name
    for one, other in zip(builder.as_data_source(split="train"), again.as_data_source(split="train"), strict=True):
        assert all(np.array_equal(one[field], other[field]) for field in one)


def test_an_interrupted_preparation_leaves_no_data_set(tmp_path, monkeypatch):
    def stop(self, split):
        raise KeyboardInterrupt

    builder = Builder(config=make_config("tiny", 7), data_dir=tmp_path, file_format="array_record")
    monkeypatch.setattr(World, "features", stop)
    with pytest.raises(KeyboardInterrupt):
        builder.download_and_prepare()
    assert not builder.data_path.exists()
    assert not list(tmp_path.rglob("world.json"))


def test_configurations_are_named_after_size_and_seed():
    assert [config.name for config in Builder.BUILDER_CONFIGS] == ["default", "tiny"]
    assert make_config("default", 7).name == "default-w7"
    assert make_config("default", 0) is make_config() is Builder.BUILDER_CONFIGS[0]
    assert Builder.name == "visdial_sim"
    assert isinstance(make_config(), tfds.core.BuilderConfig)
    with pytest.raises(ConfigError, match="'huge'"):
        make_config("huge")
    with pytest.raises(ConfigError, match="-1"):
        make_config("tiny", -1)
