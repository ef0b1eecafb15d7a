"""The VaTeX caption files: finding, checking and reading them.

A caption file is a JSON list of `{"videoID": str, "enCap": [str], "chCap": [str]}`; one or both caption fields may be
missing, as in the official test files. Whatever is wrong with a file becomes a `DataError` that names the file, the
record (1 is the first), the field, and what to do about it.
"""

import dataclasses
import pathlib
import re
import unicodedata
from collections.abc import Iterator, Mapping

from vatex_jax.data.json_files import decode, git_blob_sha1, kind, list_folder, parse_json, read_bytes, shorten
from vatex_jax.data.json_stream import JSONList
from vatex_jax.errors import DataError

PARALLEL_CAPTIONS = 5
"""In the official files the last five captions of each language translate each other (VaTeX, figure 2)."""

SPLITS = ("train", "validation", "public_test", "private_test")

_SPLIT_OF_FILE_WORD = {
    "training": "train",
    "validation": "validation",
    "public_test": "public_test",
    "private_test": "private_test",
}
ACCEPTED_NAMES = (
    "vatex_training*.json, vatex_validation*.json, vatex_public_test*.json, vatex_public_test_english*.json, "
    "vatex_private_test*.json"
)

OFFICIAL_BLOBS = {
    "3e241624b917c317368c5cda3ed9f6f612532ace": "train",
    "98f4207d1fa56d018ca7e6083da060e61a5b976f": "validation",
    "21e2c1e43bd7904a997a9e05ac15f371382dfbcf": "public_test",
}
"""Git blob SHA-1 of the published caption files (`git hash-object FILE` prints it)."""

# A video's id is also the stem of its feature file, and file systems allow 255 bytes a name.
MAX_ID_BYTES = 255 - len(".npy")


@dataclasses.dataclass(frozen=True)
class CaptionedVideo:
    """One record: the video's id and its captions, verbatim and in the file's order."""

    video_id: str
    en: tuple[str, ...]
    zh: tuple[str, ...]

    @property
    def pairs(self) -> int:
        """How many captions, counted from the end of both lists, translate each other."""
        return min(PARALLEL_CAPTIONS, len(self.en), len(self.zh))


@dataclasses.dataclass(frozen=True)
class CaptionFile:
    """A caption file that was read: `sha1` is its git blob hash, `official` whether that is a published file's."""

    path: pathlib.Path
    split: str
    sha1: str
    official: bool
    videos: tuple[CaptionedVideo, ...]


def split_of(name: str) -> str | None:
    """The split a caption file's name stands for; None where the name is not one of `ACCEPTED_NAMES`."""
    match = re.fullmatch(r"vatex_(training|validation|public_test|private_test).*\.json", name, re.DOTALL)
    return _SPLIT_OF_FILE_WORD[match[1]] if match else None


def find_caption_files(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """The caption files that lie in `folder` itself, by split, in the order of `SPLITS`.

    Raises:
      DataError: there is none, one has an unknown name, or two are for one split.
    """
    found: dict[str, pathlib.Path] = {}
    for path in list_folder(folder):
        if not (path.name.startswith("vatex_") and path.name.endswith(".json")):
            continue
        split = split_of(path.name)
        if split is None:
            raise DataError(
                f"{path}: not a caption file name this builder knows. It reads {ACCEPTED_NAMES}; "
                "rename the file or move it to another folder."
            )
        if split in found:
            raise DataError(
                f"{found[split]} and {path.name} are both captions of the split {split}. "
                "Leave only the one to be used in the folder."
            )
        found[split] = path
    if not found:
        raise DataError(f"{folder}: no caption file there. Put at least one of {ACCEPTED_NAMES} into it.")
    return {split: found[split] for split in SPLITS if split in found}


def read_captions(path: pathlib.Path) -> CaptionFile:
    """Reads and checks one caption file whose name says its split.

    Raises:
      DataError: see `parse_captions`.
    """
    split = split_of(path.name)
    if split is None:
        raise DataError(f"{path}: not a caption file name this builder knows. It reads {ACCEPTED_NAMES}.")
    data = read_bytes(path)
    sha1 = git_blob_sha1(data)
    videos = tuple(parse_captions(data, str(path)))
    return CaptionFile(path, split, sha1, OFFICIAL_BLOBS.get(sha1) == split, videos)


def stream_captions(path: pathlib.Path) -> Iterator[CaptionedVideo]:
    """The records of a caption file of any name, plain or gzipped, one by one: of the others the ids alone are held.

    Raises:
      DataError: see `parse_captions`.
    """
    number = 0
    first_with: dict[str, int] = {}
    for number, record in enumerate(JSONList(path), start=1):
        yield _checked(record, number, str(path), first_with)
    if number == 0:
        raise _is_empty(str(path))


def check_splits(files: Mapping[str, CaptionFile]) -> list[str]:
    """Looks for videos that are in two splits; returns remarks on those that do no harm.

    A video with captions in two splits would be trained on and scored: an error, unless both files are the published
    ones, which nobody can mend. A record without captions (the private test) can leak nothing and gets a remark.

    Raises:
      DataError: a captioned video of one split has captions in another too.
    """
    seen: dict[str, tuple[CaptionFile, CaptionedVideo]] = {}
    harmless: dict[tuple[str, str], int] = {}
    for file in files.values():
        for number, video in enumerate(file.videos, start=1):
            if video.video_id not in seen:
                seen[video.video_id] = file, video
                continue
            other_file, other = seen[video.video_id]
            captioned = bool((video.en or video.zh) and (other.en or other.zh))
            if captioned and not (file.official and other_file.official):
                raise DataError(
                    f"{file.path}, record {number} (videoID {video.video_id!r}), field videoID: {other_file.path.name} "
                    "has captions of the same video. Remove it from one of the two files, so that nothing is trained "
                    "on and scored."
                )
            pair = other_file.split, file.split
            harmless[pair] = harmless.get(pair, 0) + 1
    return [f"{count} videos are in both {one} and {two}" for (one, two), count in harmless.items()]


def parse_captions(data: bytes, name: str) -> list[CaptionedVideo]:
    """Reads a caption file's bytes: UTF-8 JSON, with or without a byte order mark. `name` is for messages.

    Raises:
      DataError: anything at all is wrong with it.
    """
    records = parse_json(decode(data, name), name, "captions")
    if not isinstance(records, list):
        raise DataError(f"{name}: holds {kind(records)}, not a list of records. Is it a VaTeX caption file?")
    if not records:
        raise _is_empty(name)
    first_with: dict[str, int] = {}
    return [_checked(record, number, name, first_with) for number, record in enumerate(records, start=1)]


def _checked(record: object, number: int, name: str, first_with: dict[str, int]) -> CaptionedVideo:
    """The record with this number, whose id must be new; `first_with` remembers the ids."""
    video = _parse_record(record, f"{name}, record {number}")
    if video.video_id in first_with:
        raise DataError(
            f"{name}, record {number} (videoID {video.video_id!r}), field videoID: record "
            f"{first_with[video.video_id]} has the same id. Remove or merge one of them."
        )
    first_with[video.video_id] = number
    return video


def _is_empty(name: str) -> DataError:
    return DataError(f"{name}: the list of records is empty. Remove the file if there is no such split.")


def _parse_record(record: object, where: str) -> CaptionedVideo:
    if not isinstance(record, dict):
        raise DataError(f'{where}: is {kind(record)}, not an object like {{"videoID": ..., "enCap": [...]}}.')
    if "videoID" not in record:
        raise DataError(f"{where}: has no field videoID, only {shorten(sorted(record))}.")
    video_id = check_id(record["videoID"], f"{where}, field videoID")
    where = f"{where} (videoID {video_id!r})"
    unknown = sorted(set(record) - {"videoID", "enCap", "chCap"})
    if unknown:
        raise DataError(f"{where}: unknown field {shorten(unknown[0])}; the fields are videoID, enCap and chCap.")
    return CaptionedVideo(
        video_id,
        check_captions(record.get("enCap", []), f"{where}, field enCap"),
        check_captions(record.get("chCap", []), f"{where}, field chCap"),
    )


def check_id(value: object, where: str) -> str:
    """The id of a video, fit for a file's name; DataError where it is none."""
    if not isinstance(value, str):
        raise DataError(f"{where}: is {kind(value)}, not text.")
    fault = None
    if not value.strip():
        fault = "is empty"
    elif value in (".", ".."):
        fault = f"is {value!r}, which names a folder"
    elif any(unicodedata.category(c) in ("Cc", "Cs") or c in "/\\\u2028\u2029" for c in value):
        fault = f"{shorten(value)} holds a path separator, a control character or half a surrogate pair"
    elif len(value.encode("utf-8")) > MAX_ID_BYTES:
        fault = f"{shorten(value)} is longer than {MAX_ID_BYTES} bytes"
    if fault:
        raise DataError(f"{where}: {fault}; feature files are named by it, so it must be fit for a file name.")
    return value


def check_captions(value: object, where: str) -> tuple[str, ...]:
    """A list of visible captions that UTF-8 can hold; DataError where it is none."""
    if not isinstance(value, list):
        raise DataError(f"{where}: is {kind(value)}, not a list of captions. Leave the field out where there are none.")
    for number, caption in enumerate(value, start=1):
        which = f"{where}, caption {number} of {len(value)}"
        if not isinstance(caption, str):
            raise DataError(f"{which}: is {kind(caption)}, not text.")
        if not is_visible(caption):
            raise DataError(f"{which}: is empty ({shorten(caption)}). Remove it, or the whole record.")
        fault = next((c for c in caption if c == "\0" or "\ud800" <= c <= "\udfff"), None)
        if fault is not None:
            raise DataError(f"{which}: holds {fault!a}, which is no character of a text. Remove it.")
    return tuple(value)


def is_visible(caption: str) -> bool:
    """Whether there is more to it than white space, control and zero-width characters."""
    return any(not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf") for c in caption)
