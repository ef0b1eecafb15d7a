"""Opening data sets: the bundled one is prepared, a missing one says how to build it, test splits are found."""

import json
from pathlib import Path

import numpy as np
import pytest

from configs import vmt
from tfds_builders import build
from vatex_jax.data.sources import Source, Split, _read_split, current_version, open_source
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.experiments.splits import HALF
from vatex_jax.experiments.translation_data import load_translation_data


def write_vatex(folder, chinese_test: bool) -> None:
    folder.mkdir()
    sentences = [f"a dog number {i} runs" for i in range(5)]
    for name, count, chinese in (
        ("vatex_training_v1.0", 6, True),
        ("vatex_validation_v1.0", 5, True),
        ("vatex_public_test_english_v1.1", 3, chinese_test),
    ):
        records = [
            {"videoID": f"{name[6:9]}{i}_000000_000010", "enCap": sentences}
            | ({"chCap": [f"第{k}只狗在跑" for k in range(5)]} if chinese else {})
            for i in reversed(range(count))
        ]
        (folder / f"{name}.json").write_text(json.dumps(records), encoding="utf-8")


@pytest.fixture
def config(tmp_path):
    made = vmt.get_config("none")
    made.data.name, made.data.data_dir, made.data.min_count = "vatex/none", str(tmp_path / "data"), 1
    return made


def test_the_simulated_set_is_prepared_and_read_as_written(tmp_path):
    source = open_source("vatex_sim/tiny", str(tmp_path), report=lambda text: None)
    assert source.simulated
    assert not source.stand_in
    split = source.split("test")
    assert [len(video.en) for video in split.videos] == [10] * 8
    facts = source.sidecar("test_pairs.json")
    by_id = {video.video_id: video for video in split.videos}
    for fact in facts:
        assert by_id[fact["video_id"]].parallel("zh")[fact["pair"]] == fact["zh"]
    for index in range(8):
        features = split.features[index]
        assert features.dtype == np.float32
        assert features.shape == (split.features.segments[index], 1024)
    assert source.sidecar("nothing.json") is None
    with pytest.raises(DataError, match="it has train, validation, test"):
        source.split("public_test")


def test_an_unbuilt_set_says_how_to_build_it(tmp_path):
    with pytest.raises(DataError, match="manual_dir"):
        open_source("vatex/none", str(tmp_path), report=lambda text: None)
    with pytest.raises(ConfigError, match="empty"):
        open_source("", str(tmp_path))


@pytest.mark.parametrize("chinese_test", [True, False])
def test_a_test_split_without_references_is_replaced_by_half_of_validation(tmp_path, config, chinese_test):
    write_vatex(tmp_path / "files", chinese_test)
    build.build(
        "vatex", manual_dir=tmp_path / "files", data_dir=config.data.data_dir, features="none", report=lambda text: None
    )
    said = []
    (tmp_path / "run").mkdir()
    data = load_translation_data(config, tmp_path / "run", said.append)
    ids = {name: [video.video_id for video in split.videos] for name, split in data.splits.items()}
    if chinese_test:
        assert data.test_split == "public_test"
        assert len(ids["test"]) == 3
        assert len(ids["validation"]) == 5
    else:
        assert data.test_split == HALF
        assert any(HALF in line and "'zh'" in line for line in said)
        assert ids["validation"] == ["val0_000000_000010", "val1_000000_000010"]
        assert ids["test"] == ["val2_000000_000010", "val3_000000_000010", "val4_000000_000010"]


def test_from_chinese_the_english_test_split_needs_sources_too(tmp_path, config):
    write_vatex(tmp_path / "files", chinese_test=False)
    build.build(
        "vatex", manual_dir=tmp_path / "files", data_dir=config.data.data_dir, features="none", report=lambda text: None
    )
    config.direction = "zh2en"
    (tmp_path / "run").mkdir()
    assert load_translation_data(config, tmp_path / "run", lambda text: None).test_split == HALF


def test_other_features_under_the_same_ids_are_another_data_set():
    """Same captions and lengths, one number changed; a world's features follow from its name, so captions do there."""

    def split(value: float) -> Split:
        rows = [{"video_id": "v", "label": -1, "en": ["a"], "zh": [], "pairs": 0, "features": np.full((2, 3), value)}]
        return _read_split("train", rows)

    a, again, other = split(1.0), split(1.0), split(1.5)
    assert a.features.digest == again.features.digest != other.features.digest
    assert a.features.reordered([0]).digest != other.features.reordered([0]).digest
    real = Source("vatex/i3d", "1", Path("."), False, False, None)
    world = Source("vatex_sim/default", "1", Path("."), True, False, None)
    prints = [source.describe("train", [part])["fingerprint"] for source in (real, world) for part in (a, other)]
    assert prints[0] != prints[1]
    assert prints[2] == prints[3]


@pytest.mark.parametrize("name", ["vatex_sim/tiny", "vatex_sim/default-w3"])
def test_the_version_told_in_advance_is_the_one_opened(name, tmp_path):
    builder = build.build("vatex_sim/tiny", data_dir=tmp_path, report=lambda line: None)
    assert current_version(name) == str(builder.info.version)
    for wrong in ("vatex_simulated", "vatex_sim/defalt", "vatex_sim/default-wx", "vatex/i3"):
        with pytest.raises(ConfigError, match=wrong.rpartition("/")[2]):
            current_version(wrong)
