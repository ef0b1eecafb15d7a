"""Files that appear whole: written beside their final name, flushed to the disk, then renamed.

A reader, also one that comes after a kill or a power cut, sees the old file or the new one, never half of it.
"""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from vatex_jax.errors import DataError


def cache_folder() -> Path:
    """What can be made anew lies here: `vatex_jax` in $XDG_CACHE_HOME, or in ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "vatex_jax")


@contextlib.contextmanager
def open_whole(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A binary file to write piece by piece, which takes the place of `path` in one step when the block ends well.

    The parent folder is made where missing; whatever ends the block otherwise leaves `path` as it was.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # One folder, so that the rename stays inside one file system; a name of its own, so that two writers do not mix.
    descriptor, beside = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, 0o666 & ~_umask())  # mkstemp makes files only their owner may read
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def write_bytes_whole(path: str | os.PathLike, content: bytes) -> None:
    """Writes `content` to `path`, replacing what was there in one step; the parent folder is made where missing."""
    with open_whole(path) as file:
        file.write(content)


def write_text_whole(path: str | os.PathLike, text: str) -> None:
    """Writes `text` to `path` as UTF-8, line ends as given, in one step."""
    write_bytes_whole(path, text.encode("utf-8"))


def write_json_whole(path: str | os.PathLike, value: object, indent: int | None = 2) -> None:
    """Writes `value` to `path` as standard JSON (a NaN or an infinity is a ValueError) with a line end, in one step."""
    write_bytes_whole(path, json_bytes(value, indent) + b"\n")


def json_bytes(value: object, indent: int | None = None) -> bytes:
    """Standard JSON in UTF-8; in ASCII, escaped, where a text holds half a character (a lone surrogate).

    UTF-8 cannot hold one, JSON can, and files of others have them.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, indent=indent).encode("ascii")


def write_json_lines_whole(path: str | os.PathLike, records: Iterable[object]) -> None:
    """Writes a JSON value a line, in one step.

    Line separators that JSON allows within strings, but at which `str.splitlines` cuts, are escaped.
    """
    write_bytes_whole(path, b"".join(json_line(record) for record in records))


def json_line(record: object) -> bytes:
    """A JSON value on a line of its own, whatever cuts lines."""
    line = json_bytes(record)
    for separator, escaped in _SEPARATORS.items():
        line = line.replace(separator, escaped)
    return line + b"\n"


_SEPARATORS = {chr(code).encode(): f"\\u{code:04x}".encode() for code in (0x85, 0x2028, 0x2029)}


def _umask() -> int:
    """The process's umask; the system only tells it in exchange for a new one."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_json(path: str | os.PathLike) -> object:
    """The value of a JSON file, with or without a byte order mark.

    Raises:
        DataError: the file cannot be read, is no UTF-8 JSON, or has an object with a field twice.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8-sig"), object_pairs_hook=fields_once)
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read as JSON ({error}).") from error


def fields_once(items: Iterable[tuple[str, object]]) -> dict[str, object]:
    """A JSON object of its fields, for `object_pairs_hook`; ValueError where one stands there twice and would win."""
    items = list(items)
    record = dict(items)
    if len(record) < len(items):
        keys = [key for key, _ in items]
        raise ValueError(f"the field {next(key for key in keys if keys.count(key) > 1)!r} stands there twice")
    return record
