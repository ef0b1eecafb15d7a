"""Reading files that others made: folders, bytes, UTF-8 and JSON, each fault a `DataError` that names the file."""

import hashlib
import json
import pathlib
from collections.abc import Callable, Iterable

from vatex_jax.errors import DataError


def git_blob_sha1(data: bytes) -> str:
    """The hash git gives a file with these bytes."""
    digest = hashlib.sha1(b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


def list_folder(folder: pathlib.Path) -> list[pathlib.Path]:
    """What lies in a folder, sorted by name.

    Raises:
      DataError: it is no folder, or cannot be read.
    """
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError as error:
        raise DataError(f"{folder}: no such folder.") from error
    except NotADirectoryError as error:
        raise DataError(f"{folder}: not a folder.") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DataError(f"{str(folder)!r}: cannot be listed ({error}).") from error


def check_regular(path: pathlib.Path) -> None:
    """Refuses what is no regular file: a pipe would be waited on for ever.

    Raises:
      DataError: it is missing, no regular file, or cannot be looked at.
    """
    try:
        if not path.exists() and not path.is_symlink():
            raise DataError(f"{path}: no such file.")
        if not path.is_file():
            raise DataError(f"{path}: not a regular file (a folder, a pipe or a link that leads nowhere).")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error


def read_bytes(path: pathlib.Path) -> bytes:
    """A regular file's bytes.

    Raises:
      DataError: it is missing, no regular file, or cannot be read.
    """
    check_regular(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error


def decode(data: bytes, name: str) -> str:
    """UTF-8 text, with or without a byte order mark.

    Raises:
      DataError: it is none.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{name}: is UTF-16 text. Save it as UTF-8.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Without the three bytes of a byte order mark, which the codec leaves out of its count.
        offset = error.start + (3 if data.startswith(b"\xef\xbb\xbf") else 0)
        raise DataError(
            f"{name}: byte {data[offset] if offset < len(data) else 0:#04x} at offset {offset} is not UTF-8. "
            "Save the file as UTF-8, or fetch it again if it was damaged."
        ) from error


def parse_json(
    text: str, name: str, what: str, convert: Callable[[dict[str, object]], object] = lambda record: record
) -> object:
    """The value of a JSON text in which no object has a field twice.

    Args:
      text: the JSON.
      name: the file's name, for messages.
      what: what the file is of, for messages: `captions`.
      convert: makes of each object, as soon as it closes, what stands for it in the value.

    Raises:
      DataError: it is no such text.
    """

    def close(items: list[tuple[str, object]]) -> object:
        record = dict(items)
        if len(record) < len(items):
            keys = [key for key, _ in items]
            repeated = next(key for key in keys if keys.count(key) > 1)
            raise DataError(f"{name}: a record has the field {repeated!r} twice: {shorten(record)}. Remove one.")
        return convert(record)

    try:
        return json.loads(text, object_pairs_hook=close)
    except json.JSONDecodeError as error:
        if not text.strip():
            raise DataError(f"{name}: is empty. Fetch it again.") from error
        ended = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        hint = "the file ends in the middle: fetch it again" if ended else "mend it there, or fetch the file again"
        raise DataError(
            f"{name}: not JSON at line {error.lineno}, column {error.colno} ({error.msg}); {hint}."
        ) from error
    except RecursionError as error:
        raise DataError(f"{name}: lists nested too deeply. Is it a file of {what}?") from error
    except ValueError as error:  # a number of more digits than Python converts
        raise DataError(f"{name}: not JSON of {what} ({error}).") from error


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    names: Iterable[tuple[type | tuple[type, ...], str]] = (
        (bool, "a truth value"),
        ((int, float), "a number"),
        (str, "text"),
        (list, "a list"),
        (dict, "an object"),
    )
    return next((name for of, name in names if isinstance(value, of)), "null")


def shorten(value: object) -> str:
    """A value in ASCII, for messages: at most 60 characters."""
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."


def show(value: object) -> str:
    """A single value itself, for messages, and of any other what it is."""
    return kind(value) if isinstance(value, (list, dict)) else shorten(value)
