"""Files that people save from a page of tasks (`pages/tasks.js`): what all of them hold, checked."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vatex_jax.errors import DataError
from vatex_jax.files import read_json

_SAVED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)  # ordered as texts are
_LONGEST = 1e9  # seconds, thirty years


def read_saved(
    path: Path, schema: str, page: str, is_own: Callable[[Mapping[str, Any]], bool], wanted: str
) -> dict[str, Any]:
    """A file that a page saved, with its name as `path`.

    Args:
        path: the file.
        schema: that it must name.
        page: what the page is for, for messages.
        is_own: whether an entry has what this page's have besides id, done and seconds.
        wanted: what an entry has, for messages.

    Raises:
        DataError: it is no such file; the message names the field.
    """
    value = read_json(path)
    if not isinstance(value, dict) or value.get("schema") != schema:
        raise DataError(f"{path}: not the results of a {page} page ({schema!r}). Leave it out.")
    for name in ("batch", "file", "annotator", "saved"):
        if not isinstance(value.get(name), str) or not value[name]:
            raise DataError(f"{path}: the field {name!r} must be a text; the file is damaged.")
    if not re.fullmatch(r"[\w.-]{1,40}", value["annotator"]):
        raise DataError(
            f"{path}: {value['annotator']!r} is no annotator id: letters, digits, '.', '-', '_', 40 at most."
        )
    if not _SAVED.fullmatch(value["saved"]):  # by it is settled which of two files counts
        raise DataError(
            f"{path}: the field 'saved' is {value['saved'][:40]!a}, no time of the page's; the file is damaged."
        )
    if not isinstance(value.get("tasks"), list):
        raise DataError(f"{path}: the field 'tasks' must be a list; the file is damaged.")
    for number, entry in enumerate(value["tasks"]):
        if not (_is_entry(entry) and is_own(entry)):
            raise DataError(f"{path}: task {number} is damaged: wanted are {wanted}.")
    return value | {"path": str(path)}


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("id"), str)
        and isinstance(entry.get("done"), bool)
        and type(entry.get("seconds")) in (int, float)
        and 0 <= entry["seconds"] <= _LONGEST
    )
