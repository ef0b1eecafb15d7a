"""Damaged folders through build.py: exit status 2, one message, and not a trace of a data set."""

import json
import os
import pathlib
import pickle
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from tfds_builders import build as build_lib

pytestmark = pytest.mark.slow

TRAINING = "vatex_training_v1.0.json"
VALIDATION = "vatex_validation_v1.0.json"
FEATURES = "trainval/_b_000000_000010.npy"
SCRIPT = pathlib.Path(build_lib.__file__).resolve()

Damage = Callable[[pathlib.Path], object]


def rewrite(name: str, change: Callable[[bytes], bytes]) -> Damage:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def edit(name: str, change: Callable[[list], object]) -> Damage:
    """Changes the parsed records in place, or for what `change` returns."""

    def apply(folder: pathlib.Path) -> None:
        records = json.loads((folder / name).read_text(encoding="utf-8"))
        result = change(records)
        (folder / name).write_text(json.dumps(records if result is None else result), encoding="utf-8")

    return apply


def save(array: np.ndarray) -> Damage:
    return lambda folder: np.save(folder / FEATURES, array)


def replace(name: str, make: Callable[[pathlib.Path], object]) -> Damage:
    def apply(folder: pathlib.Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return apply


ONES = np.ones((1, 2, 1024), np.float32)
NAN = ONES.copy()
NAN[0, 1, 1023] = np.nan
HEADER_LIES = b"\x93NUMPY\x01\x00v\x00" + (
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 60000, 1024), }".ljust(117) + b"\n"
)

DAMAGES: dict[str, tuple[Damage, str]] = {
    "captions truncated": (rewrite(TRAINING, lambda data: data[: len(data) // 2]), TRAINING),
    "captions empty": (rewrite(TRAINING, lambda data: b""), TRAINING),
    "captions of zeros": (rewrite(VALIDATION, lambda data: bytes(len(data))), VALIDATION),
    "captions latin-1": (rewrite(VALIDATION, lambda data: data.replace(b"crane", b"gr\xfce")), "offset"),
    "captions utf-16": (rewrite(VALIDATION, lambda data: data.decode().encode("utf-16")), "UTF-16"),
    "captions a web page": (rewrite(TRAINING, lambda data: b"<html>Sign in</html>"), TRAINING),
    "captions nested": (rewrite(TRAINING, lambda data: b"[" * 200_000), "nested"),
    "captions joined twice": (rewrite(TRAINING, lambda data: data + data), TRAINING),
    "an object of lists": (edit(TRAINING, lambda records: {"videos": records}), "not a list"),
    "no records": (edit(TRAINING, lambda records: []), "empty"),
    "a null record": (edit(TRAINING, lambda records: records.insert(1, None)), "record 2"),
    "id missing": (edit(TRAINING, lambda records: records[1].pop("videoID") and None), "record 2"),
    "id twice": (edit(TRAINING, lambda records: records.append(records[0])), "record 4"),
    "id in two splits": (edit(VALIDATION, lambda records: records[0].update(videoID="c_000002_000012")), "record 1"),
    "id a path": (edit(TRAINING, lambda records: records[0].update(videoID="../../x")), "record 1"),
    "id a number": (edit(TRAINING, lambda records: records[2].update(videoID=3)), "record 3"),
    "caption blank": (edit(TRAINING, lambda records: records[1]["chCap"].__setitem__(3, "　")), "caption 4 of 7"),
    "caption null": (edit(TRAINING, lambda records: records[1]["enCap"].__setitem__(1, None)), "caption 2 of 2"),
    "captions one text": (edit(TRAINING, lambda records: records[1].update(enCap="A bat .")), "enCap"),
    "half a pair": (edit(TRAINING, lambda records: records[0]["enCap"].__setitem__(0, "\ud83d")), r"\ud83d"),
    "field misspelt": (edit(TRAINING, lambda records: records[0].update(encap=["x"])), "'encap'"),
    "unknown split": (lambda folder: (folder / TRAINING).rename(folder / "vatex_trian.json"), "vatex_trian.json"),
    "two files of a split": (rewrite(TRAINING, lambda data: data), ""),  # completed below
    "captions a folder": (replace(TRAINING, pathlib.Path.mkdir), TRAINING),
    "captions a pipe": (replace(TRAINING, os.mkfifo), TRAINING),
    "captions a dead link": (replace(TRAINING, lambda path: path.symlink_to("gone")), TRAINING),
    "features truncated": (rewrite(FEATURES, lambda data: data[:-100]), "cut short"),
    "features empty": (rewrite(FEATURES, lambda data: b""), "is empty"),
    "features too long": (rewrite(FEATURES, lambda data: data + b"\0"), "too many"),
    "features of NaN": (save(NAN), "segment 1, channel 1023"),
    "features integers": (save(ONES.astype(np.int32)), "integers"),
    "features of ResNet": (save(np.ones((1, 2, 2048), np.float32)), "2048"),
    "features pickled": (rewrite(FEATURES, lambda data: pickle.dumps(ONES)), "pickle"),
    "features of objects": (save(np.array([None])), "pickled Python objects"),
    "features of no segment": (save(ONES[:, :0]), "0 segments"),
    "features that lie": (rewrite(FEATURES, lambda data: HEADER_LIES), "cut short"),
    "features a folder": (replace(FEATURES, pathlib.Path.mkdir), "not a regular file"),
    "features a pipe": (replace(FEATURES, os.mkfifo), "not a regular file"),
    "features twice": (lambda folder: np.save(folder / "_b_000000_000010.npy", ONES * 2), "differ"),
    "features missing": (lambda folder: (folder / FEATURES).unlink(), "1 of 3 videos"),
    "labels contradict": (rewrite("kinetics_train.csv", lambda data: data + b"x,-a,1,11,train\n"), "line 5"),
    "labels without times": (rewrite("kinetics_train.csv", lambda data: data + b"x,y,,,train\n"), "time_start"),
    "labels cut": (rewrite("kinetics_train.csv", lambda data: data + b"x,y"), "line 5"),
    "labels latin-1": (rewrite("kinetics_train.csv", lambda data: data + b"\xe9"), "UTF-8"),
}


def damage(case: str, folder: pathlib.Path) -> str:
    """Damages the folder; returns what the message must hold."""
    if case == "two files of a split":
        (folder / "vatex_training_v1.1.json").write_bytes((folder / TRAINING).read_bytes())
        return "both captions of the split train"
    apply, word = DAMAGES[case]
    apply(folder)
    return word


def left_behind(out: pathlib.Path) -> set[str]:
    return {path.name for path in out.rglob("*")}


def test_there_are_enough():
    assert len(DAMAGES) >= 30


@pytest.mark.parametrize("case", DAMAGES)
def test_in_process(case, vatex_folder, tmp_path, capsys):
    word = damage(case, vatex_folder)
    out = tmp_path / "out"
    assert build_lib.main(["vatex", f"--manual_dir={vatex_folder}", f"--data_dir={out}"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert word in message
    assert left_behind(out) == set()


@pytest.mark.parametrize("case", ["captions truncated", "features of NaN", "features pickled", "captions nested"])
def test_as_a_command(case, vatex_folder, tmp_path):
    word = damage(case, vatex_folder)
    out = tmp_path / "out"
    command = [sys.executable, str(SCRIPT), "vatex", f"--manual_dir={vatex_folder}", f"--data_dir={out}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout.count("Traceback")) == (2, 0)
    assert done.stderr.splitlines()[0].startswith("error: ")
    assert "Traceback" not in done.stderr
    assert word in done.stderr
    assert left_behind(out) == set()
