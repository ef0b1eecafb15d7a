"""Reference sets as files that others read ("DenseVisDial"): one record a question, plain or gzipped, streamed.

    [{"image_id", "round_id" (from 0), "in_cluster_idxs": [0 or 1 a candidate], "refs": [str], "question", "gt_answer"}]

Beside FILE lies FILE.manifest.json: how the sets were made and from what, how many there are, and the file's hash.
"""

import dataclasses
import gzip
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool
from tqdm import tqdm

from vatex_jax.data.dialogues import ROUNDS
from vatex_jax.data.json_files import shorten, show
from vatex_jax.data.json_stream import JSONList
from vatex_jax.errors import DataError
from vatex_jax.files import json_bytes, open_whole, read_json, write_json_whole

FORMAT = "DenseVisDial 1"
_COMPRESSION = 6


@dataclasses.dataclass(frozen=True)
class ReferenceSet:
    """The answers that are right for a question.

    Attributes:
        image_id, round: whose question it is; rounds from 0.
        members: which candidates are in the set.
        references: their texts, in the order of the candidates.
        question, answer: the question and its ground truth.
    """

    image_id: int
    round: int
    members: Bool[np.ndarray, "c"]
    references: tuple[str, ...]
    question: str
    answer: str


def manifest_path(path: Path) -> Path:
    """Where the manifest of a file of reference sets lies."""
    return path.with_name(path.name + ".manifest.json")


def write(path: Path, sets: Iterable[ReferenceSet], about: dict[str, Any], total: int | None = None) -> dict[str, Any]:
    """Writes reference sets and their manifest, each whole or not at all; `.gz` at the end of the name compresses.

    Args:
        path: the file.
        sets: one a question, in any order.
        about: what the manifest says of them: method, parameters, sources.
        total: how many there will be, for the progress bar.

    Returns:
        The manifest.

    Raises:
        DataError: a set that `read` would refuse: a round that cannot be, an image and round twice, texts that do not
            fit the members.
    """
    shown = tqdm(sets, f"writing {path.name}", total, unit="set", leave=False, disable=not sys.stderr.isatty())
    with open_whole(path) as file:
        if path.suffix == ".gz":
            # No name and no time in the header: the same sets give the same bytes.
            with gzip.GzipFile("", "wb", _COMPRESSION, file, mtime=0) as packed:
                count, answers = _write_lines(packed, path, shown)
        else:
            count, answers = _write_lines(file, path, shown)
    manifest = {
        "format": FORMAT,
        "file": path.name,
        "sha256": sha256(path),
        "sets": count,
        "answers": answers,
        **about,
    }
    write_json_whole(manifest_path(path), manifest)
    return manifest


def read(path: str | os.PathLike) -> Iterator[ReferenceSet]:
    """The reference sets of a file, one at a time, checked; also of a file of others, without a manifest.

    Raises:
        DataError: (while iterating) the file is damaged or cut short, a record is malformed or stands there twice, or
            the file is not the one its manifest tells of: naming file, record and field.
    """
    path, seen = Path(path), set()
    number = 0
    for number, record in enumerate(JSONList(path), 1):
        where = f"{path}, record {number}"
        one = _reference_set(record, where)
        _check_new(seen, one, where)
        yield one
    _check_manifest(path, number)


def _write_lines(file: Any, path: Path, sets: tqdm) -> tuple[int, int]:
    """Returns how many sets and answers there were."""
    count = answers = 0
    seen: set[int] = set()
    for count, one in enumerate(sets, 1):
        where = f"{path}, record {count}"
        _check_round(int(one.round), where)
        _check_new(seen, one, where)
        answers += _check_members(one.members, one.references, where)
        file.write((",\n" if count > 1 else "[\n").encode() + _line(one))
    file.write(b"\n]\n" if count else b"[]\n")
    return count, answers


def _line(one: ReferenceSet) -> bytes:
    record = {
        "image_id": int(one.image_id),
        "round_id": int(one.round),
        "in_cluster_idxs": one.members.astype(int).tolist(),
        "refs": list(one.references),
        "question": one.question,
        "gt_answer": one.answer,
    }
    return json_bytes(record)


def _reference_set(record: Any, where: str) -> ReferenceSet:
    missing = sorted(_FIELDS - record.keys()) if isinstance(record, dict) else sorted(_FIELDS)
    if missing:
        raise DataError(f"{where}: must be an object with {', '.join(missing)}.")
    if type(record["image_id"]) is not int:
        raise DataError(f"{where}, field image_id: must be a whole number, not {shorten(record['image_id'])}.")
    turn, marks, references = record["round_id"], record["in_cluster_idxs"], record["refs"]
    _check_round(turn, where)
    if not isinstance(marks, list) or any(type(mark) not in (int, bool) or mark not in (0, 1) for mark in marks):
        raise DataError(f"{where}, field in_cluster_idxs: must be a list of 0 and 1, not {shorten(marks)}.")
    texts = {"question": [record["question"]], "gt_answer": [record["gt_answer"]], "refs": references}
    for field, several in texts.items():
        if not isinstance(several, list) or not all(isinstance(text, str) for text in several):
            raise DataError(
                f"{where}, field {field}: must be text{'s in a list' * (field == 'refs')}, not {show(several)}."
            )
    members = np.array(marks, bool)
    _check_members(members, references, where)
    return ReferenceSet(record["image_id"], turn, members, tuple(references), record["question"], record["gt_answer"])


def _check_members(members: np.ndarray, references: Sequence[str], where: str) -> int:
    """Returns how many there are."""
    count = int(members.sum())
    if not count or len(references) != count:
        raise DataError(
            f"{where}: {len(references)} texts in refs, but in_cluster_idxs marks {count} candidates: a set has at "
            "least one answer, and a text for each."
        )
    return count


def _check_round(turn: Any, where: str) -> None:
    if type(turn) is not int or not 0 <= turn < ROUNDS:
        raise DataError(
            f"{where}, field round_id: must be from 0 to {ROUNDS - 1}, not {shorten(turn)}: rounds count from 0 here."
        )


def _check_new(seen: set[int], one: ReferenceSet, where: str) -> None:
    """All that is kept of a set: a number, for pairs of a million sets take three times as much."""
    key = one.image_id * ROUNDS + one.round
    if key in seen:
        raise DataError(f"{where}: image {one.image_id}, round {one.round} is there twice. Remove one.")
    seen.add(key)


def dataset_of(path: Path) -> dict[str, Any] | None:
    """What its manifest says of the data that a file's sets are of; None where it has none or says nothing.

    Raises:
        DataError: the manifest cannot be read.
    """
    beside = manifest_path(path)
    manifest = read_json(beside) if beside.exists() else None
    dataset = manifest.get("dataset") if isinstance(manifest, dict) else None
    return dataset if isinstance(dataset, dict) else None


def _check_manifest(path: Path, count: int) -> None:
    """A file with a manifest must be the file it tells of."""
    beside = manifest_path(path)
    if not beside.exists():
        return
    manifest = read_json(beside)
    told = manifest.get("sets") if isinstance(manifest, dict) else None
    if told != count:
        raise DataError(f"{path}: holds {count} sets, but {beside.name} tells of {told}; fetch or write both again.")
    if manifest.get("sha256") != sha256(path):
        raise DataError(
            f"{path}: is not the file {beside.name} tells of (its hash differs); fetch or write both again."
        )


def sha256(path: Path) -> str:
    """Of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_FIELDS = {"image_id", "round_id", "in_cluster_idxs", "refs", "question", "gt_answer"}
