"""A picture of reference sets: a few questions with their answers (visual dialogue paper, figure 5)."""

import os
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from vatex_jax.reports.plots import figure_axes

_WIDTH = 52
_LINE = 0.19  # inches
_COLUMNS = 2
_BOTH, _OURS, _MISSED = "#0072b2", "#d55e00", "#777777"
_LEGEND = (("in both sets", _BOTH), ("in ours alone", _OURS), ("people's alone", _MISSED))
_MOST = 9
"""Answers of a kind that are shown; the rest are counted."""


def draw_sets(records: Sequence[Mapping[str, Any]], path: str | os.PathLike, note: str = "") -> None:
    """Draws questions with their ground truth and the answers of two sets, told apart by colour and sign.

    Args:
      records: `question`, `answer` (the ground truth), `sigma` (ours) and `human` (people's).
      path: the picture, a .png.
      note: what data and model it is.
    """
    blocks = [_lines(record) for record in records]
    columns = [blocks[start::_COLUMNS] for start in range(_COLUMNS)]
    texts = [[line for block in column for line in [*block, ("", "black")]] for column in columns]
    tallest = max(map(len, texts))
    with figure_axes(path, width=9.5, height=_LINE * (tallest + 4), columns=_COLUMNS, note=note) as axes:
        for axis, lines in zip(axes, texts, strict=True):
            axis.axis("off")
            axis.set(xlim=(0, 1), ylim=(tallest + 1, 0))
            for place, (text, colour) in enumerate(lines):
                axis.text(0, place + 1, text, color=colour, fontsize=8, va="center", parse_math=False)
        for place, (text, colour) in enumerate(_LEGEND):
            axes[0].text(0.33 * place, 0, f"{_SIGNS[colour]} {text}", color=colour, fontsize=8, va="center")


_SIGNS = {_BOTH: "●", _OURS: "▲", _MISSED: "○"}


def _lines(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    ours, human, answer = record["sigma"], set(record["human"]), record["answer"]
    kinds = (
        (_BOTH, [text for text in ours if text in human and text != answer]),
        (_OURS, [text for text in ours if text not in human and text != answer]),
        (_MISSED, [text for text in record["human"] if text not in set(ours) and text != answer]),
    )
    lines = [(piece, "black") for piece in _wrapped(f"Q: {record['question']}")]
    lines += [(piece, "black") for piece in _wrapped(f"  A: {answer} (ground truth)")]
    for colour, texts in kinds:
        lines += [(piece, colour) for text in texts[:_MOST] for piece in _wrapped(f"  {_SIGNS[colour]} {text}")]
        if len(texts) > _MOST:
            lines.append((f"  {_SIGNS[colour]} and {len(texts) - _MOST} more", colour))
    return lines


def _wrapped(text: str) -> list[str]:
    shown = "".join(character if character.isprintable() else " " for character in text)
    return textwrap.wrap(shown, _WIDTH, subsequent_indent="      ", drop_whitespace=False) or [""]
