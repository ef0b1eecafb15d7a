"""Aligned tables for the terminal and for Markdown, with Chinese and emoji two columns wide, as on screen."""

import unicodedata
from collections.abc import Sequence


def display_width(text: str) -> int:
    """Returns the columns `text` takes in a terminal: 2 for wide characters, 0 for marks that join the one before."""
    return sum(_character_width(character) for character in text)


def pad(text: str, width: int, right: bool = False) -> str:
    """Returns `text` filled with spaces to `width` columns, on the left where `right` aligns it; never cut."""
    fill = " " * max(0, width - display_width(text))
    return fill + text if right else text + fill


def text_grid(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Returns a table in plain text: a header, a rule, the rows; columns two spaces apart, no spaces at line ends.

    Args:
      header: one title a column.
      rows: the cells, as many a row as the header has.
      right: whether a column is aligned to the right (figures) or the left (words).
    """
    widths = [max(map(display_width, column)) for column in zip(header, *rows, strict=True)]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(pad(*cell) for cell in zip(line, widths, right, strict=True)).rstrip() for line in lines)


def markdown_grid(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Returns the same table in GitHub's Markdown; bars and line ends inside cells are kept from breaking it."""
    rule = ["---:" if at_right else "---" for at_right in right]
    return "\n".join("| " + " | ".join(_markdown_cell(cell) for cell in line) + " |" for line in [header, rule, *rows])


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _markdown_cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
