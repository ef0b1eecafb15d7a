"""Each metric of the revised evaluation against the number of generations k (visual dialogue paper, figure 3).

    python -m vatex_jax.reports.generation_curves runs/generative_eval --out=generations.png

One picture of one data set: a row of panels for each kind of reference sets, a line a model with the mean, a band of
one standard deviation over the k generations of a question to each side, and a dashed line with the best of them.
"""

import argparse
import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vatex_jax.errors import DataError
from vatex_jax.reports.caption_sheet import check_out
from vatex_jax.reports.cells import load_runs, one_dataset, origin
from vatex_jax.reports.commands import answer
from vatex_jax.reports.plots import COLOURS, figure_axes, literal

TITLES = {
    **{f"cider{n}": f"CIDEr n={n}" for n in range(1, 5)},
    **{f"sbleu{n}": f"BLEU n={n}" for n in range(1, 5)},
    "meteor1": "METEOR",
    "bert_l2": "BERT L2 (less is better)",
    "bert_cs": "BERT CS",
    "fasttext_l2": "words L2 (less is better)",
    "fasttext_cs": "words CS",
}
"""Panels in the paper's order."""

_NAME = re.compile(r"([^/]+)/k([1-9][0-9]*)/([^/]+)/mean")
_COLUMNS = 7
_WIDTH, _HEIGHT = 2.5, 2.3  # inches of a panel


@dataclass(frozen=True)
class Curve:
    """A metric of a model by k: mean, deviation over the k generations, best; NaN where a result lacks one."""

    ks: tuple[int, ...]
    mean: tuple[float, ...]
    k_std: tuple[float, ...]
    best: tuple[float, ...]


def curves(metrics: Mapping[str, float]) -> dict[str, dict[str, Curve]]:
    """The curves of a result's metrics: by reference sets, then by metric in the order of `TITLES`."""
    ks: dict[str, dict[str, list[int]]] = {}
    for sets, k, metric in (match.groups() for name in metrics if (match := _NAME.fullmatch(name))):
        ks.setdefault(sets, {}).setdefault(metric, []).append(int(k))

    def curve(sets: str, metric: str) -> Curve:
        places = sorted(ks[sets][metric])
        columns = (
            tuple(float(metrics.get(f"{sets}/k{k}/{metric}/{name}", math.nan)) for k in places)
            for name in ("mean", "k_std", "best")
        )
        return Curve(tuple(places), *columns)

    return {sets: {metric: curve(sets, metric) for metric in TITLES if metric in own} for sets, own in ks.items()}


def draw_curves(models: Mapping[str, Mapping[str, float]], path: str | os.PathLike, note: str = "") -> None:
    """Draws the curves of several models.

    Args:
        models: each one's metrics (of results.json), all of one data set.
        path: the picture, a .png.
        note: what data it is.

    Raises:
        DataError: there is nothing to draw.
    """
    found = {name: curves(metrics) for name, metrics in models.items()}
    panels = [
        (sets, metric)
        for sets in dict.fromkeys(sets for own in found.values() for sets in own)
        for metric in TITLES
        if any(metric in own.get(sets, {}) for own in found.values())
    ]
    if not panels:
        raise DataError("no result holds a metric of k generations to draw; make some with configs/generative_eval.py")
    rows = _rows(panels)
    with figure_axes(
        path, _WIDTH * max(map(len, rows)), _HEIGHT * len(rows) + 0.6, max(map(len, rows)), note, len(rows)
    ) as axes:
        grid = iter(axes)
        for row in rows:
            for panel in [*row, *[None] * (max(map(len, rows)) - len(row))]:
                _panel(next(grid), panel, found)
        handles, labels = axes[0].get_legend_handles_labels()
        axes[0].figure.legend(handles, labels, loc="outside lower center", ncols=min(6, len(labels)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Draws the results under some folders; returns the exit status, 2 after an error of the person's."""
    parser = argparse.ArgumentParser(
        prog="python -m vatex_jax.reports.generation_curves", description=__doc__.splitlines()[0]
    )
    parser.add_argument("folders", nargs="+", type=Path, help="searched at any depth for results.json")
    parser.add_argument("--out", required=True, type=Path, help="the picture, a .png")
    chosen = parser.parse_args(arguments)
    return answer(lambda: _drawn(chosen.folders, chosen.out), chosen.out)


def _drawn(folders: Sequence[Path], out: Path) -> Path:
    check_out(out)
    draw_runs([run.result for run in load_runs(folders)], out)
    return out


def draw_runs(found: Sequence[dict[str, Any]], path: str | os.PathLike) -> None:
    """Draws results of one data set; of several seeds of a model the first.

    Raises:
        DataError: there is none, or they are of several data sets.
    """
    own = sorted((one for one in found if one["experiment"] == "generative_eval"), key=lambda one: one["seed"])
    dataset = one_dataset(own)
    models: dict[str, dict[str, float]] = {}
    for one in own:
        models.setdefault(one["variant"], one["metrics"])
    draw_curves(models, path, f"{origin(dataset)}, {dataset['split']} split")


def _rows(panels: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Rows of at most `_COLUMNS` panels, about equally full, a new one for each kind of sets."""
    rows = []
    for sets in dict.fromkeys(sets for sets, _ in panels):
        own = [panel for panel in panels if panel[0] == sets]
        width = math.ceil(len(own) / math.ceil(len(own) / _COLUMNS))
        rows += [own[start : start + width] for start in range(0, len(own), width)]
    return rows


def _panel(axis: Any, panel: tuple[str, str] | None, found: Mapping[str, Mapping[str, Mapping[str, Curve]]]) -> None:
    if panel is None:
        axis.axis("off")
        return
    sets, metric = panel
    ticks: set[int] = set()
    for number, (model, own) in enumerate(found.items()):
        curve = own.get(sets, {}).get(metric)
        if curve is None:
            continue
        colour, ticks = COLOURS[number % len(COLOURS)], ticks | {*curve.ks}
        low, high = ([m + sign * s for m, s in zip(curve.mean, curve.k_std, strict=True)] for sign in (-1, 1))
        low = low if metric.endswith("_cs") else [max(0.0, value) for value in low]  # nothing else is below 0
        axis.fill_between(
            curve.ks, low, high, color=colour, alpha=0.15, linewidth=0, label=f"{literal(model)}, std over k"
        )
        axis.plot(curve.ks, curve.mean, color=colour, marker="o", markersize=3, label=f"{literal(model)}, mean")
        axis.plot(curve.ks, curve.best, color=colour, linestyle="--", linewidth=1, label=f"{literal(model)}, best of k")
    axis.set_title(f"{literal(sets)}: {TITLES[metric]}", fontsize=8)
    axis.set_xticks(sorted(ticks))
    axis.tick_params(labelsize=7)
    axis.set_xlabel("k", fontsize=8)
    axis.grid(alpha=0.3)


if __name__ == "__main__":
    sys.exit(main())
