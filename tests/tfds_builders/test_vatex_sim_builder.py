"""`vatex_sim` through TFDS, without TensorFlow: the schema of VaTeX, the side files, and nothing left half made."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow_datasets as tfds

from tfds_builders.vatex_sim.vatex_sim_dataset_builder import Builder, make_config, pair_facts
from tfds_builders.vatex_sim.world import World
from vatex_jax.errors import ConfigError
from vatex_jax.text.tokenization import make_tokenizer

ROOT = pathlib.Path(__file__).parents[2]
PREPARE = """
import sys
from tfds_builders.vatex_sim.vatex_sim_dataset_builder import Builder, make_config
builder = Builder(config=make_config("tiny", 0), data_dir=sys.argv[1], file_format="array_record")
builder.download_and_prepare()
assert len(builder.as_data_source(split="train")[0]["en"]) == 10
assert "tensorflow" not in sys.modules
assert "jax" not in sys.modules
"""


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    subprocess.run(
        [sys.executable, "-c", PREPARE, folder], check=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    return folder


@pytest.fixture(scope="module")
def builder(data_dir):
    return Builder(config=make_config("tiny"), data_dir=data_dir, file_format="array_record")


def test_examples_have_the_schema_of_vatex(builder):
    world = World(0, "tiny")
    for split, size in (("train", 24), ("validation", 8), ("test", 8)):
        source = builder.as_data_source(split=split)
        assert len(source) == size
        videos = {video.video_id: index for index, video in enumerate(world.videos(split))}
        for example in source:
            index = videos.pop(example["video_id"].decode())
            assert np.array_equal(example["features"], world.features(split, index))
            assert example["features"].dtype == np.float32
            assert (example["label"], example["pairs"], len(example["en"]), len(example["zh"])) == (-1, 5, 10, 10)
            assert all(sentence.decode().endswith("。") for sentence in example["zh"])
            assert all(sentence.decode().endswith(".") for sentence in example["en"])
        assert not videos


def test_side_files_tell_the_worlds_answers(builder):
    world = json.loads((builder.data_path / "world.json").read_text(encoding="utf-8"))
    assert world["acceptance"]["en2zh/test/oracle_bleu4"] == 100
    assert {"en": "bat", "zh": "蝙蝠", "part_of_speech": "noun", "ambiguous_in": "en", "sense": 0}.items() <= world[
        "concepts"
    ][0].items()
    pairs = json.loads((builder.data_path / "test_pairs.json").read_text(encoding="utf-8"))
    assert pairs == pair_facts(World(0, "tiny"))
    examples = {example["video_id"].decode(): example for example in builder.as_data_source(split="test")}
    tokens = {language: make_tokenizer(language).tokenize for language in ("en", "zh")}
    assert len(pairs) == 40
    for pair in pairs:
        for language in ("en", "zh"):
            assert examples[pair["video_id"]][language][5 + pair["pair"]].decode() == pair[language]
        wrong = {word["zh"]: word["other_zh"] for word in pair["ambiguous"] if word["other_zh"] in pair["zh_ceiling"]}
        assert (pair["zh"] != pair["zh_ceiling"]) == bool(wrong)
        for word in (*pair["ambiguous"], *pair["ambiguous_zh"]):
            assert tokens["en"](pair["en"])[word["en_index"]] == word["en"]
            assert tokens["zh"](pair["zh"])[word["zh_index"]] == word["zh"]


def test_two_preparations_give_the_same_records_in_the_same_order(builder, tmp_path):
    """Record files are not compared byte by byte: protocol buffers write the fields of a record in any order."""
    again = Builder(config=make_config("tiny"), data_dir=tmp_path, file_format="array_record")
    again.download_and_prepare()
    names = sorted(path.name for path in builder.data_path.iterdir())
    assert names == sorted(path.name for path in again.data_path.iterdir())
    for name in ("world.json", "test_pairs.json", "features.json"):
        assert (builder.data_path / name).read_bytes() == (again.data_path / name).read_bytes(), name
    for one, other in zip(builder.as_data_source(split="train"), again.as_data_source(split="train"), strict=True):
        assert all(np.array_equal(one[field], other[field]) for field in one)


def test_an_interrupted_preparation_leaves_no_data_set(tmp_path, monkeypatch):
    def stop(self, split, index):
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
    assert Builder.name == "vatex_sim"
    assert isinstance(make_config(), tfds.core.BuilderConfig)
    with pytest.raises(ConfigError, match="'huge'"):
        make_config("huge")
    with pytest.raises(ConfigError, match="-1"):
        make_config("tiny", -1)
