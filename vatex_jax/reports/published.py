"""The papers' own figures, from published.json beside this file.

They are shown next to ours, never mixed with them: another data set, another tokeniser and other seeds made them.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from vatex_jax.errors import ConfigError

PATH = Path(__file__).with_name("published.json")


@cache
def tables() -> dict[str, dict[str, Any]]:
    """Returns {table: {"caption", "source", "columns": [name], "rows": {row: {"label", "values", "half_widths"?}}}}.

    `values` follow `columns`; null where the paper gives no figure. `half_widths`, where the paper gives any, are the
    figures behind its plus-minus signs. Column names are our metric names, behind a prefix where there are several.
    """
    return json.loads(PATH.read_text(encoding="utf-8"))


def figure(table: str, row: str, column: str) -> float | None:
    """Returns the paper's figure, None where the paper has no such row or column.

    Raises:
      ConfigError: for a table that is not in published.json.
    """
    return _lookup(table, row, column, "values")


def half_width(table: str, row: str, column: str) -> float | None:
    """Returns the figure behind the paper's plus-minus sign, None where it gives none."""
    return _lookup(table, row, column, "half_widths")


def _lookup(table: str, row: str, column: str, field: str) -> float | None:
    if table not in tables():
        raise ConfigError(f"no published table {table!r}; there are {', '.join(tables())}")
    entry = tables()[table]
    if row not in entry["rows"] or column not in entry["columns"] or field not in entry["rows"][row]:
        return None
    found = entry["rows"][row][field][entry["columns"].index(column)]
    return None if found is None else float(found)  # counts are whole numbers in the file
