"""The readers of VisDial's files: what they read, that every fault is named, and how much memory they take."""

import copy
import json
import pathlib
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from vatex_jax.data import visdial_folder, zip_files
from vatex_jax.data.json_files import git_blob_sha1
from vatex_jax.data.visdial_dense import parse_dense, read_dense
from vatex_jax.data.visdial_files import check_splits, parse_dialogues, read_dialogues
from vatex_jax.errors import DataError

TRAIN = "visdial_1.0_train.json"
ANSWERS = ["", "是的", "🐶 yes", "no", *(f"answer {i}" for i in range(4, 102))]
QUESTIONS = ["is it sunny", "", "有猫吗"]


def turn(question: int = 0, gt: int = 3, first: int = 0) -> dict:
    """A round whose options are the answers from number `first` on."""
    options = [(first + i) % 102 for i in range(100)]
    return {"question": question, "answer": options[gt], "answer_options": options, "gt_index": gt}


def hidden(rounds: list[dict]) -> list[dict]:
    """The rounds as the test file has them."""
    return [{k: r[k] for k in ("question", "answer")} for r in rounds[:-1]] + [
        {k: rounds[-1][k] for k in ("question", "answer_options")}
    ]


def content(split: str = "train", version: str = "1.0", first_id: int = 7) -> dict:
    """Two dialogues, of one round and of two."""
    many = [turn(1, 0, 2), turn(2, 99, 50)]
    dialogs = [
        {"image_id": first_id, "caption": "a red bus 🚌", "dialog": [turn()]},
        {"image_id": first_id + 1, "caption": "", "dialog": many},
    ]
    if split == "test":
        for dialogue in dialogs:
            dialogue["dialog"] = hidden(dialogue["dialog"])
    word = {"train": "train", "validation": "val2018", "test": "test2018"}[split]
    data = {"questions": QUESTIONS, "answers": ANSWERS, "dialogs": dialogs}
    return copy.deepcopy({"version": version, "split": word, "data": data})


def parse(made: object, split: str = "train", version: str = "1.0"):
    text = made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)
    return parse_dialogues(text, pathlib.Path("folder", TRAIN), version, split)


def test_rounds_become_columns():
    file = parse(content())
    assert file.image_id.tolist() == [7, 8]
    assert file.rounds.tolist() == [1, 2]
    assert file.captions == ("a red bus 🚌", "")
    assert file.question_table == tuple(QUESTIONS)
    assert file.answer_table == tuple(ANSWERS)
    assert file.questions.tolist() == [[0] + [-1] * 9, [1, 2] + [-1] * 8]
    assert file.answers.tolist() == [[3] + [-1] * 9, [2, 47] + [-1] * 8]  # (50 + 99) % 102 = 47
    assert file.gt_index.tolist() == [[3] + [-1] * 9, [0, 99] + [-1] * 8]
    assert file.options.shape == (2, 10, 100)
    assert file.options[0, 0].tolist() == list(range(100))
    assert file.options[1, 1].tolist() == [*range(50, 102), *range(48)]
    assert (file.options[0, 1:] == -1).all()
    assert (file.options[1, 2:] == -1).all()


def test_the_last_round_of_the_test_file_hides_its_answer():
    file = parse(content("test"), "test")
    assert file.rounds.tolist() == [1, 2]
    assert file.answers[:, :2].tolist() == [[-1, -1], [2, -1]]
    assert (file.gt_index == -1).all()
    assert (file.options[:, :, 0] >= 0)[:, :3].tolist() == [[True, False, False], [False, True, False]]


def test_other_fields_and_their_order_do_not_matter():
    made = content()
    made["data"] = dict(reversed(made["data"].items()))
    made["data"]["dialogs"][0] = {"url": "x", **dict(reversed(made["data"]["dialogs"][0].items()))}
    del made["version"], made["split"]
    np.testing.assert_array_equal(parse(made).options, parse(content()).options)


def test_an_answer_that_is_in_the_table_twice_is_one():
    """Answers 3 and 4 read alike: the ground truth may be the one, and the option the other."""
    made = content()
    made["data"]["answers"][4] = "no"
    del made["data"]["dialogs"][1]
    first = made["data"]["dialogs"][0]["dialog"][0]
    first["answer_options"].remove(4)
    first["answer_options"].append(101)
    first["answer"] = 4
    file = parse(made)
    assert len(file.answer_table) == 101
    assert file.answer_table[3:5] == ("no", "answer 5")
    assert file.answers[0, 0] == 3
    assert file.options[0, 0].tolist() == [0, 1, 2, 3, *range(4, 99), 100]
    assert (file.options[0, 1:] == -1).all()
    first["answer_options"][99] = 4
    with pytest.raises(DataError, match=r"record 1 \(image_id 7\), round 1, field answer_options: 'no' is there twice"):
        parse(made)


def in_dialogue(**fields: object):
    return lambda made: made["data"]["dialogs"][1].update(fields)


def in_round(**fields: object):
    return lambda made: made["data"]["dialogs"][1]["dialog"][1].update(fields)


def in_data(**fields: object):
    return lambda made: made["data"].update(fields)


def without(field: str):
    return lambda made: made["data"]["dialogs"][1]["dialog"][1].pop(field)


def option(number: int, value: object):
    return lambda made: made["data"]["dialogs"][1]["dialog"][1]["answer_options"].__setitem__(number - 1, value)


SECOND = "record 2 (image_id 8)"
IN_ROUND = f"{SECOND}, round 2"
FAULTS = {
    "version": (lambda made: made.update(version="0.9"), ["field version", "'0.9'", "1.0"]),
    "split": (lambda made: made.update(split="val2018"), ["field split", "'val2018'", "train"]),
    "no data": (lambda made: made.pop("data"), ["an object", "version"]),
    "list as data": (lambda made: made.update(data=[]), ["an object"]),
    "no dialogs": (lambda made: made["data"].pop("dialogs"), ["field data", "no field dialogs"]),
    "empty dialogs": (in_data(dialogs=[]), ["data.dialogs", "an empty list"]),
    "object as answers": (in_data(answers={}), ["data.answers", "an object"]),
    "number in answers": (in_data(answers=[*ANSWERS[:5], 5]), ["data.answers, place 5", "a number"]),
    "surrogate in questions": (in_data(questions=["\ud83d"]), ["data.questions, place 0", r"\ud83d"]),
    "NUL in answers": (in_data(answers=["a", "b\0"]), ["data.answers, place 1", r"\x00"]),
    "null record": (lambda made: made["data"]["dialogs"].__setitem__(1, None), ["record 2", "null"]),
    "no image_id": (lambda made: made["data"]["dialogs"][1].pop("image_id"), ["record 2", "no field image_id"]),
    "no caption": (lambda made: made["data"]["dialogs"][1].pop("caption"), ["record 2", "no field caption"]),
    "no dialog": (lambda made: made["data"]["dialogs"][1].pop("dialog"), ["record 2", "no field dialog"]),
    "text image_id": (in_dialogue(image_id="8"), ["record 2, field image_id", "'8'"]),
    "true image_id": (in_dialogue(image_id=True), ["field image_id", "True"]),
    "negative image_id": (in_dialogue(image_id=-1), ["field image_id", "-1"]),
    "image_id beyond 63 bits": (in_dialogue(image_id=1 << 63), ["field image_id", "9223372036854775808"]),
    "fractional image_id": (in_dialogue(image_id=8.0), ["field image_id", "8.0"]),
    "image_id twice": (in_dialogue(image_id=7), ["record 2 (image_id 7)", "record 1"]),
    "number as caption": (in_dialogue(caption=3), [SECOND, "field caption", "a number"]),
    "no rounds": (in_dialogue(dialog=[]), [SECOND, "field dialog", "0 rounds"]),
    "eleven rounds": (in_dialogue(dialog=[turn()] * 11), [SECOND, "field dialog", "11 rounds"]),
    "object as rounds": (in_dialogue(dialog={}), [SECOND, "field dialog", "an object"]),
    "list as round": (in_dialogue(dialog=[turn(), []]), [IN_ROUND, "a list"]),
    "no question": (without("question"), [IN_ROUND, "no field question"]),
    "no answer": (without("answer"), [IN_ROUND, "gt_index", "answer"]),
    "no options": (without("answer_options"), [IN_ROUND, "gt_index", "answer_options"]),
    "no gt_index": (without("gt_index"), [IN_ROUND, "no field gt_index", "train"]),
    "true question": (in_round(question=True), [IN_ROUND, "field question", "True"]),
    "question beyond": (in_round(question=3), [IN_ROUND, "field question", "3 entries, 0 to 2"]),
    "negative question": (in_round(question=-1), [IN_ROUND, "field question", "-1"]),
    "answer beyond": (in_round(answer=102), [IN_ROUND, "field answer", "102 entries"]),
    "null answer": (in_round(answer=None), [IN_ROUND, "field answer", "None"]),
    "another answer": (in_round(answer=3), [IN_ROUND, "field gt_index", "'answer 47'", "'no'"]),
    "gt_index beyond": (in_round(gt_index=100), [IN_ROUND, "field gt_index", "0 to 99"]),
    "gt_index negative": (in_round(gt_index=-1), [IN_ROUND, "field gt_index"]),
    "gt_index off by one": (in_round(gt_index=98), [IN_ROUND, "field gt_index", "'answer 46'"]),
    "99 options": (lambda made: made["data"]["dialogs"][1]["dialog"][1]["answer_options"].pop(), [IN_ROUND, "has 99"]),
    "text as options": (in_round(answer_options="x" * 100), [IN_ROUND, "field answer_options", "text"]),
    "true option": (option(5, True), [IN_ROUND, "field answer_options", "option 5 of 100", "True"]),
    "fractional option": (option(5, 54.0), [IN_ROUND, "option 5 of 100", "54.0"]),
    "negative option": (option(100, -1), [IN_ROUND, "option 100 of 100", "-1"]),
    "huge option": (option(1, 1 << 40), [IN_ROUND, "option 1 of 100", "1099511627776"]),
    "list as option": (option(2, [[]]), [IN_ROUND, "option 2 of 100", "a list"]),
    "object as option": (option(2, {"dialog": 1}), [IN_ROUND, "option 2 of 100", "an object"]),
    "another answer at place 0": (
        lambda made: made["data"]["dialogs"][1]["dialog"][0].update(gt_index=0, answer=3),
        [f"{SECOND}, round 1, field gt_index", r"'\U0001f436 yes'", "'no'"],
    ),
    "answer 0 twice": (
        lambda made: made["data"]["dialogs"][0]["dialog"][0]["answer_options"].__setitem__(1, 0),
        ["record 1 (image_id 7), round 1, field answer_options", "'' is there twice"],
    ),
    "option beyond": (option(2, 102), [IN_ROUND, "field answer_options, option 2: is 102"]),
    "option twice": (option(2, 50), [IN_ROUND, "field answer_options", "'answer 50' is there twice"]),
}


@pytest.mark.parametrize("case", FAULTS)
def test_every_fault_names_file_record_round_and_field(case):
    change, words = FAULTS[case]
    made = content()
    change(made)
    with pytest.raises(DataError) as caught:
        parse(json.dumps(made))
    message = str(caught.value)
    assert message.startswith(f"folder/{TRAIN}")
    for word in words:
        assert word in message, message


@pytest.mark.parametrize(
    ("number", "field"), [(0, "answer"), (1, "answer_options")], ids=["an earlier round", "the last round"]
)
def test_what_the_test_file_must_have(number, field):
    made = content("test")
    del made["data"]["dialogs"][1]["dialog"][number][field]
    with pytest.raises(
        DataError, match=rf"record 2 \(image_id 8\), round {number + 1}: has no field {field}.*test file"
    ):
        parse(made, "test")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "is empty"),
        (json.dumps(content())[:-20], "ends in the middle"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "a list"),
        (json.dumps(content()).replace('"gt_index": 3', '"gt_index": 3, "gt_index": 3'), "'gt_index' twice"),
    ],
)
def test_what_is_no_such_json(text, word):
    with pytest.raises(DataError, match=word):
        parse(text)


def write_zip(path: pathlib.Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)


DATA = json.dumps(content()).encode()


@pytest.mark.parametrize("name", ["visdial_1.0_train.zip", "visdial_1.0_train.json.zip"])
def test_zipped_files_are_the_same_files(name, tmp_path):
    write_zip(tmp_path / name, (TRAIN, DATA))
    found = visdial_folder.find_dialogue_files(tmp_path, "1.0")
    assert found == {"train": tmp_path / name}
    zipped = read_dialogues(found["train"], "1.0", "train")
    (tmp_path / TRAIN).write_bytes(DATA)
    found = visdial_folder.find_dialogue_files(tmp_path, "1.0")
    assert found == {"train": tmp_path / TRAIN}
    plain = read_dialogues(found["train"], "1.0", "train")
    assert zipped.sha1 == plain.sha1 == git_blob_sha1(DATA)
    np.testing.assert_array_equal(zipped.options, plain.options)
    (tmp_path / TRAIN).write_bytes(DATA + b" ")
    with pytest.raises(DataError, match=f"{TRAIN} and the file in {name} differ"):
        read_dialogues(tmp_path / TRAIN, "1.0", "train")


def link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(TRAIN)
    info.external_attr = 0o120777 << 16
    return info


def damaged_zip(path: pathlib.Path, change) -> None:
    write_zip(path, (TRAIN, DATA))
    path.write_bytes(change(path.read_bytes()))


def set_bytes(signature: bytes, offset: int, value: bytes):
    """Overwrites what is `offset` bytes behind the last place of `signature`."""

    def change(data: bytes) -> bytes:
        at = data.rindex(signature) + offset
        return data[:at] + value + data[at + len(value) :]

    return change


LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"
ZIPS = {
    "two files": (lambda path: write_zip(path, (TRAIN, DATA), ("x", b"")), "holds 2 files"),
    "no file": (lambda path: write_zip(path), "holds 0 files"),
    "a folder": (lambda path: write_zip(path, ("data/", b"")), "'data/'"),
    "in a folder": (lambda path: write_zip(path, (f"data/{TRAIN}", DATA)), "data/visdial"),
    "above": (lambda path: write_zip(path, (f"../{TRAIN}", DATA)), r"\.\./visdial"),
    "absolute": (lambda path: write_zip(path, (f"/etc/{TRAIN}", DATA)), "/etc/visdial"),
    "another split": (lambda path: write_zip(path, ("visdial_1.0_val.json", DATA)), "visdial_1.0_val.json"),
    "a link": (lambda path: write_zip(path, (link(), b"/etc/passwd")), "not the file"),
    "encrypted": (
        lambda path: damaged_zip(path, set_bytes(CENTRAL, 8, b"\1")),
        r"is encrypted\. Put the unpacked file",
    ),
    "unusual packing": (lambda path: damaged_zip(path, set_bytes(CENTRAL, 10, b"\x63")), "packed in a way"),
    "cut": (lambda path: damaged_zip(path, lambda data: data[:-30]), "not a zip file"),
    "empty": (lambda path: path.write_bytes(b""), "not a zip file"),
    "a page": (lambda path: path.write_bytes(b"<html>"), "not a zip file"),
    "damaged content": (lambda path: damaged_zip(path, set_bytes(LOCAL, 60, b"\xff" * 9)), "not a zip file"),
    "promises more": (lambda path: damaged_zip(path, set_bytes(CENTRAL, 24, b"\xff\xff\0\0")), "ends in the middle"),
    "promises less": (lambda path: damaged_zip(path, set_bytes(CENTRAL, 24, b"\x09\0\0\0")), "not a zip file"),
    "promises too much": (lambda path: damaged_zip(path, set_bytes(CENTRAL, 24, b"\xfe\xff\xff\xff")), "ends in the"),
    "a folder by name": (lambda path: path.mkdir(), "not a regular file"),
}


@pytest.mark.parametrize("case", ZIPS)
def test_strange_archives_are_refused(case, tmp_path):
    make, word = ZIPS[case]
    path = tmp_path / "visdial_1.0_train.zip"
    make(path)
    with pytest.raises(DataError, match=word) as caught:
        read_dialogues(path, "1.0", "train")
    assert str(caught.value).startswith(str(path))
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_an_archive_of_endless_zeros_is_not_unpacked(tmp_path, monkeypatch):
    write_zip(tmp_path / "visdial_1.0_train.zip", (TRAIN, bytes(2 << 20)))
    monkeypatch.setattr(zip_files, "MAX_BYTES", 1 << 20)
    with pytest.raises(DataError, match="2,097,152 bytes, more than the 1,048,576"):
        read_dialogues(tmp_path / "visdial_1.0_train.zip", "1.0", "train")


def test_files_are_found_by_version_and_split(tmp_path):
    with pytest.raises(DataError, match=r"no dialogues of VisDial 1\.0.*visdial_1\.0_train\.json.*\.zip"):
        visdial_folder.find_dialogue_files(tmp_path, "1.0")
    names = ["visdial_1.0_test.json", "visdial_1.0_train.zip", "visdial_0.9_val.json.zip", "visdial_1.0_trian.json"]
    names += ["visdial_0.9_test.json", "generations.json"]
    for name in names:
        (tmp_path / name).touch()
    found = visdial_folder.find_dialogue_files(tmp_path, "1.0")
    assert [(split, path.name) for split, path in found.items()] == [
        ("train", "visdial_1.0_train.zip"),
        ("test", "visdial_1.0_test.json"),
    ]
    assert visdial_folder.find_unread(tmp_path, "1.0", found.values()) == ["visdial_1.0_trian.json"]
    old = visdial_folder.find_dialogue_files(tmp_path, "0.9")
    assert {split: path.name for split, path in old.items()} == {"validation": "visdial_0.9_val.json.zip"}


def test_annotations_are_found_by_split(tmp_path):
    assert visdial_folder.find_dense_files(tmp_path, "1.0") == {}
    for name in ("visdial_1.0_val_dense_annotations.json", "visdial_1.0_train_dense_annotations.zip"):
        (tmp_path / name).touch()
    found = visdial_folder.find_dense_files(tmp_path, "1.0")
    assert {split: path.name for split, path in found.items()} == {
        "train": "visdial_1.0_train_dense_annotations.zip",
        "validation": "visdial_1.0_val_dense_annotations.json",
    }
    assert visdial_folder.find_dense_files(tmp_path, "0.9") == {}
    (tmp_path / "visdial_1.0_train_dense_sample.json").touch()
    with pytest.raises(DataError, match="both annotate the split train"):
        visdial_folder.find_dense_files(tmp_path, "1.0")


def test_an_image_in_two_splits_is_a_leak():
    train, validation = parse(content()), parse(content("validation", first_id=20), "validation")
    check_splits({"train": train, "validation": validation})
    leaking = parse(content("validation", first_id=8), "validation")
    with pytest.raises(DataError, match=rf"record 1 \(image_id 8\), field image_id: {TRAIN}"):
        check_splits({"train": train, "validation": leaking})


def annotation(image_id: int = 8, round_id: int = 2, key: str = "gt_relevance", **places: float) -> dict:
    relevance = [0.0] * 100
    for place, value in places.items():
        relevance[int(place[1:])] = value
    return {"image_id": image_id, "round_id": round_id, key: relevance}


def dense(*records: object, split: str = "train"):
    return parse_dense(json.dumps(list(records)), pathlib.Path("dense.json"), parse(content(split), split))


@pytest.mark.parametrize("key", ["gt_relevance", "relevance"])
def test_annotations_follow_the_dialogues(key):
    found = dense(annotation(key=key, o0=1, o99=0.4))
    assert found.round.tolist() == [-1, 1]
    assert found.dropped == 0
    assert found.relevance[0].tolist() == [0.0] * 100
    assert found.relevance[1, [0, 1, 99]].tolist() == [1.0, 0.0, np.float32(0.4)]


def test_annotations_without_a_relevant_option_are_dropped_and_counted(tmp_path):
    found = dense(annotation(), annotation(7, 1, o3=0.2))
    assert (found.round.tolist(), found.dropped) == ([0, -1], 1)
    assert found.relevance[0].nonzero()[0].tolist() == [3]
    path = tmp_path / "visdial_1.0_val_dense_annotations.json"
    path.write_text(json.dumps([annotation()]))
    read = read_dense(path, parse(content()))
    assert (read.dropped, read.sha1) == (1, git_blob_sha1(path.read_bytes()))


DENSE_FAULTS = {
    "nothing": ([], ["an empty list"]),
    "text": (["x"], ["record 1", "text"]),
    "no round": ([{"image_id": 8, "relevance": [0] * 100}], ["record 1", "round_id"]),
    "no relevance": ([{"image_id": 8, "round_id": 1}], ["record 1", "gt_relevance and relevance"]),
    "two relevances": ([annotation() | annotation(key="relevance")], ["record 1", "one of"]),
    "unknown image": ([annotation(9)], ["record 1 (image_id 9), field image_id", TRAIN]),
    "true image": ([annotation(True)], ["record 1, field image_id", "True"]),
    "round 0": ([annotation(round_id=0)], ["(image_id 8), field round_id", "rounds 1 to 2"]),
    "round 3": ([annotation(round_id=3)], ["field round_id", "is 3", "1 to 2"]),
    "round as text": ([annotation(round_id="2")], ["field round_id", "'2'"]),
    "99 relevances": ([annotation() | {"gt_relevance": [0] * 99}], ["field gt_relevance", "a list of 99"]),
    "no list": ([annotation() | {"gt_relevance": None}], ["field gt_relevance", "null"]),
    "above 1": ([annotation(o4=1.2)], ["field gt_relevance, option 5", "1.2"]),
    "negative": ([annotation(o4=-0.2)], ["option 5", "-0.2"]),
    "NaN": ([annotation(o4=float("nan"))], ["option 5", "nan"]),
    "true": ([annotation(o4=True)], ["option 5", "True"]),
    "an image twice": ([annotation(), annotation(7, 1), annotation(8, 1)], ["record 3 (image_id 8)", "record 1"]),
}


@pytest.mark.parametrize("case", DENSE_FAULTS)
def test_every_fault_of_annotations_is_named(case):
    records, words = DENSE_FAULTS[case]
    with pytest.raises(DataError) as caught:
        dense(*records)
    assert str(caught.value).startswith("dense.json")
    for word in words:
        assert word in str(caught.value)


def test_a_round_without_options_cannot_be_annotated():
    with pytest.raises(DataError, match="round 1 has no options"):
        dense(annotation(8, 1, o1=1.0), split="test")
    assert dense(annotation(8, 2, o1=1.0), split="test").round.tolist() == [-1, 1]


MEASURED = """
import pathlib, sys
from vatex_jax.data.visdial_files import read_dialogues

def peak():
    return int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024

path = pathlib.Path(sys.argv[1])
before = peak()
file = read_dialogues(path, "1.0", "train")
print(peak() - before, path.stat().st_size, file.options.nbytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
def test_options_are_never_a_list_of_python_numbers(tmp_path):
    """2,000 dialogues: the 2 million options, as Python's own reader makes them, take 72 MB beside the text."""
    answers = [f"answer {i}" for i in range(500)]
    rounds = [{"question": 0, "answer": 300 + r, "gt_index": r} for r in range(10)]
    rounds = json.dumps([r | {"answer_options": list(range(300, 400))} for r in rounds])
    path = tmp_path / TRAIN
    dialogs = ",".join(f'{{"image_id": {i}, "caption": "", "dialog": {rounds}}}' for i in range(2000))
    tables = json.dumps({"questions": QUESTIONS, "answers": answers})
    path.write_text(f'{{"data": {tables[:-1]}, "dialogs": [{dialogs}]}}}}')
    root = pathlib.Path(visdial_folder.__file__).parent.parent.parent
    done = subprocess.run([sys.executable, "-c", MEASURED, path], cwd=root, capture_output=True, text=True, check=True)
    grown, text, arrays = map(int, done.stdout.split())
    assert arrays == 8_000_000
    assert grown < text + 4 * arrays, (grown, text)
