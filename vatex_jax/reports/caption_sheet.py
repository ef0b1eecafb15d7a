"""Captions of several models side by side, with references, as in the VaTeX paper's Figure 12.

python -m vatex_jax.reports.caption_sheet runs/captioning-shared_enc runs/captioning --out=captions.png
"""

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vatex_jax.errors import ConfigError, DataError, VatexError
from vatex_jax.reports import results
from vatex_jax.reports.cells import origin
from vatex_jax.reports.grid import display_width
from vatex_jax.reports.plots import figure_axes, literal

REFERENCES = 2
"""Shown of each video, a language."""

Line = tuple[str, str, str]
"""Label, text, colour."""

TITLE, OURS, REFERENCE = "#0072b2", "black", "#707070"
_WIDTH = 92  # columns of text; a Chinese character takes two
_LINE_INCHES = 0.2


def draw_sheet(predictions: Mapping[str, Path], path: str | os.PathLike, note: str = "", *, videos: int = 12) -> None:
    """Draws the captions that models gave the first videos of a split, all their languages, and two references.

    Args:
        predictions: by the models' names, their predictions.jsonl; videos are those of the first.
        path: the picture, a .png.
        note: what data it is (`cells.origin`).
        videos: how many are shown.

    Raises:
        DataError: a file is none of a captioning run, or lacks one of the videos.
    """
    draw_lines(sheet_lines({name: read_predictions(file) for name, file in predictions.items()}, videos), path, note)


def draw_lines(lines: Sequence[Line], path: str | os.PathLike, note: str = "") -> None:
    """Draws labelled lines of text, one below the other."""
    with figure_axes(path, width=11.0, height=0.8 + _LINE_INCHES * len(lines), columns=1, note=note) as (axis,):
        axis.set_axis_off()
        axis.set(xlim=(0, 1), ylim=(len(lines) + 0.5, -0.5))
        for number, (label, text, colour) in enumerate(lines):
            axis.text(0.0, number, literal(label), va="center", fontsize=9, color=colour)
            axis.text(0.2, number, literal(text), va="center", fontsize=9, color=colour)


def sheet_lines(predictions: Mapping[str, Mapping[str, dict[str, Any]]], videos: int) -> list[Line]:
    """The lines of a sheet, long texts on several lines."""
    lines: list[Line] = []
    shown = list(next(iter(predictions.values())))[:videos]
    for video_id in shown:
        lines.append((video_id, "", TITLE))
        languages: dict[str, None] = {}
        for name, by_video in predictions.items():
            if video_id not in by_video:
                raise DataError(
                    f"The predictions of {name} lack the video {video_id!r}: compare runs of one test split."
                )
            languages |= dict.fromkeys(key for key, value in by_video[video_id].items() if isinstance(value, dict))
        for language in languages:
            for name, by_video in predictions.items():
                said = by_video[video_id].get(language)
                if said is not None:
                    lines += wrapped(f"{name}, {language}", said["n_best"][0]["text"], OURS)
            first = next(
                by_video[video_id][language] for by_video in predictions.values() if language in by_video[video_id]
            )
            for reference in first["references"][:REFERENCES]:
                lines += wrapped(f"  reference, {language}", reference, REFERENCE)
        lines.append(("", "", OURS))
    return lines


def wrapped(label: str, text: str, colour: str) -> list[Line]:
    """A text on as many lines as it needs."""
    text = " ".join(text.split())
    # Wide characters count twice, so Chinese is cut by half as many of them.
    width = max(8, _WIDTH * len(text) // max(1, display_width(text)))
    pieces = textwrap.wrap(text, width) or [""]
    return [(label if number == 0 else "", piece, colour) for number, piece in enumerate(pieces)]


def read_predictions(path: Path) -> dict[str, dict[str, Any]]:
    """A captioning run's predictions.jsonl by video.

    Raises:
        DataError: it cannot be read or is something else.
    """
    try:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        found = {_text(record["video_id"]): record for record in records}
        for record in records:
            for value in record.values():
                if isinstance(value, dict):
                    _text(value["n_best"][0]["text"])
                    if not isinstance(value["references"], list):
                        raise TypeError(f"{value['references']!r:.40} is no list of references")
                    for reference in value["references"]:
                        _text(reference)
    except FileNotFoundError as error:
        raise DataError(f"{path.parent} holds no captioning run: there is no {path.name}.") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise DataError(f"{path}: not the predictions of a captioning run ({error!r}).") from error
    if not found:
        raise DataError(f"{path}: holds no video.")
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def origin_of(run: Path) -> str:
    """What data a run's outputs are of, as its results.json has it; empty where there is none yet."""
    path = run / results.FILE_NAME
    return origin(results.read(path)["dataset"]) if path.exists() else ""


def check_out(path: Path) -> None:
    """Refuses, before outputs are read and drawn, a place that no picture can be written to."""
    if path.suffix != ".png":
        raise ConfigError(f"--out={path}: the picture is a PNG, so name a file that ends in .png.")
    if path.is_dir():
        raise ConfigError(f"--out={path} is a folder: name a file in it, for example {path / 'captions.png'}.")
    if not path.parent.is_dir():
        raise ConfigError(f"--out={path}: there is no folder {path.parent}. Make it, or name another place.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Draws a sheet; returns the exit status, 2 after an error of the person's."""
    parser = argparse.ArgumentParser(
        prog="python -m vatex_jax.reports.caption_sheet", description=__doc__.splitlines()[0]
    )
    parser.add_argument("runs", nargs="+", type=Path, help="folders of captioning runs")
    parser.add_argument("--out", required=True, type=Path, help="the picture, a .png")
    parser.add_argument("--videos", type=int, default=12, help="how many, the first of the split (12)")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.videos < 1:
            raise ConfigError(f"--videos={chosen.videos}: it must be 1 or more.")
        check_out(chosen.out)
        names = [run.name for run in chosen.runs]
        if len(set(names)) < len(names):
            names = [str(run) for run in chosen.runs]
        draw_sheet(
            {name: run / "predictions.jsonl" for name, run in zip(names, chosen.runs, strict=True)},
            chosen.out,
            origin_of(chosen.runs[0]),
            videos=chosen.videos,
        )
    except VatexError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:  # what could not be read is a DataError already
        print(f"error: --out={chosen.out}: cannot be written ({error.strerror or error}).", file=sys.stderr)
        return 2
    print(chosen.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
