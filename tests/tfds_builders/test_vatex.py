"""The `vatex` builder: what the records hold, what is refused, and that nothing is written by halves."""

import json
import pathlib
import pickle

import numpy as np
import pytest
import tensorflow_datasets as tfds

from tfds_builders.build import build
from tfds_builders.from_files import cut_shards
from tfds_builders.vatex import vatex_dataset_builder
from tfds_builders.vatex.vatex_dataset_builder import Builder
from vatex_jax.data.json_files import git_blob_sha1
from vatex_jax.errors import ConfigError, DataError

DUMMY_DATA = pathlib.Path(vatex_dataset_builder.__file__).parent / "dummy_data"


def read(builder: tfds.core.DatasetBuilder, split: str) -> list[dict]:
    source = builder.as_data_source(split=split)
    return [source[i] for i in range(len(source))]


def sources_of(builder: tfds.core.DatasetBuilder) -> dict:
    return json.loads(pathlib.Path(builder.data_dir, "sources.json").read_text(encoding="utf-8"))


def quiet(_line: str) -> None:
    pass


def test_records_hold_the_files_contents(vatex_folder, tmp_path, expected_features):
    builder = build("vatex", manual_dir=vatex_folder, data_dir=tmp_path / "out", report=quiet)
    assert {name: split.num_examples for name, split in builder.info.splits.items()} == {
        "train": 3,
        "validation": 1,
        "public_test": 1,
        "private_test": 1,
    }
    train = read(builder, "train")
    assert [example["video_id"].decode() for example in train] == [
        "-a_000001_000011",
        "_b_000000_000010",
        "c_000002_000012",
    ]
    assert [text.decode() for text in train[0]["en"]] == [f"A dog runs number {i} 🐶 ." for i in range(10)]
    assert [text.decode() for text in train[0]["zh"]] == [f"第{i}只狗在跑。" for i in range(10)]
    assert [(len(e["en"]), len(e["zh"]), e["pairs"]) for e in train] == [(10, 10, 5), (2, 7, 2), (1, 0, 0)]
    # Sorted labels: flying, running, sitting.
    assert [example["label"] for example in train] == [1, 0, -1]
    for example in train:
        expected = expected_features(example["video_id"].decode())[0]
        assert example["features"].dtype == np.float32
        np.testing.assert_array_equal(example["features"], expected)
    (private,) = read(builder, "private_test")
    assert (private["en"], private["zh"], private["pairs"], private["label"]) == ([], [], 0, -1)
    assert private["features"].shape == (6, 1024)


def test_without_features_every_video_has_no_segments(vatex_folder, tmp_path):
    for path in vatex_folder.rglob("*.npy"):
        path.write_bytes(b"not looked at")
    builder = build("vatex/none", manual_dir=vatex_folder, data_dir=tmp_path / "out", report=quiet)
    train = read(builder, "train")
    assert [example["features"].shape for example in train] == [(0, 1024)] * 3
    assert train[0]["features"].dtype == np.float32
    assert train[1]["pairs"] == 2
    assert sources_of(builder)["features"] is None
    assert sources_of(builder)["stand_in"] is False


def test_a_split_is_there_only_if_its_file_is(vatex_folder, tmp_path):
    for name in ("vatex_training_v1.0.json", "vatex_private_test_without_annotations.json"):
        (vatex_folder / name).unlink()
    (vatex_folder / "kinetics_train.csv").unlink()
    builder = build("vatex", manual_dir=vatex_folder, data_dir=tmp_path / "out", report=quiet)
    assert set(builder.info.splits) == {"validation", "public_test"}
    (only,) = read(builder, "validation")
    assert (only["zh"][0].decode(), only["label"]) == ("起重机", -1)


def test_sources_say_where_the_records_come_from(vatex_folder, tmp_path):
    lines = []
    builder = build("vatex", manual_dir=vatex_folder, data_dir=tmp_path / "out", report=lines.append)
    sources = sources_of(builder)
    assert (sources["name"], sources["config"], sources["version"]) == ("vatex", "i3d", "1.0.0")
    assert sources["splits"]["train"] == {
        "file": "vatex_training_v1.0.json",
        "sha1": git_blob_sha1((vatex_folder / "vatex_training_v1.0.json").read_bytes()),
        "official": False,
        "videos": 3,
        "en": 13,
        "zh": 17,
        "pairs": 7,
        "skipped": 0,
        "skipped_ids": [],
    }
    assert sources["labels"]["names"] == ["flying", "running", "sitting"]
    assert sources["features"]["files"] == 6
    assert sources["stand_in"] is False
    report = "\n".join(lines)
    assert "vatex_training_v1.0.json: not an official file" in report
    assert ["train", "3", "13", "17", "7", "0"] in [line.split() for line in lines]


def test_stand_in_features_are_marked_by_file_or_option(vatex_folder, tmp_path):
    lines = []
    builder = build("vatex", manual_dir=vatex_folder, data_dir=tmp_path / "a", stand_in=True, report=lines.append)
    assert sources_of(builder)["stand_in"] is True
    assert any("stand-ins" in line for line in lines)
    (vatex_folder / "STAND_IN_FEATURES").touch()
    builder = build("vatex", manual_dir=vatex_folder, data_dir=tmp_path / "b", report=quiet)
    assert sources_of(builder)["stand_in"] is True
    with pytest.raises(ConfigError, match="stand_in"):
        build("vatex/none", manual_dir=vatex_folder, data_dir=tmp_path / "c", stand_in=True, report=quiet)


def test_missing_features_are_counted_and_named_or_skipped(vatex_folder, tmp_path):
    for video_id in ("_b_000000_000010", "c_000002_000012"):
        (vatex_folder / "trainval" / f"{video_id}.npy").unlink()
    (path,) = vatex_folder.rglob("f_000005_000015.npy")
    path.unlink()
    with pytest.raises(DataError) as caught:
        build("vatex", manual_dir=vatex_folder, data_dir=tmp_path / "out", report=quiet)
    message = str(caught.value)
    assert "train: 2 of 3 videos have no features (_b_000000_000010, c_000002_000012)" in message
    assert "private_test: 1 of 1" in message
    assert "--missing_features=skip" in message
    assert not list((tmp_path / "out").rglob("*.array_record*"))

    lines = []
    builder = build(
        "vatex", manual_dir=vatex_folder, data_dir=tmp_path / "out", missing_features="skip", report=lines.append
    )
    assert [example["video_id"].decode() for example in read(builder, "train")] == ["-a_000001_000011"]
    assert set(builder.info.splits) == {"train", "validation", "public_test"}
    splits = sources_of(builder)["splits"]
    assert splits["train"]["skipped_ids"] == ["_b_000000_000010", "c_000002_000012"]
    assert (splits["train"]["videos"], splits["train"]["skipped"], splits["private_test"]["videos"]) == (1, 2, 0)
    assert any("private_test is left out" in line for line in lines)
    assert ["train", "1", "10", "10", "5", "2"] in [line.split() for line in lines]

    for path in vatex_folder.rglob("*.npy"):
        path.unlink()
    with pytest.raises(DataError, match="no video of any split has features"):
        build("vatex", manual_dir=vatex_folder, data_dir=tmp_path / "b", missing_features="skip", report=quiet)


def damage_values(folder: pathlib.Path) -> None:
    array = np.full((1, 4, 1024), np.nan, np.float32)
    np.save(folder / "trainval" / "d_000003_000013.npy", array)


def damage_shape(folder: pathlib.Path) -> None:
    np.save(folder / "trainval" / "c_000002_000012.npy", np.zeros((1, 4, 2048), np.float32))


def damage_captions(folder: pathlib.Path) -> None:
    path = folder / "vatex_validation_v1.0.json"
    path.write_bytes(path.read_bytes()[:-20])


def damage_caption(folder: pathlib.Path) -> None:
    path = folder / "vatex_public_test_english_v1.1.json"
    path.write_text(json.dumps([{"videoID": "e_000004_000014", "enCap": ["fine", " "]}]))


def damage_labels(folder: pathlib.Path) -> None:
    with (folder / "kinetics_train.csv").open("a") as file:
        file.write("walking,-a,1,11,train\n")


def damage_ids(folder: pathlib.Path) -> None:
    path = folder / "vatex_validation_v1.0.json"
    path.write_text(json.dumps([{"videoID": "c_000002_000012", "chCap": ["狗"]}]))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (damage_values, ["d_000003_000013.npy", "segment 0, channel 0", "nan"]),
        (damage_shape, ["c_000002_000012.npy", "(1, 4, 2048)"]),
        (damage_captions, ["vatex_validation_v1.0.json", "ends in the middle"]),
        (damage_caption, ["record 1", "e_000004_000014", "enCap", "caption 2 of 2"]),
        (damage_labels, ["kinetics_train.csv", "line 5", "-a_000001_000011"]),
        (damage_ids, ["record 1", "c_000002_000012", "vatex_training_v1.0.json"]),
    ],
)
@pytest.mark.parametrize("through_tfds", [False, True])
def test_one_bad_record_leaves_no_data_set(damage, words, through_tfds, vatex_folder, tmp_path):
    damage(vatex_folder)
    prepare = prepare_with_tfds if through_tfds else build_quietly
    with pytest.raises(DataError) as caught:
        prepare(tmp_path / "out", vatex_folder)
    for word in words:
        assert word in str(caught.value)
    left = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {path.name for path in left} <= {"metadata.json"}


def build_quietly(data_dir: pathlib.Path, folder: pathlib.Path) -> tfds.core.DatasetBuilder:
    return build("vatex", manual_dir=folder, data_dir=data_dir, report=quiet)


def prepare_with_tfds(data_dir: pathlib.Path, folder: pathlib.Path, **options: object) -> Builder:
    builder = Builder(data_dir=data_dir, **options)
    config = tfds.download.DownloadConfig(manual_dir=folder, try_download_gcs=False)
    builder.download_and_prepare(download_config=config)
    return builder


def test_tfds_own_way_works_too(vatex_folder, tmp_path):
    (vatex_folder / "trainval" / "c_000002_000012.npy").unlink()
    builder = prepare_with_tfds(tmp_path, vatex_folder, missing_features="skip", stand_in=True)
    assert len(read(builder, "train")) == 2
    assert sources_of(builder)["stand_in"] is True
    again = pickle.loads(pickle.dumps(builder))
    assert len(read(again, "train")) == 2
    with pytest.raises(DataError, match="missing or empty"):
        prepare_with_tfds(tmp_path / "b", tmp_path / "absent")


def test_dummy_data_builds(tmp_path):
    builder = build("vatex", manual_dir=DUMMY_DATA, data_dir=tmp_path, report=quiet)
    for split in ("train", "validation", "public_test", "private_test"):
        assert len(read(builder, split)) >= 1
    assert any(example["label"] >= 0 for example in read(builder, "train"))


def test_shards_are_cut_by_size_in_order():
    sizes = [4, 6, 1, 30, 9, 1, 1]
    shards = [[sizes[i] for i in shard] for shard in cut_shards(sizes, 10)]
    assert shards == [[4, 6], [1], [30], [9, 1], [1]]
    assert cut_shards([4], 10) == [range(1)]


def test_many_shards_keep_the_order(vatex_folder, tmp_path, monkeypatch, expected_features):
    monkeypatch.setattr(vatex_dataset_builder, "SHARD_BYTES", 1)
    builder = build("vatex", manual_dir=vatex_folder, data_dir=tmp_path / "out", report=quiet)
    assert builder.info.splits["train"].num_shards == 3
    train = read(builder, "train")
    assert [example["features"].shape[0] for example in train] == [1, 2, 3]
    np.testing.assert_array_equal(train[2]["features"], expected_features("c")[0])


@pytest.mark.real
def test_builds_real_captions(tmp_path, real_data):
    manual_dir = real_data / "flickr8kcn_as_vatex"
    builder = build("vatex/none", manual_dir=manual_dir, data_dir=tmp_path, report=quiet)
    splits = sources_of(builder)["splits"]
    assert {name: split["pairs"] for name, split in splits.items()} == {
        "train": 30_000,
        "validation": 5_000,
        "public_test": 5_000,
    }
    source = builder.as_data_source(split="validation")
    with (manual_dir / "vatex_validation_v1.0.json").open(encoding="utf-8") as file:
        records = json.load(file)
    for i in (0, 500, 999):
        assert [text.decode() for text in source[i]["zh"]] == records[i]["chCap"]
        assert [text.decode() for text in source[i]["en"]] == records[i]["enCap"]
