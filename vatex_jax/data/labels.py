"""Action labels of VaTeX's videos, from the Kinetics CSV files (`label,youtube_id,time_start,time_end,split`).

VaTeX took its training and validation videos from Kinetics-600; a `videoID` is the YouTube id and the clip's start and
end in whole seconds, six digits each. Every fault is a `DataError` that names the file, the row and the column.
"""

import csv
import dataclasses
import io
import pathlib
from collections.abc import Mapping

from vatex_jax.data.json_files import git_blob_sha1, list_folder, read_bytes
from vatex_jax.errors import DataError

COLUMNS = ("label", "youtube_id", "time_start", "time_end", "split")
_MAX_SECONDS = 999_999


@dataclasses.dataclass(frozen=True)
class Labels:
    """`names[number_of[video_id]]` is a video's action; `sha1` the git blob hash of each file read, by file name."""

    names: tuple[str, ...] = ()
    number_of: Mapping[str, int] = dataclasses.field(default_factory=dict)
    sha1: Mapping[str, str] = dataclasses.field(default_factory=dict)


def read_labels(folder: pathlib.Path) -> tuple[Labels, list[str]]:
    """Reads every Kinetics CSV file in `folder` itself; returns also a remark for each CSV file that is none.

    Label numbers follow the sorted names of all the files' labels, so they do not depend on which captions are there.

    Raises:
      DataError: a malformed file, or one video with two labels.
    """
    label_of: dict[str, tuple[str, pathlib.Path]] = {}
    names: set[str] = set()
    sha1, remarks = {}, []
    for path in list_folder(folder):
        if path.suffix.lower() != ".csv":
            continue
        data = read_bytes(path)
        labels = parse_labels(data, str(path))
        if labels is None:
            remarks.append(f"{path.name}: not used, since it lacks the columns {', '.join(COLUMNS)}")
            continue
        sha1[path.name] = git_blob_sha1(data)
        for video_id, label in labels.items():
            known, where = label_of.setdefault(video_id, (label, path))
            if known != label:
                raise DataError(
                    f"{path}, column label: the video {video_id!r} is {label!r} there and {known!r} in {where.name}. "
                    "Leave only the right file in the folder."
                )
            names.add(label)
    ordered = tuple(sorted(names))
    number = {name: i for i, name in enumerate(ordered)}
    return Labels(ordered, {video_id: number[label] for video_id, (label, _) in label_of.items()}, sha1), remarks


def parse_labels(data: bytes, name: str) -> dict[str, str] | None:
    """A CSV file's labels by videoID; None where it has other columns. Rows without a label are passed over.

    Raises:
      DataError: it is not UTF-8 or not CSV, a row lacks fields, has no whole number of seconds, or contradicts another.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: not UTF-8 at offset {error.start}. Save it as UTF-8.") from error
    labels: dict[str, str] = {}
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        if not set(COLUMNS) <= set(reader.fieldnames or ()):
            return None
        for row in reader:
            where = f"{name}, line {reader.line_num}"
            if any(row[column] is None for column in COLUMNS):
                raise DataError(f"{where}: has fewer fields than the first line. Fetch the file again.")
            label = row["label"].strip()
            if not label:
                continue
            start, end = (_seconds(row[column], f"{where}, column {column}") for column in ("time_start", "time_end"))
            video_id = f"{row['youtube_id'].strip()}_{start:06d}_{end:06d}"
            if labels.setdefault(video_id, label) != label:
                raise DataError(
                    f"{where}, column label: {label!r}, but {labels[video_id]!r} in an earlier line for the same clip "
                    f"{video_id!r}. Remove one."
                )
    except csv.Error as error:
        raise DataError(f"{name}, line {reader.line_num}: not CSV ({error}). Fetch it again.") from error
    return labels


def _seconds(text: str, where: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not (0 <= value <= _MAX_SECONDS and value == int(value)):
        raise DataError(f"{where}: {text[:40]!r} is not a whole number of seconds. Fetch the file again.")
    return int(value)
