"""The `visdial` builder: what the records hold, what is refused, and that nothing is written by halves."""

import json
import pathlib
import pickle
import shutil
import zipfile

import numpy as np
import pytest
import tensorflow_datasets as tfds

from tfds_builders.build import build, main
from tfds_builders.visdial import visdial_dataset_builder
from tfds_builders.visdial.visdial_dataset_builder import Builder
from vatex_jax.data.json_files import git_blob_sha1
from vatex_jax.errors import ConfigError, DataError

DUMMY_DATA = pathlib.Path(visdial_dataset_builder.__file__).parent / "dummy_data"
TRAIN, VAL, TEST = (f"visdial_1.0_{word}.json" for word in ("train", "val", "test"))
TRAIN_DENSE, VAL_DENSE = "visdial_1.0_train_dense_sample.json", "visdial_1.0_val_dense_annotations.json"


def quiet(_line: str) -> None:
    pass


def read(builder: tfds.core.DatasetBuilder, split: str) -> list[dict]:
    source = builder.as_data_source(split=split)
    return [source[i] for i in range(len(source))]


def sidecar(builder: tfds.core.DatasetBuilder, name: str = "sources.json") -> object:
    return json.loads(pathlib.Path(builder.data_dir, name).read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path) -> pathlib.Path:
    """A folder of one's own with the dummy data: 3, 2 and 2 dialogues."""
    return pathlib.Path(shutil.copytree(DUMMY_DATA, tmp_path / "visdial files"))


def load(folder: pathlib.Path, name: str) -> object:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def edit(name: str, change) -> object:
    """Changes the parsed content of a file in place."""

    def apply(folder: pathlib.Path) -> None:
        content = load(folder, name)
        change(content)
        (folder / name).write_text(json.dumps(content), encoding="utf-8")

    return apply


def check_record(record: dict, dialogue: dict, data: dict, answers: list[str]) -> None:
    """Holds a record against what its file says, string by string."""
    rounds = dialogue["dialog"]
    assert (record["image_id"], record["caption"].decode()) == (dialogue["image_id"], dialogue["caption"])
    assert record["rounds"] == len(rounds) == len(record["questions"]) == len(record["answers"])
    assert (record["options"][len(rounds) :] == -1).all()
    assert (record["gt_index"][len(rounds) :] == -1).all()
    for number, turn in enumerate(rounds):
        answer = data["answers"][turn["answer"]] if "answer" in turn else ""
        assert record["questions"][number].decode() == data["questions"][turn["question"]]
        assert record["answers"][number].decode() == answer
        assert record["gt_index"][number] == turn.get("gt_index", -1)
        if "answer_options" in turn:
            texts = [answers[option] for option in record["options"][number]]
            assert texts == [data["answers"][option] for option in turn["answer_options"]]
        else:
            assert (record["options"][number] == -1).all()


def test_records_hold_the_files_contents(folder, tmp_path):
    builder = build("visdial", manual_dir=folder, data_dir=tmp_path / "out", report=quiet)
    answers = sidecar(builder, "answers.json")
    assert len(set(answers)) == len(answers) == 128
    assert answers == load(folder, TRAIN)["data"]["answers"]  # the other files have the same in another order
    assert answers != load(folder, VAL)["data"]["answers"]
    for split, name in (("train", TRAIN), ("validation", VAL), ("test", TEST)):
        data = load(folder, name)["data"]
        records = read(builder, split)
        assert len(records) == len(data["dialogs"])
        for record, dialogue in zip(records, data["dialogs"], strict=True):
            check_record(record, dialogue, data, answers)
            assert record["image"].shape == (0,)
            assert {record[field].dtype.name for field in ("options", "gt_index")} == {"int32"}
            assert {record[field].dtype.name for field in ("relevance", "image")} == {"float32"}
    assert [record["rounds"] for record in read(builder, "train")] == [10, 1, 3]


def test_relevances_are_at_the_round_they_were_given_for(folder, tmp_path):
    lines = []
    builder = build("visdial", manual_dir=folder, data_dir=tmp_path / "out", report=lines.append)
    first, _, third = read(builder, "train")
    assert (first["relevance_round"], first["relevance"].nonzero()[0].tolist()) == (9, [3])
    assert (third["relevance_round"], third["relevance"].any()) == (-1, False)  # its relevances were all zero
    second = read(builder, "validation")[1]
    assert second["relevance_round"] == 1
    assert second["relevance"][[0, 7, 99]].tolist() == np.float32([1.0, 0.4, 0.2]).tolist()
    assert [record["relevance_round"] for record in read(builder, "test")] == [-1, -1]
    assert "visdial_1.0_train_dense_sample.json: 1 annotations are dropped, in which no option is relevant" in lines


def test_sources_and_the_report_count_what_was_built(folder, tmp_path):
    lines = []
    builder = build("visdial", manual_dir=folder, data_dir=tmp_path / "out", report=lines.append)
    sources = sidecar(builder)
    assert (sources["name"], sources["config"], sources["answers"]) == ("visdial", "v1.0", 128)
    assert (sources["stand_in"], sources["image_features"]) == (False, None)
    assert sources["splits"]["train"] == {
        "file": TRAIN,
        "sha1": git_blob_sha1((folder / TRAIN).read_bytes()),
        "dialogues": 3,
        "questions": 14,
        "dense_file": TRAIN_DENSE,
        "dense_sha1": git_blob_sha1((folder / TRAIN_DENSE).read_bytes()),
        "dense": 1,
        "dropped": 1,
        "skipped": 0,
        "skipped_ids": [],
    }
    words = [line.split() for line in lines]
    assert ["split", "dialogues", "questions", "dense", "dropped", "skipped"] in words
    assert ["train", "3", "14", "1", "1", "0"] in words
    assert ["test", "2", "5", "0", "0", "0"] in words


def test_the_versions_are_data_sets_of_their_own(folder, tmp_path):
    old = build("visdial/v0.9", manual_dir=folder, data_dir=tmp_path / "out", report=quiet)
    build("visdial/v1.0", manual_dir=folder, data_dir=tmp_path / "out", report=quiet)
    assert set(old.info.splits) == {"train", "validation"}
    (record,) = read(old, "validation")  # an image that version 1.0 has in its training split
    data = load(folder, "visdial_0.9_val.json")["data"]
    check_record(record, data["dialogs"][0], data, sidecar(old, "answers.json"))
    assert record["image_id"] == 12
    assert record["relevance_round"] == -1
    with pytest.raises(ConfigError, match=r"'v2'.*v1\.0 and v0\.9"):
        build("visdial/v2", data_dir=tmp_path)


def test_a_split_is_there_only_if_its_file_is(folder, tmp_path):
    (folder / TRAIN).unlink()
    (folder / TEST).rename(folder / "visdial_1.0_tset.json")
    lines = []
    builder = build("visdial", manual_dir=folder, data_dir=tmp_path / "out", report=lines.append)
    assert set(builder.info.splits) == {"validation"}
    assert f"{TRAIN_DENSE}: not used, since there are no dialogues of the split train" in lines
    assert "visdial_1.0_tset.json: not read" in lines
    assert sidecar(builder, "answers.json") == load(folder, VAL)["data"]["answers"]


def test_splits_share_the_answers_they_have_in_common(folder, tmp_path):
    def rename(content: dict) -> None:
        content["data"]["answers"][5] = "only here"

    edit(VAL, rename)(folder)
    builder = build("visdial", manual_dir=folder, data_dir=tmp_path / "out", report=quiet)
    answers = sidecar(builder, "answers.json")
    assert answers[128:] == ["only here"]
    data = load(folder, VAL)["data"]
    check_record(read(builder, "validation")[0], data["dialogs"][0], data, answers)


def test_zipped_files_make_the_same_data_set(folder, tmp_path):
    build("visdial", manual_dir=folder, data_dir=tmp_path / "out", report=quiet)
    for name in (TRAIN, VAL_DENSE):
        with zipfile.ZipFile(folder / f"{name.removesuffix('.json')}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(folder / name, name)
        (folder / name).unlink()
    lines = []
    build("visdial", manual_dir=folder, data_dir=tmp_path / "out", report=lines.append)
    assert len(lines) == 1
    assert lines[0].startswith("visdial/v1.0 is built already, from these files:")


def test_image_features_go_with_their_dialogues(folder, tmp_path):
    images = folder / "image_features"
    lines = []
    builder = build(
        "visdial", manual_dir=folder, data_dir=tmp_path / "out", image_features=[images], report=lines.append
    )
    for split in ("train", "validation", "test"):
        for record in read(builder, split):
            expected = np.load(images / f"{record['image_id']}.npy")
            np.testing.assert_array_equal(record["image"], expected)
    assert sidecar(builder)["image_features"]["size"] == 4
    assert sidecar(builder)["stand_in"] is False
    assert not any("mean" in line for line in lines)


def test_regions_are_averaged_and_that_is_said(folder, tmp_path):
    ids = [11, 12, 13, 21, 22, 31, 32]
    regions = np.arange(7 * 2 * 3, dtype=np.float32).reshape(7, 2, 3)
    np.savez(folder / "a.npz", image_ids=np.array(ids[:3]), features=regions[:3])
    np.savez(folder / "b.npz", image_ids=np.array(ids[3:]), features=regions[3:])
    lines = []
    command = {"manual_dir": folder, "data_dir": tmp_path / "out", "report": lines.append}
    builder = build("visdial", image_features=[folder / "a.npz", folder / "b.npz"], **command)
    assert read(builder, "validation")[1]["image"].tolist() == [25.5, 26.5, 27.5]  # of [24, 25, 26] and [27, 28, 29]
    assert any("mean" in line for line in lines)


def test_missing_image_features_are_named_or_skipped(folder, tmp_path):
    images = folder / "image_features"
    for image_id in (11, 31, 32):
        (images / f"{image_id}.npy").unlink()
    command = {"manual_dir": folder, "data_dir": tmp_path / "out", "image_features": [images]}
    with pytest.raises(DataError) as caught:
        build("visdial", report=quiet, **command)
    for words in ("train: 1 of 3 images have no features (11)", "test: 2 of 2", "--missing_features=skip"):
        assert words in str(caught.value)
    assert not list((tmp_path / "out").rglob("*.array_record*"))
    lines = []
    builder = build("visdial", missing_features="skip", report=lines.append, **command)
    assert [record["image_id"] for record in read(builder, "train")] == [12, 13]
    assert set(builder.info.splits) == {"train", "validation"}
    splits = sidecar(builder)["splits"]
    assert splits["train"]["skipped_ids"] == [11]
    assert [splits["train"][key] for key in ("dialogues", "questions", "dense", "skipped")] == [2, 4, 0, 1]
    assert splits["test"]["dialogues"] == 0
    assert any("test is left out" in line for line in lines)
    shutil.rmtree(images)
    images.mkdir()
    np.save(images / "99.npy", np.zeros(4, np.float32))
    with pytest.raises(DataError, match="No image of any split"):
        build("visdial", missing_features="skip", report=quiet, **command)


def test_stand_in_features_are_marked_by_file_or_option(folder, tmp_path):
    images = folder / "image_features"
    lines = []
    command = {"manual_dir": folder, "image_features": [images]}
    builder = build("visdial", data_dir=tmp_path / "a", stand_in=True, report=lines.append, **command)
    assert sidecar(builder)["stand_in"] is True
    assert any("stand-ins" in line for line in lines)
    (images / "STAND_IN_FEATURES").touch()
    builder = build("visdial", data_dir=tmp_path / "b", report=quiet, **command)
    assert sidecar(builder)["stand_in"] is True
    for option in ({"stand_in": True}, {"missing_features": "skip"}):
        with pytest.raises(ConfigError, match="stand_in"):
            build("visdial", manual_dir=folder, data_dir=tmp_path / "c", report=quiet, **option)
    with pytest.raises(ConfigError, match="manual_dir"):
        build("visdial", image_features=[images], data_dir=tmp_path / "c", report=quiet)
    for name in ("vatex", "vatex_sim/tiny"):
        with pytest.raises(ConfigError, match="image_features"):
            build(name, image_features=[images], data_dir=tmp_path / "c", report=quiet)


def test_a_data_set_from_other_files_is_refused_with_what_differs(folder, tmp_path, capsys):
    out = f"--data_dir={tmp_path / 'out'}"
    manual, images = f"--manual_dir={folder}", f"--image_features={folder / 'image_features'}"
    assert main(["visdial", manual, images, out]) == 0
    assert main(["visdial", manual, images, out]) == 0
    assert "from these files" in capsys.readouterr().out
    assert main(["visdial", manual, out]) == 2
    assert "image features: built with, now without" in capsys.readouterr().err
    np.save(folder / "image_features" / "21.npy", np.ones(4, np.float32))
    edit(VAL, lambda content: content["data"]["dialogs"].pop(0))(folder)
    (folder / TRAIN_DENSE).unlink()
    (folder / "STAND_IN_FEATURES").touch()
    assert main(["visdial", manual, images, out]) == 2
    error = capsys.readouterr().err
    for difference in (
        "dialogues of validation: built from visdial_1.0_val.json",
        f"annotations of train: built from {TRAIN_DENSE}",
        "now none",
        "image features: built with, now others",
        "stand_in: built as False, now True",
        "--overwrite",
    ):
        assert difference in error
    assert "annotations of validation" not in error
    assert main(["visdial", manual, images, out, "--overwrite"]) == 0
    assert main(["visdial", manual, images, out]) == 0


def test_a_command_names_several_files_of_features(folder, tmp_path):
    other = folder / "others"
    other.mkdir()
    (folder / "image_features" / "12.npy").rename(other / "12.npy")
    arguments = [f"--image_features={path}" for path in (folder / "image_features", other)]
    assert main(["visdial", f"--manual_dir={folder}", f"--data_dir={tmp_path}", *arguments]) == 0
    builder = build("visdial", data_dir=tmp_path, report=quiet)
    assert [record["image"].shape for record in read(builder, "train")] == [(4,)] * 3


def cut_train(folder: pathlib.Path) -> None:
    (folder / TRAIN).write_bytes((folder / TRAIN).read_bytes()[:-20])


def spoil_image(folder: pathlib.Path) -> None:
    np.save(folder / "image_features" / "32.npy", np.array([1, np.inf, 3, 4], np.float32))


def resize_image(folder: pathlib.Path) -> None:
    np.save(folder / "image_features" / "32.npy", np.ones(5, np.float32))


def strange_zip(folder: pathlib.Path) -> None:
    (folder / VAL).unlink()
    with zipfile.ZipFile(folder / "visdial_1.0_val.zip", "w") as archive:
        archive.writestr("../../visdial_1.0_val.json", "{}")


DAMAGES = {
    "cut": (cut_train, ["ends in the middle"]),
    "answer": (
        edit(TRAIN, lambda content: content["data"]["dialogs"][0]["dialog"][4].update(answer=999)),
        ["record 1 (image_id 11), round 5, field answer: is 999"],
    ),
    "leak": (
        edit(TEST, lambda content: content["data"]["dialogs"][1].update(image_id=12)),
        ["record 2 (image_id 12), field image_id", TRAIN],
    ),
    "dense": (
        edit(VAL_DENSE, lambda content: content[0].update(round_id=3)),
        ["record 1 (image_id 22), field round_id: is 3"],
    ),
    "zip": (strange_zip, ["visdial_1.0_val.zip", "../../visdial"]),
    "values": (spoil_image, ["image 32: feature 1 is not finite"]),
    "size": (resize_image, ["image 32: has 5 features, and others have 4"]),
}


def prepare_with_tfds(data_dir: pathlib.Path, folder: pathlib.Path, **options: object) -> Builder:
    builder = Builder(data_dir=data_dir, **options)
    builder.download_and_prepare(
        download_config=tfds.download.DownloadConfig(manual_dir=folder, try_download_gcs=False)
    )
    return builder


def build_quietly(data_dir: pathlib.Path, folder: pathlib.Path, **options: object) -> tfds.core.DatasetBuilder:
    return build("visdial", manual_dir=folder, data_dir=data_dir, report=quiet, **options)


@pytest.mark.parametrize("case", DAMAGES)
@pytest.mark.parametrize("through_tfds", [False, True])
def test_one_bad_record_leaves_no_data_set(case, through_tfds, folder, tmp_path):
    damage, words = DAMAGES[case]
    damage(folder)
    out = tmp_path / "out"
    prepare = prepare_with_tfds if through_tfds else build_quietly
    with pytest.raises(DataError) as caught:
        prepare(out, folder, image_features=[folder / "image_features"])
    for word in words:
        assert word in str(caught.value)
    left = {path.name for path in out.rglob("*") if path.is_file()}
    assert left <= ({"metadata.json"} if through_tfds else set())


def test_tfds_own_way_works_too(folder, tmp_path):
    (folder / "image_features" / "11.npy").unlink()
    options = {"image_features": [str(folder / "image_features")], "missing_features": "skip", "stand_in": True}
    builder = prepare_with_tfds(tmp_path, folder, **options)
    assert len(read(builder, "train")) == 2
    assert sidecar(builder)["stand_in"] is True
    assert len(read(pickle.loads(pickle.dumps(builder)), "train")) == 2
    with pytest.raises(DataError, match="missing or empty"):
        prepare_with_tfds(tmp_path / "b", tmp_path / "absent")


def test_many_shards_keep_the_order(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(visdial_dataset_builder, "SHARD_BYTES", 1)
    builder = build("visdial", manual_dir=folder, data_dir=tmp_path / "out", report=quiet)
    assert builder.info.splits["train"].num_shards == 3
    assert [record["image_id"] for record in read(builder, "train")] == [11, 12, 13]


@pytest.mark.real
def test_builds_the_real_files(tmp_path, real_data):
    manual_dir = real_data / "visdial"
    builder = build("visdial", manual_dir=manual_dir, data_dir=tmp_path, report=quiet)
    splits = sidecar(builder)["splits"]
    assert {name: (split["dialogues"], split["dense"]) for name, split in splits.items()} == {
        "train": (1900, 49),
        "validation": (96, 48),
        "test": (50, 0),
    }
    assert (splits["train"]["questions"], splits["train"]["dropped"]) == (19_000, 0)
    answers = sidecar(builder, "answers.json")
    assert len(set(answers)) == len(answers)
    for split, name in (("train", TRAIN), ("validation", VAL), ("test", TEST)):
        data = load(manual_dir, name)["data"]
        source = builder.as_data_source(split=split)
        for i in (0, 17, len(source) - 1):
            check_record(source[i], data["dialogs"][i], data, answers)
        found = [source[i] for i in range(len(source)) if source[i]["relevance_round"] >= 0]
        assert len(found) == splits[split]["dense"]
