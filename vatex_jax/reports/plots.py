"""Pictures of a run: training curves, a table as bars, attention over segments or words.

matplotlib is imported when a picture is drawn, not before, and draws to files only (Agg). Chinese is set in Noto Sans
SC from the package `pylopdf-fonts-zh-cn`, whose wheel holds the font: no system font is needed.
"""

import io
import itertools
import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from vatex_jax.errors import DataError
from vatex_jax.files import write_bytes_whole
from vatex_jax.reports.cells import Block, Table, kind, mean_and_half_width

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")  # told apart also by colour-blind readers


def training_curves(metrics_file: str | os.PathLike, path: str | os.PathLike, note: str = "") -> None:
    """Draws loss and scores against the step from metrics.jsonl, each series under its own name.

    A dotted line stands where a stage of training ends. `note` says what data it was (`cells.origin`).

    Raises:
      DataError: for a line that is not a JSON object with a step, or a file without anything to draw.
    """
    series = read_series(metrics_file)
    panels = {
        "loss (nats a word)": {name: points for name, points in series.items() if name.split("/")[-1] == "loss"},
        "BLEU-4": {name: points for name, points in series.items() if name.split("/")[-1] == "bleu4"},
        "CIDEr": {name: points for name, points in series.items() if name.split("/")[-1] == "cider"},
    }
    panels = {title: curves for title, curves in panels.items() if curves}
    if not panels:
        raise DataError(f"{metrics_file}: holds neither a loss nor a bleu4 or cider to draw")
    stages = series.get("stage", [])
    ends = [step for (step, stage), (_, following) in itertools.pairwise(stages) if following != stage]
    with figure_axes(path, width=5.0 * len(panels), height=3.6, columns=len(panels), note=note) as axes:
        for axis, (title, curves) in zip(axes, panels.items(), strict=True):
            for colour, (name, points) in zip(_cycle(), curves.items(), strict=False):
                # A lone point would be an invisible line.
                axis.plot(*zip(*points, strict=True), color=colour, label=name, marker="o", markersize=3)
            for end in ends:
                axis.axvline(end, color="black", linestyle=":", linewidth=1)
            axis.set(title=title, xlabel="step")
            axis.xaxis.get_major_locator().set_params(integer=True)
            axis.grid(alpha=0.3)
            axis.legend()


def read_series(metrics_file: str | os.PathLike) -> dict[str, list[tuple[int, float]]]:
    """Returns {metric: [(step, value)]} of a metrics.jsonl, by step; the later line wins where a step was repeated.

    A half line at the end, as a kill may leave, is left out.

    Raises:
      DataError: naming the line that is not a JSON object with an integer `step`.
    """
    series: dict[str, dict[int, float]] = {}
    try:
        text = Path(metrics_file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{metrics_file}: cannot be read: {error}") from error
    for number, line in enumerate(text[: text.rfind("\n") + 1].splitlines(), start=1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataError(f"{metrics_file}, line {number}: no JSON: {error}") from error
        if not isinstance(record, dict) or not isinstance(record.get("step"), int):
            raise DataError(f"{metrics_file}, line {number}: must be an object with an integer 'step'")
        for name, value in record.items():
            if name != "step" and isinstance(value, (int, float)):
                series.setdefault(name, {})[record["step"]] = float(value)
    return {name: sorted(points.items()) for name, points in series.items()}


def table_bars(table: Table, block: Block, path: str | os.PathLike) -> None:
    """Draws one data set's cells as bars with their 95% t-intervals, and the paper's figures in a panel of their own.

    Rows without runs leave a gap. The two panels have their own scales: they show different data.
    """
    labels = [row.label for row in table.rows]
    ours = [[mean_and_half_width(block.cells[label, column.label], column.metric) for label in labels]
            for column in table.columns]  # fmt: skip
    paper = [[table.paper(row, column) for row in table.rows] for column in table.columns]
    papers = [[(math.nan if x is None else x, math.nan) for x in column] for column in paper]
    height = 1.2 + 0.28 * len(labels) * len(table.columns)
    with figure_axes(path, width=11.0, height=height, columns=2) as axes:
        for axis, cells, title in (
            (axes[0], ours, f"ours: {block.dataset['name']}, {kind(block.dataset).partition(' (')[0]}"),
            (axes[1], papers, "paper: VaTeX"),
        ):
            _bars(axis, labels, [column.label for column in table.columns], cells)
            axis.set(title=title, xlabel=table.title.rpartition(", ")[2])
        axes[1].set_yticklabels([])
        handles, names = axes[0].get_legend_handles_labels()
        axes[0].figure.legend(handles, names, loc="outside lower center", ncols=min(4, len(names)))


def attention_heatmap(
    weights: Float[np.ndarray, "T L"],
    target_words: Sequence[str],
    columns: Sequence[str],
    path: str | os.PathLike,
    title: str = "",
    xlabel: str = "",
    note: str = "",
) -> None:
    """Draws attention weights as a heat map: a row a target word, a column a video segment or source word.

    Args:
      weights: [T, L], from 0 (white) to 1.
      target_words: T words, English, Chinese or both.
      columns: L labels, for example segment times or source words.
      path: the picture, a .png.
      title, xlabel: shown above, and below the columns.
      note: what data it is (`cells.origin`).

    Raises:
      DataError: where labels and weights do not fit, or there is nothing to draw.
    """
    if weights.shape != (len(target_words), len(columns)) or weights.size == 0:
        raise DataError(
            f"an attention map of shape {weights.shape} is not {len(target_words)} words by {len(columns)} columns"
        )
    width, height = (min(24.0, size) for size in (2.5 + 0.36 * len(columns), 1.8 + 0.32 * len(target_words)))
    with figure_axes(path, width=width, height=height, columns=1, note=note) as (axis,):
        image = axis.imshow(weights, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest")
        axis.set_yticks(range(len(target_words)), [literal(word) for word in target_words])
        axis.set_xticks(range(len(columns)), [literal(label) for label in columns], rotation=60, ha="right",
                        rotation_mode="anchor")  # fmt: skip
        axis.figure.colorbar(image, ax=axis, label="attention weight")
        axis.set(title=literal(title), xlabel=xlabel)


def rank_histogram(shares: Float[np.ndarray, "c"], path: str | os.PathLike, note: str = "") -> None:
    """Draws how often the ground truth has each rank (visual dialogue paper, figure 2), with what chance would give.

    Args:
      shares: of the questions, by rank from 1 (`metrics.ranking.rank_distribution`).
      path: the picture, a .png.
      note: what data and model it is.
    """
    with figure_axes(path, width=7.0, height=3.6, columns=1, note=note) as (axis,):
        places = np.arange(1, len(shares) + 1)
        axis.bar(places, 100.0 * shares, width=1.0, color=COLOURS[0])
        axis.axhline(100.0 / len(shares), color="black", linestyle=":", linewidth=1, label="chance")
        axis.set(xlabel="rank of the ground truth", ylabel="questions, %", xlim=(0.5, len(shares) + 0.5))
        axis.legend()


def _bars(axis: Any, labels: list[str], groups: list[str], cells: list[list[tuple[float, float]]]) -> None:
    """Draws horizontal bars, first row on top; cells[group][label] is (value, half width), either may be NaN."""
    thickness = 0.8 / len(groups)
    for i, (group, colour, column) in enumerate(zip(groups, _cycle(), cells, strict=False)):
        positions = np.arange(len(labels)) + (i - (len(groups) - 1) / 2) * thickness
        values = np.array([value for value, _ in column])
        halves = np.array([half for _, half in column])
        axis.barh(positions, values, thickness, color=colour, label=group)
        shown = np.isfinite(values) & np.isfinite(halves)
        axis.errorbar(values[shown], positions[shown], xerr=halves[shown], fmt="none", ecolor="black", capsize=2)
    axis.set_yticks(range(len(labels)), labels)
    axis.set_ylim(len(labels) - 0.5, -0.5)
    axis.grid(axis="x", alpha=0.3)


@contextmanager
def figure_axes(
    path: str | os.PathLike, width: float, height: float, columns: int, note: str = "", rows: int = 1
) -> Iterator[list[Any]]:
    """Yields the axes of a new figure of so many inches, row by row, and writes it to `path`, whole, at the end.

    `note` stands small at the top: the data a picture shows, since pictures leave the folders that say it.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A Figure of its own, not pyplot's: nothing global is left behind, and a notebook's backend stays as it is.
    with matplotlib.rc_context({"font.family": _font_families(), "font.size": 10}):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        if note:
            figure.suptitle(literal(note), fontsize=8, color="#707070")
        yield list(figure.subplots(rows, columns, squeeze=False).flat)
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=150)
    write_bytes_whole(path, picture.getvalue())


def _font_families() -> list[str]:
    """Returns matplotlib's own font, then the Chinese one, which fills in what the first lacks."""
    from matplotlib import font_manager

    if not any(entry.name == "Noto Sans SC" for entry in font_manager.fontManager.ttflist):
        with as_file(files("pylopdf_fonts_zh_cn") / "NotoSansSC-Regular.otf") as font:
            font_manager.fontManager.addfont(font)
    return ["DejaVu Sans", "Noto Sans SC"]


def literal(text: str) -> str:
    """A dollar sign starts mathematics in matplotlib; in a caption it is money."""
    return text.replace("$", r"\$")


def _cycle() -> Iterator[str]:
    while True:
        yield from COLOURS
