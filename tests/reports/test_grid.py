"""Columns line up on a screen where Chinese takes two places a character."""

import pytest

from vatex_jax.reports.grid import display_width, markdown_grid, pad, text_grid


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("bat", 3),
        ("球棒", 4),
        ("，", 2),
        ("a球", 3),
        ("😀", 2),
        ("é", 1),
        ("e\u0301", 1),
        ("Ａ", 2),
        ("a\u200b", 1),
    ],
)
def test_widths(text, width):
    assert display_width(text) == width


def test_padding_never_cuts():
    assert pad("球", 4) == "球  "
    assert pad("球", 4, right=True) == "  球"
    assert pad("long", 2) == "long"


def test_a_grid_by_hand():
    grid = text_grid(["word", "BLEU"], [["球棒球", "3.00"], ["a", "12.50"]], [False, True])
    assert grid.split("\n") == ["word     BLEU", "------  -----", "球棒球   3.00", "a       12.50"]


def test_cells_cannot_break_markdown():
    grid = markdown_grid(["a|b", "n"], [["x\ny", "1"], ["c\\|d", "2"]], [False, True])
    assert grid.split("\n") == ["| a\\|b | n |", "| --- | ---: |", "| x y | 1 |", "| c\\\\\\|d | 2 |"]
