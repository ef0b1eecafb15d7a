"""Files that others read and write: EvalAI's ranks of VisDial, and generated answers; read plain or gzipped.

    ranks        [{"image_id", "round_id" (from 1), "ranks": [a permutation of 1..100]}]
    generations  [{"image_id", "round_id" (from 0), "generations": [str]}]

`ranks[j]` is the rank of option j. The two count rounds from different numbers, as the published files do.
"""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from vatex_jax.data.json_files import shorten, show
from vatex_jax.data.json_stream import JSONList
from vatex_jax.errors import DataError
from vatex_jax.files import write_json_whole


@dataclasses.dataclass(frozen=True)
class Ranks:
    """A file of ranks; `rounds` from 0."""

    image_ids: Int[np.ndarray, "n"]
    rounds: Int[np.ndarray, "n"]
    ranks: Int[np.ndarray, "n c"]


@dataclasses.dataclass(frozen=True)
class Generations:
    """A file of generations; `rounds` from 0, any number of texts a question."""

    image_ids: Int[np.ndarray, "n"]
    rounds: Int[np.ndarray, "n"]
    texts: tuple[tuple[str, ...], ...]


def write_ranks(
    path: str | os.PathLike,
    image_ids: Int[np.ndarray, "n"],
    rounds: Int[np.ndarray, "n"],
    ranks: Int[np.ndarray, "n c"],
) -> None:
    """Writes ranks, whole or not at all.

    Args:
        path: the file.
        image_ids, rounds: of each question, the round from 0.
        ranks: of its options: a permutation of 1..c.

    Raises:
        DataError: a row is no permutation.
    """
    _check_permutations(ranks, str(path))
    rows = zip(image_ids.tolist(), rounds.tolist(), ranks.tolist(), strict=True)
    write_json_whole(
        path, [{"image_id": image, "round_id": turn + 1, "ranks": row} for image, turn, row in rows], indent=None
    )


def read_ranks(path: str | os.PathLike, candidates: int = 100) -> Ranks:
    """Reads ranks.

    Raises:
        DataError: the file cannot be read, or a record of it is malformed, naming it.
    """
    records = _records(path, "ranks", first_round=1)
    for number, (_, _, ranks) in enumerate(records, start=1):
        whole = isinstance(ranks, list) and all(type(rank) is int for rank in ranks)
        if not whole or sorted(ranks) != list(range(1, candidates + 1)):
            raise DataError(f"{path}, record {number}, field ranks: must be a permutation of 1..{candidates}.")
    return Ranks(*_places(records), np.array([ranks for *_, ranks in records], np.int64).reshape(-1, candidates))


def write_generations(
    path: str | os.PathLike,
    image_ids: Int[np.ndarray, "n"],
    rounds: Int[np.ndarray, "n"],
    texts: Sequence[Sequence[str]],
) -> None:
    """Writes the generated answers of each question, its round from 0; whole or not at all."""
    rows = zip(image_ids.tolist(), rounds.tolist(), texts, strict=True)
    write_json_whole(
        path, [{"image_id": image, "round_id": turn, "generations": list(row)} for image, turn, row in rows],
        indent=None,
    )  # fmt: skip


def read_generations(path: str | os.PathLike) -> Generations:
    """Reads generated answers; an empty answer stays one.

    Raises:
        DataError: the file cannot be read, or a record of it is malformed, naming it.
    """
    records = _records(path, "generations", first_round=0)
    for number, (_, _, texts) in enumerate(records, start=1):
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise DataError(
                f"{path}, record {number}, field generations: must be a list of texts, not {shorten(texts)}."
            )
    return Generations(*_places(records), tuple(tuple(texts) for *_, texts in records))


def _records(path: str | os.PathLike, field: str, first_round: int) -> list[tuple[int, int, Any]]:
    """(image, round from 0, value of the field) of each record; one of each image and round."""
    found: dict[tuple[int, int], Any] = {}
    for number, record in enumerate(JSONList(Path(path)), start=1):
        where = f"{path}, record {number}"
        if not isinstance(record, dict) or not {"image_id", "round_id", field} <= record.keys():
            raise DataError(f"{where}: must be an object with image_id, round_id and {field}.")
        image, turn = record["image_id"], record["round_id"]
        if type(image) is not int or abs(image) >= 1 << 63:
            raise DataError(f"{where}, field image_id: must be a whole number, not {show(image)}.")
        if type(turn) is not int or not first_round <= turn < first_round + 10:
            hint = " Here they seem to count from 1: take 1 from each." if turn == 10 else ""
            raise DataError(
                f"{where}, field round_id: must be from {first_round} to {first_round + 9}, not {show(turn)}: "
                f"files of {field} count rounds from {first_round}.{hint}"
            )
        if (image, turn - first_round) in found:
            raise DataError(f"{where}: image {image}, round {turn} is there twice. Remove one.")
        found[image, turn - first_round] = record[field]
    return [(image, turn, value) for (image, turn), value in found.items()]


def _places(records: Sequence[tuple[int, int, Any]]) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.array([image for image, _, _ in records], np.int64),
        np.array([turn for _, turn, _ in records], np.int64),
    )


def _check_permutations(ranks: np.ndarray, where: str) -> None:
    wrong = np.flatnonzero((np.sort(ranks, axis=1) != np.arange(1, ranks.shape[1] + 1)).any(axis=1))
    if len(wrong):
        raise DataError(f"{where}: the ranks of question {wrong[0] + 1} are no permutation of 1..{ranks.shape[1]}.")
