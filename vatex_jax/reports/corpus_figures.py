"""Pictures of caption corpora: histograms of captions (VaTeX's Figure 3) and type-caption curves (its Figure 4)."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from vatex_jax.reports.plots import COLOURS, figure_axes

PANELS = {
    "lengths": "words a caption",
    "nouns_per_caption": "distinct nouns a caption",
    "verbs_per_caption": "distinct verbs a caption",
}
_STYLES = ("-", "--", ":", "-.")
_TAIL = 0.002  # of the captions, beyond which an axis need not go

Details = Mapping[str, Mapping[str, Any]]
"""By corpus, its corpus.json (`experiments.corpus`)."""


def draw_histograms(details: Details, path: str | os.PathLike) -> None:
    """Draws the share of captions by their number of words, distinct nouns and distinct verbs, a line a corpus.

    Args:
        details: the corpora; without tags, there are no panels of nouns and verbs.
        path: the picture, a .png.
    """
    panels = [name for name in PANELS if any(own.get(name) for _, own in _languages(details))]
    with figure_axes(path, width=4.6 * len(panels), height=3.8, columns=len(panels), note=_note(details)) as axes:
        for axis, name in zip(axes, panels, strict=True):
            most = 1
            for (label, own), style in _styled(details):
                if own.get(name):
                    numbers, shares = _shares(own[name])
                    axis.stairs(100.0 * shares, np.append(numbers, numbers[-1] + 1) - 0.5, label=label, **style)
                    within = numbers[np.cumsum(shares) <= 1 - _TAIL]
                    most = max(most, int(within.max(initial=0)) + 1)
            axis.set(xlabel=PANELS[name], ylabel="captions, %", xlim=(-0.5, most + 0.5))
            axis.set_ylim(bottom=0)
            axis.xaxis.get_major_locator().set_params(integer=True)
            axis.grid(alpha=0.3)
        handles, labels = axes[0].get_legend_handles_labels()
        axes[0].figure.legend(handles, labels, loc="outside lower center", ncols=min(6, len(labels)))


def draw_curves(details: Details, path: str | os.PathLike) -> None:
    """Draws how the number of distinct 4-grams grows with the captions read, a line a corpus."""
    with figure_axes(path, width=6.0, height=4.4, columns=1, note=_note(details)) as (axis,):
        for (label, own), style in _styled(details):
            captions, types = zip(*[(0, 0), *own["curve"]], strict=True)
            axis.plot(captions, types, label=label, **style)
        axis.set(xlabel="captions", ylabel="types: distinct 4-grams", xlim=(0, None), ylim=(0, None))
        axis.grid(alpha=0.3)
        axis.legend()


def _shares(histogram: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Every number up to the largest, and the share of captions that have it."""
    counts = np.zeros(max(map(int, histogram)) + 1)
    for number, captions in histogram.items():
        counts[int(number)] = captions
    return np.arange(len(counts)), counts / counts.sum()


def _languages(details: Details) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, own in details.items():
        for language, figures in own["languages"].items():
            yield f"{name}, {language}", figures


def _styled(details: Details) -> Iterator[tuple[tuple[str, Mapping[str, Any]], dict[str, Any]]]:
    for number, one in enumerate(_languages(details)):
        place = number // len(COLOURS) % len(_STYLES)
        yield one, {"color": COLOURS[number % len(COLOURS)], "linestyle": _STYLES[place]}


def _note(details: Details) -> str:
    simulated = [name for name, own in details.items() if own["simulated"]]
    return f"SIMULATED: {', '.join(simulated)}" if simulated else ""
