"""VisDial's dense annotations: for one round of a dialogue, how relevant each of its 100 options is.

A file is a JSON list of `{"image_id", "round_id" (1 is the first), "gt_relevance" or "relevance": [100]}`; the
published validation file has the first key, the training file the second. Every fault is a `DataError` that names the
file, the record (1 is the first), the image and the field.

Dimension legend
    D  dialogues of the file that is annotated
"""

import dataclasses
import pathlib

import numpy as np
from jaxtyping import Float32, Int32

from vatex_jax.data.json_files import decode, git_blob_sha1, kind, parse_json, shorten, show
from vatex_jax.data.visdial_files import DialogueFile
from vatex_jax.data.visdial_folder import read_json_or_zip
from vatex_jax.data.visdial_rounds import OPTIONS, is_count
from vatex_jax.errors import DataError

KEYS = ("gt_relevance", "relevance")


@dataclasses.dataclass(frozen=True)
class DenseAnnotations:
    """The annotations of a dialogue file, in the order of its dialogues.

    Attributes:
      path: the file they come from.
      sha1: its git blob hash, unzipped.
      round: 0-based; -1 where a dialogue has no annotation.
      relevance: shares of the annotators, 0 to 1; zeros where there is no annotation.
      dropped: annotations left out because no option is relevant: a ranking cannot be scored against them.
    """

    path: pathlib.Path
    sha1: str
    round: Int32[np.ndarray, "D"]
    relevance: Float32[np.ndarray, "D 100"]
    dropped: int


def read_dense(path: pathlib.Path, dialogues: DialogueFile) -> DenseAnnotations:
    """Reads and checks the annotations of `dialogues`.

    Raises:
      DataError: anything at all is wrong with them.
    """
    data = read_json_or_zip(path)
    dense = parse_dense(decode(data, str(path)), path, dialogues)
    return dataclasses.replace(dense, sha1=git_blob_sha1(data))


def parse_dense(text: str, path: pathlib.Path, dialogues: DialogueFile) -> DenseAnnotations:
    """Reads the JSON text of an annotation file; `path` is for messages, and `sha1` is left empty.

    Raises:
      DataError: anything at all is wrong with it.
    """
    records = parse_json(text, str(path), "dense annotations")
    if not isinstance(records, list) or not records:
        what = "an empty list" if records == [] else kind(records)
        raise DataError(f"{path}: holds {what}, not a list of annotations.")
    index_of = {image_id: index for index, image_id in enumerate(dialogues.image_id.tolist())}
    count = len(index_of)
    rounds, relevance = np.full(count, -1, np.int32), np.zeros((count, OPTIONS), np.float32)
    first_with: dict[int, int] = {}
    dropped = 0
    for number, record in enumerate(records, start=1):
        index, turn, values = _annotation(record, f"{path}, record {number}", index_of, dialogues)
        if index in first_with:
            raise DataError(
                f"{path}, record {number} (image_id {record['image_id']}), field image_id: record {first_with[index]} "
                "annotates the same dialogue. Remove one of them."
            )
        first_with[index] = number
        if any(values):
            rounds[index], relevance[index] = turn, values
        else:
            dropped += 1
    return DenseAnnotations(path, "", rounds, relevance, dropped)


def _annotation(
    record: object, place: str, index_of: dict[int, int], dialogues: DialogueFile
) -> tuple[int, int, list[float]]:
    """The number of the dialogue, the round (from 0) and the relevances that a record holds."""
    if not isinstance(record, dict):
        raise DataError(f"{place}: is {kind(record)}, not an object.")
    keys = [key for key in KEYS if key in record]
    if len(keys) != 1 or "image_id" not in record or "round_id" not in record:
        raise DataError(
            f"{place}: has the fields {shorten(sorted(record))}; it must have image_id, round_id and one of "
            f"{' and '.join(KEYS)}."
        )
    image_id = record["image_id"]
    if not is_count(image_id, 1 << 63):
        raise DataError(f"{place}, field image_id: is {show(image_id)}, not the number of an image.")
    place = f"{place} (image_id {image_id})"
    if image_id not in index_of:
        raise DataError(f"{place}, field image_id: {dialogues.path.name} has no dialogue about this image. Remove it.")
    index = index_of[image_id]
    count = int(dialogues.rounds[index])
    round_id = record["round_id"]
    if not is_count(round_id, count + 1) or round_id == 0:
        raise DataError(f"{place}, field round_id: is {show(round_id)}, and the dialogue has the rounds 1 to {count}.")
    if dialogues.options[index, round_id - 1, 0] < 0:
        raise DataError(f"{place}, field round_id: round {round_id} has no options that could be relevant.")
    return index, round_id - 1, _relevances(record[keys[0]], f"{place}, field {keys[0]}")


def _relevances(value: object, place: str) -> list[float]:
    if not isinstance(value, list) or len(value) != OPTIONS:
        what = f"a list of {len(value)}" if isinstance(value, list) else kind(value)
        raise DataError(f"{place}: is {what}, not a list of {OPTIONS} relevances.")
    for number, relevance in enumerate(value, start=1):
        if type(relevance) not in (int, float) or not 0 <= relevance <= 1:  # false for NaN
            raise DataError(f"{place}, option {number}: is {show(relevance)}, not a number from 0 to 1.")
    return list(map(float, value))
