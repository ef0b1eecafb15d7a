"""The caption reader: what it reads, and that every fault is named."""

import hashlib
import json
import os
import pathlib
import subprocess

import pytest

from vatex_jax.data import captions
from vatex_jax.data.captions import CaptionedVideo, CaptionFile, parse_captions
from vatex_jax.data.json_files import git_blob_sha1
from vatex_jax.errors import DataError


def encode(*records: object) -> bytes:
    return json.dumps(list(records), ensure_ascii=False).encode()


GOOD = {"videoID": "v_000001_000011", "enCap": ["A dog runs ."], "chCap": ["一只狗在跑。"]}


def test_reads_captions_verbatim_and_in_order():
    data = encode(
        {"videoID": "-a_000001_000011", "enCap": [" Two  dogs 🐶\n", "x"], "chCap": ["两只狗🐶。", "狗", "犬"]},
        {"videoID": "_b_000000_000010", "enCap": ["only English"]},
        {"videoID": "视频", "chCap": []},
        {"videoID": "a..b"},
    )
    assert parse_captions(data, "f") == [
        CaptionedVideo("-a_000001_000011", (" Two  dogs 🐶\n", "x"), ("两只狗🐶。", "狗", "犬")),
        CaptionedVideo("_b_000000_000010", ("only English",), ()),
        CaptionedVideo("视频", (), ()),
        CaptionedVideo("a..b", (), ()),
    ]


def test_byte_order_mark_is_no_fault():
    assert parse_captions(b"\xef\xbb\xbf" + encode(GOOD), "f") == parse_captions(encode(GOOD), "f")


@pytest.mark.parametrize(
    ("en", "zh", "pairs"), [(10, 10, 5), (5, 10, 5), (3, 10, 3), (10, 2, 2), (10, 0, 0), (0, 0, 0)]
)
def test_pairs_are_the_last_five_or_fewer(en, zh, pairs):
    assert CaptionedVideo("v", ("e",) * en, ("中",) * zh).pairs == pairs


DAMAGED = {
    "empty file": (b"", ["is empty"]),
    "blank file": (b" \n", ["is empty"]),
    "truncated": (encode(GOOD)[:40], ["line 1", "ends in the middle"]),
    "truncated in a word": (encode(GOOD)[:-2], ["ends in the middle"]),
    "syntax": (b'[{"videoID": "a",, "enCap": []}]', ["line 1, column 18"]),
    "not utf-8": (encode(GOOD).replace(b"dog", b"d\xffg"), ["0xff", "offset 46", "UTF-8"]),
    "not utf-8 after a mark": (b"\xef\xbb\xbf[\xff]", ["0xff", "offset 4"]),
    "cut in a character": ('["狗'.encode()[:-1], ["offset 2"]),
    "utf-16": (encode(GOOD).decode().encode("utf-16"), ["UTF-16"]),
    "object": (b'{"videoID": "a"}', ["an object", "not a list"]),
    "null": (b"null", ["null", "not a list"]),
    "no records": (b"[]", ["empty"]),
    "deep": (b"[" * 100_000, ["nested too deeply"]),
    "huge number": (b"[" + b"9" * 5000 + b"]", ["not JSON of captions"]),
    "text record": (encode(GOOD, "v"), ["record 2", "text"]),
    "list record": (encode([GOOD]), ["record 1", "a list"]),
    "no id": (encode({"enCap": ["a"]}), ["record 1", "videoID"]),
    "misnamed field": (encode({"videoID": "a", "encap": ["a"]}), ["record 1", "'a'", "'encap'"]),
    "field twice": (b'[{"videoID": "a", "enCap": [], "enCap": ["x"]}]', ["'enCap' twice"]),
    "number id": (encode({"videoID": 7}), ["record 1", "videoID", "a number"]),
    "empty id": (encode({"videoID": ""}), ["videoID", "is empty"]),
    "blank id": (encode({"videoID": " "}), ["videoID", "is empty"]),
    "folder id": (encode({"videoID": ".."}), ["'..'"]),
    "id with a slash": (encode({"videoID": "../etc"}), ["../etc", "path separator"]),
    "id with a backslash": (encode({"videoID": "a\\b"}), ["path separator"]),
    "id with NUL": (b'[{"videoID": "a\\u0000b"}]', ["control character"]),
    "id with a line end": (encode({"videoID": "a\nb"}), ["control character"]),
    "id with half a pair": (b'[{"videoID": "a\\ud800"}]', ["surrogate"]),
    "long id": (encode({"videoID": "狗" * 84}), ["longer than 251 bytes"]),
    "id twice": (encode(GOOD, {"videoID": "b"}, GOOD), ["record 3", "v_000001_000011", "record 1"]),
    "null captions": (encode({**GOOD, "chCap": None}), ["record 1", "v_000001_000011", "chCap", "null"]),
    "text captions": (encode({**GOOD, "enCap": "A dog"}), ["enCap", "text", "not a list"]),
    "number caption": (encode({**GOOD, "enCap": ["a", 3]}), ["enCap", "caption 2 of 2", "a number"]),
    "empty caption": (encode({**GOOD, "chCap": ["狗", ""]}), ["chCap", "caption 2 of 2", "empty"]),
    "blank caption": (encode({**GOOD, "chCap": ["\u3000\t"]}), ["chCap", "caption 1 of 1", "empty"]),
    "invisible caption": (encode({**GOOD, "enCap": ["\u200b\ufeff"]}), ["enCap", "empty"]),
    "NUL in a caption": (b'[{"videoID": "a", "enCap": ["x\\u0000"]}]', ["enCap", "caption 1", r"\x00"]),
    "half a pair in a caption": (b'[{"videoID": "a", "enCap": ["x\\udc00"]}]', ["enCap", "caption 1", r"\udc00"]),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_every_fault_names_file_record_and_field(case):
    data, words = DAMAGED[case]
    with pytest.raises(DataError) as caught:
        parse_captions(data, "folder/vatex_training.json")
    message = str(caught.value)
    assert message.startswith("folder/vatex_training.json")
    for word in words:
        assert word in message, message


def test_longest_id_leaves_room_for_the_feature_files_ending(tmp_path):
    longest = "x" * 251
    assert parse_captions(encode({"videoID": longest}), "f")[0].video_id == longest
    (tmp_path / f"{longest}.npy").touch()


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("vatex_training_v1.0.json", "train"),
        ("vatex_validation_v1.0.json", "validation"),
        ("vatex_public_test_english_v1.1.json", "public_test"),
        ("vatex_public_test_v1.1.json", "public_test"),
        ("vatex_private_test_without_annotations.json", "private_test"),
        ("vatex_training.json", "train"),
        ("vatex_test.json", None),
        ("vatex_training_v1.0.json.bak", None),
        ("my_vatex_training.json", None),
    ],
)
def test_the_name_says_the_split(name, split):
    assert captions.split_of(name) == split


def test_finds_files_in_the_order_of_the_splits(tmp_path):
    for name in ("vatex_private_test.json", "vatex_validation.json", "notes.json", "vatex_training.json", "vatex.txt"):
        (tmp_path / name).touch()
    found = captions.find_caption_files(tmp_path)
    assert [(split, path.name) for split, path in found.items()] == [
        ("train", "vatex_training.json"),
        ("validation", "vatex_validation.json"),
        ("private_test", "vatex_private_test.json"),
    ]


def test_unknown_doubled_and_missing_files_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"no caption file.*vatex_training\*\.json"):
        captions.find_caption_files(tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        captions.find_caption_files(tmp_path / "absent")
    (tmp_path / "vatex_public_test_v1.1.json").touch()
    with pytest.raises(DataError, match="not a folder"):
        captions.find_caption_files(tmp_path / "vatex_public_test_v1.1.json")
    (tmp_path / "vatex_public_test_english_v1.1.json").touch()
    with pytest.raises(DataError, match=r"english_v1\.1\.json and vatex_public_test_v1\.1\.json are both"):
        captions.find_caption_files(tmp_path)
    (tmp_path / "vatex_dev.json").touch()
    with pytest.raises(DataError, match=r"vatex_dev\.json.*vatex_validation\*\.json"):
        captions.find_caption_files(tmp_path)


def test_folders_pipes_and_dead_links_are_no_caption_files(tmp_path):
    (tmp_path / "vatex_training.json").mkdir()
    os.mkfifo(tmp_path / "vatex_validation.json")
    (tmp_path / "vatex_public_test.json").symlink_to("nowhere")
    for path in captions.find_caption_files(tmp_path).values():
        with pytest.raises(DataError, match="not a regular file"):
            captions.read_captions(path)


def test_hash_is_gits_and_official_files_are_known_by_it(tmp_path, monkeypatch):
    assert git_blob_sha1(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # git's well-known empty blob
    path = tmp_path / "vatex_training_v1.0.json"
    path.write_bytes(encode(GOOD))
    content = path.read_bytes()
    by_hand = hashlib.sha1(b"blob " + str(len(content)).encode() + b"\0" + content).hexdigest()
    file = captions.read_captions(path)
    assert (file.sha1, file.official, file.split) == (by_hand, False, "train")
    git = subprocess.run(["git", "hash-object", str(path)], capture_output=True, text=True, check=False)
    if git.returncode == 0:
        assert git.stdout.strip() == by_hand
    monkeypatch.setattr(captions, "OFFICIAL_BLOBS", {by_hand: "train"})
    assert captions.read_captions(path).official
    monkeypatch.setattr(captions, "OFFICIAL_BLOBS", {by_hand: "validation"})
    assert not captions.read_captions(path).official


def make_file(split: str, official: bool, *videos: CaptionedVideo) -> CaptionFile:
    return CaptionFile(pathlib.Path(f"vatex_{split}.json"), split, "", official, videos)


def test_captioned_video_in_two_splits_is_refused_unless_nobody_can_mend_it():
    video, bare = CaptionedVideo("v", ("a dog",), ()), CaptionedVideo("v", (), ())
    train = make_file("train", False, video)
    with pytest.raises(DataError, match=r"vatex_validation\.json, record 2 \(videoID 'v'\).*vatex_train\.json"):
        captions.check_splits(
            {"train": train, "validation": make_file("validation", False, CaptionedVideo("w", (), ()), video)}
        )
    remarks = captions.check_splits({"train": train, "private_test": make_file("private_test", False, bare)})
    assert remarks == ["1 videos are in both train and private_test"]
    both_official = {"train": make_file("train", True, video), "validation": make_file("validation", True, video)}
    assert len(captions.check_splits(both_official)) == 1
    assert captions.check_splits({"train": train}) == []
