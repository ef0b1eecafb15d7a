"""The VisDial dialogue files: finding, checking and reading them.

A file is `{"version", "split", "data": {"questions": [str], "answers": [str], "dialogs": [{"image_id", "caption",
"dialog": [{"question", "answer", "answer_options", "gt_index"}]}]}}`, where questions, answers and options are places
in that file's two lists. In the test file the rounds before the last have a question and an answer alone, the last a
question and options alone. Whatever is wrong becomes a `DataError` that names the file, the record (1 is the first),
the image, the round (1 is the first, as in the files' `round_id`), the field, and what to do about it.

Dimension legend
    D  dialogues of a file      R  rounds of a dialogue
"""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Int32, Int64

from vatex_jax.data.json_files import decode, git_blob_sha1, kind, parse_json, shorten, show
from vatex_jax.data.visdial_folder import FILE_WORD, read_json_or_zip
from vatex_jax.data.visdial_rounds import OPTIONS, ROUNDS, Fault, Rounds, is_count, pack_rounds
from vatex_jax.errors import DataError

_CHUNK = 2048  # dialogues, of 4 kB of options each, that are checked at once


@dataclasses.dataclass(frozen=True)
class DialogueFile:
    """A dialogue file that was read, as columns; -1 stands for what a round or a dialogue does not have.

    Attributes:
      path: the file, zipped or not.
      split: a name of `SPLITS`.
      sha1: git blob hash of the JSON, which is the same whether it was zipped or not.
      captions: one a dialogue.
      question_table: the file's questions.
      answer_table: the file's answers, each string once, in the file's order.
      image_id: of each dialogue.
      rounds: of each dialogue, 1 to 10.
      questions: places in `question_table`.
      answers: places in `answer_table`; -1 where the answer is hidden.
      options: places in `answer_table`; -1 in rounds without options.
      gt_index: place of the answer among the options; -1 where either is hidden.
    """

    path: pathlib.Path
    split: str
    sha1: str
    captions: tuple[str, ...]
    question_table: tuple[str, ...]
    answer_table: tuple[str, ...]
    image_id: Int64[np.ndarray, "D"]
    rounds: Int32[np.ndarray, "D"]
    questions: Int32[np.ndarray, "D 10"]
    answers: Int32[np.ndarray, "D 10"]
    options: Int32[np.ndarray, "D 10 100"]
    gt_index: Int32[np.ndarray, "D 10"]


def read_dialogues(path: pathlib.Path, version: str, split: str) -> DialogueFile:
    """Reads and checks one dialogue file.

    Raises:
      DataError: see `parse_dialogues`.
    """
    data = read_json_or_zip(path)
    sha1 = git_blob_sha1(data)
    text = decode(data, str(path))
    del data  # 400 MB for the official training file, and as much again as text
    content = parse_json(text, str(path), "dialogues", _pack)
    del text
    return dataclasses.replace(_read(content, path, version, split), sha1=sha1)


def parse_dialogues(text: str, path: pathlib.Path, version: str, split: str) -> DialogueFile:
    """Reads the JSON text of a dialogue file; `path` is for messages, and `sha1` is left empty.

    Raises:
      DataError: anything at all is wrong with it.
    """
    return _read(parse_json(text, str(path), "dialogues", _pack), path, version, split)


def _read(content: object, path: pathlib.Path, version: str, split: str) -> DialogueFile:
    name = str(path)
    records, questions, answers = _content(content, name, version, split)
    columns = _columns(records, name, split)
    distinct, place = _distinct(answers)
    file = DialogueFile(
        path=path, split=split, sha1="", question_table=tuple(questions), answer_table=distinct, **columns
    )
    _check_places(file, len(questions), len(answers))
    if len(distinct) < len(answers):
        for column in (file.answers, file.options):
            for chunk in _chunks(column):
                chunk[...] = place[chunk]
    _check_options(file)
    return file


def check_splits(files: Mapping[str, DialogueFile]) -> None:
    """Looks for images that are in two splits.

    Raises:
      DataError: there is one: it would be trained on and scored, and features and annotations go by the image's id.
    """
    seen: dict[int, DialogueFile] = {}
    for file in files.values():
        for number, image_id in enumerate(file.image_id.tolist(), start=1):
            if image_id in seen:
                raise DataError(
                    f"{where(file, number - 1)}, field image_id: {seen[image_id].path.name} has a dialogue about the "
                    "same image. Remove it from one of the two files, so that nothing is trained on and scored."
                )
        seen |= dict.fromkeys(file.image_id.tolist(), file)


def where(file: DialogueFile, index: int) -> str:
    """The place of dialogue number `index`, from 0, for messages."""
    return f"{file.path}, record {index + 1} (image_id {file.image_id[index]})"


def _pack(record: dict[str, object]) -> dict[str, object]:
    """Packs a dialogue's rounds as soon as its object closes: no more than 1,000 options at once are Python numbers."""
    if "dialog" in record:
        record["dialog"] = pack_rounds(record["dialog"])
    return record


def _content(content: object, name: str, version: str, split: str) -> tuple[list, list[str], list[str]]:
    """The dialogues and the two tables of a file."""
    if not isinstance(content, dict) or not isinstance(content.get("data"), dict):
        shape = kind(content) if not isinstance(content, dict) else f"an object with {shorten(sorted(content))}"
        raise DataError(f'{name}: holds {shape}, not {{"version", "split", "data": {{...}}}}. Is it a VisDial file?')
    for field, begins in (("version", version), ("split", FILE_WORD[split])):
        told = content.get(field, begins)
        if not isinstance(told, str) or not told.startswith(begins):
            raise DataError(f"{name}, field {field}: is {show(told)}, where its name says {begins}. Rename the file.")
    data = content["data"]
    for field in ("dialogs", "questions", "answers"):
        if field not in data:
            raise DataError(f"{name}, field data: has no field {field}, only {shorten(sorted(data))}.")
        if not isinstance(data[field], list) or not data[field]:
            what = "an empty list" if data[field] == [] else kind(data[field])
            raise DataError(f"{name}, field data.{field}: is {what}, not a list of {field}.")
    for field in ("questions", "answers"):
        for number, text in enumerate(data[field]):
            check_text(text, f"{name}, field data.{field}, place {number}")
    return data["dialogs"], data["questions"], data["answers"]


def check_text(value: object, place: str) -> None:
    """Refuses what is no text that can be written as UTF-8.

    Raises:
      DataError: it is none.
    """
    if not isinstance(value, str):
        raise DataError(f"{place}: is {kind(value)}, not text.")
    if not value.isascii() or "\0" in value:
        fault = next((c for c in value if c == "\0" or "\ud800" <= c <= "\udfff"), None)
        if fault is not None:
            raise DataError(f"{place}: holds {fault!a}, which is no character of a text. Remove it.")


def _columns(records: list, name: str, split: str) -> dict[str, object]:
    """The dialogues as columns; `records` is emptied on the way, so that the options are not kept twice."""
    count = len(records)
    captions: list[str] = []
    columns = {
        "image_id": np.zeros(count, np.int64),
        "rounds": np.zeros(count, np.int32),
        **{field: np.full((count, ROUNDS), -1, np.int32) for field in ("questions", "answers", "gt_index")},
        "options": np.full((count, ROUNDS, OPTIONS), -1, np.int32),
    }
    first_with: dict[int, int] = {}
    for index in range(count):
        record, records[index] = records[index], None
        image_id, caption, packed = _dialogue(record, f"{name}, record {index + 1}", split)
        if image_id in first_with:
            raise DataError(
                f"{name}, record {index + 1} (image_id {image_id}), field image_id: record {first_with[image_id]} has "
                "the same id. Remove one of them."
            )
        first_with[image_id] = index + 1
        captions.append(caption)
        columns["image_id"][index], columns["rounds"][index] = image_id, len(packed.questions)
        for field, values in packed._asdict().items():
            columns[field][index, : len(values)] = values
    return {"captions": tuple(captions), **columns}


def _dialogue(record: object, place: str, split: str) -> tuple[int, str, Rounds]:
    """The image, the caption and the rounds of a record."""
    if not isinstance(record, dict):
        raise DataError(f'{place}: is {kind(record)}, not an object like {{"image_id": ..., "dialog": [...]}}.')
    for field in ("image_id", "caption", "dialog"):
        if field not in record:
            raise DataError(f"{place}: has no field {field}, only {shorten(sorted(record))}.")
    image_id = record["image_id"]
    if not is_count(image_id, 1 << 63):
        raise DataError(f"{place}, field image_id: is {show(image_id)}, not the number of an image.")
    place = f"{place} (image_id {image_id})"
    check_text(record["caption"], f"{place}, field caption")
    packed = record["dialog"]
    if isinstance(packed, Rounds):
        packed = _absent(packed, split) or packed
    if isinstance(packed, Fault):
        raise DataError(f"{place}, {packed}")
    return image_id, record["caption"], packed


def _absent(packed: Rounds, split: str) -> Fault | None:
    """The first field that a round of this split must have and has not."""
    given = {"answer": packed.answers, "answer_options": packed.options[:, 0], "gt_index": packed.gt_index}
    last = len(packed.questions) - 1
    for number in range(last + 1):
        for field in _needed(split, number == last):
            if given[field][number] < 0:
                return Fault(f"has no field {field}, which it must have in the {split} file.", number + 1)
    return None


def _needed(split: str, last: bool) -> tuple[str, ...]:
    if split != "test":
        return "answer", "answer_options", "gt_index"
    return ("answer_options",) if last else ("answer",)


def _distinct(texts: Sequence[str]) -> tuple[tuple[str, ...], Int32[np.ndarray, "..."]]:
    """Each string once, in order, and the place of every one of `texts` among them; -1 stays -1 as an index."""
    place_of: dict[str, int] = {}
    places = [place_of.setdefault(text, len(place_of)) for text in texts]
    return tuple(place_of), np.array([*places, -1], np.int32)


def _chunks(column: np.ndarray) -> list[np.ndarray]:
    return [column[start : start + _CHUNK] for start in range(0, len(column), _CHUNK)]


def _check_places(file: DialogueFile, questions: int, answers: int) -> None:
    """Holds all places against the file's own tables."""
    for field, column, size, table in (
        ("question", file.questions, questions, "questions"),
        ("answer", file.answers, answers, "answers"),
        ("answer_options", file.options, answers, "answers"),
    ):
        for start, chunk in zip(range(0, len(column), _CHUNK), _chunks(column), strict=True):
            if chunk.max() >= size:
                index = tuple(np.argwhere(chunk >= size)[0].tolist())
                option = f", option {index[2] + 1}" if len(index) == 3 else ""
                raise DataError(
                    f"{where(file, start + index[0])}, round {index[1] + 1}, field {field}{option}: is {chunk[index]}, "
                    f"and data.{table} has {size} entries, 0 to {size - 1}."
                )


def _check_options(file: DialogueFile) -> None:
    """Holds the ground truth against the answer, and looks for options given twice (the collectors gave each once)."""
    for start in range(0, len(file.options), _CHUNK):
        part = slice(start, start + _CHUNK)
        options, gt_index, answers = file.options[part], file.gt_index[part], file.answers[part]
        truth = np.take_along_axis(options, np.maximum(gt_index, 0)[:, :, None], axis=2)[:, :, 0]
        for index, number in np.argwhere((gt_index >= 0) & (truth != answers))[:1].tolist():
            found, answer = (shorten(file.answer_table[column[index, number]]) for column in (truth, answers))
            raise DataError(
                f"{where(file, start + index)}, round {number + 1}, field gt_index: the option there is {found}, and "
                f"the answer is {answer}. Fetch the file again."
            )
        ordered = np.sort(options, axis=2)
        same = (ordered[:, :, 1:] == ordered[:, :, :-1]) & (ordered[:, :, 1:] >= 0)
        for index, number, place in np.argwhere(same)[:1].tolist():
            repeated = shorten(file.answer_table[ordered[index, number, place]])
            raise DataError(
                f"{where(file, start + index)}, round {number + 1}, field answer_options: {repeated} is there twice, "
                "so that ranks would have no meaning. Fetch the file again."
            )
