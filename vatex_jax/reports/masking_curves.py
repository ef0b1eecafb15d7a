"""BLEU and recovery accuracy against the share of masked words, one line a model: what the video is worth.

python -m vatex_jax.reports.masking_curves results/vatex_table6/vatex_sim --out=masking.png
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vatex_jax.metrics.significance import t_interval
from vatex_jax.reports.caption_sheet import check_out
from vatex_jax.reports.cells import load_runs, one_dataset, origin
from vatex_jax.reports.commands import answer
from vatex_jax.reports.plots import COLOURS, figure_axes

LABELS = {"none": "NMT", "attention": "VMT", "shuffled": "VMT, other videos (control)"}
MARKERS = "os^dv"

Points = Mapping[float, Sequence[float]]
"""By rate, the values of all seeds."""


def series(found: Sequence[Mapping[str, Any]], kind: str, metric: str) -> dict[str, Points]:
    """By variant, a metric at each rate at which words of a kind are masked; 0 is every kind's."""
    lines: dict[str, dict[float, dict[int, float]]] = {}
    for one in found:
        masking = one["config"]["mask"]
        if masking["kind"] == kind or masking["rate"] == 0:
            at = lines.setdefault(one["variant"], {}).setdefault(masking["rate"], {})
            at.setdefault(one["seed"], one["metrics"][metric])  # a seed counts once
    return {
        variant: {rate: list(by_seed.values()) for rate, by_seed in sorted(points.items())}
        for variant, points in lines.items()
    }


def draw_runs(found: Sequence[dict[str, Any]], path: str | Path) -> None:
    """Draws results of masked translation on one data set, means over seeds with 95% t-intervals.

    Args:
        found: results (`reports.results`); others than of masked translation are passed over.
        path: the picture, a .png.

    Raises:
        DataError: there is none, or they are of several data sets.
    """
    own = sorted((one for one in found if one["experiment"] == "masked_translation"), key=lambda one: one["seed"])
    dataset = one_dataset(own)
    seeds = len({one["seed"] for one in own})
    note = f"{origin(dataset)}, {dataset['split']} split, {seeds} seed(s), bars: 95% over seeds"
    panels = [(kind, metric) for kind in ("noun", "verb") for metric in ("bleu4", f"{kind}_recovery")]
    with figure_axes(path, width=9.0, height=7.0, columns=2, note=note, rows=2) as axes:
        for axis, (kind, metric) in zip(axes, panels, strict=True):
            lines = series(own, kind, metric)
            for number, variant in enumerate([*LABELS, *sorted(lines.keys() - LABELS.keys())]):
                if variant in lines:
                    _line(axis, lines[variant], LABELS.get(variant, variant), number)
            title = "BLEU-4" if metric == "bleu4" else f"{kind}s recovered, %"
            axis.set(title=title, xlabel=f"{kind}s masked, %", ylim=(0, 102))
            axis.grid(alpha=0.3)
        axes[0].legend()


def _line(axis: Any, points: Points, label: str, number: int) -> None:
    intervals = [t_interval(values) for values in points.values()]
    means, halves = ([pair[i] for pair in intervals] for i in (0, 1))
    shares, style = [100 * rate for rate in points], {"color": COLOURS[number % len(COLOURS)], "label": label}
    shown = None if any(half != half for half in halves) else halves  # one seed has no interval
    axis.errorbar(shares, means, yerr=shown, marker=MARKERS[number % len(MARKERS)], capsize=3, **style)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draws the results under some folders; returns the exit status, 2 after an error of the person's."""
    parser = argparse.ArgumentParser(
        prog="python -m vatex_jax.reports.masking_curves", description=__doc__.splitlines()[0]
    )
    parser.add_argument("folders", nargs="+", type=Path, help="searched at any depth for results.json")
    parser.add_argument("--out", required=True, type=Path, help="the picture, a .png")
    chosen = parser.parse_args(arguments)
    return answer(lambda: _drawn(chosen.folders, chosen.out), chosen.out)


def _drawn(folders: Sequence[Path], out: Path) -> Path:
    check_out(out)
    draw_runs([run.result for run in load_runs(folders)], out)
    return out


if __name__ == "__main__":
    sys.exit(main())
