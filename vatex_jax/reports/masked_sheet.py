"""Translations of masked captions by several models, side by side, as in the VaTeX paper's Figure 14.

python -m vatex_jax.reports.masked_sheet runs/masked_vmt-none runs/masked_vmt --out=masked.png
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.reports.caption_sheet import OURS, REFERENCE, TITLE, Line, check_out, draw_lines, origin_of, wrapped
from vatex_jax.reports.commands import answer

CAPTIONS = 12
"""Shown of each masking: of two kinds at two rates half of these."""

_FIELDS = ("video_id", "source", "masked")


def draw_sheet(predictions: Mapping[str, Path], path: str | Path, note: str = "", *, captions: int = CAPTIONS) -> None:
    """Draws the first captions, one a video, of which something is masked, with what each model made of them.

    Args:
        predictions: by the models' names, their predictions.jsonl; runs that were masked alike are shown together.
        path: the picture, a .png.
        note: what data it is (`cells.origin`).
        captions: how many are shown in all, shared by the maskings.

    Raises:
        DataError: a file is none of a run of masked translation, or nothing is masked in any.
    """
    groups: dict[tuple[str, ...], dict[str, list[dict[str, Any]]]] = {}
    for name, file in predictions.items():
        records = read_predictions(file)
        if any(record["hidden"] for record in records):
            groups.setdefault(tuple(record["masked"] for record in records), {})[name] = records
    if not groups:
        raise DataError("no run has masked anything: there is nothing to show.")
    each = max(1, captions // len(groups))
    draw_lines([line for models in groups.values() for line in _lines(models, each)], path, note)


def _lines(models: Mapping[str, list[dict[str, Any]]], captions: int) -> list[Line]:
    lines: list[Line] = []
    seen: set[str] = set()
    for row, record in enumerate(next(iter(models.values()))):
        if len(seen) == captions:
            break
        if not record["hidden"] or record["video_id"] in seen:
            continue
        seen.add(record["video_id"])
        lines += [(record["video_id"], "", TITLE), *wrapped("original", record["source"], REFERENCE)]
        lines += wrapped("masked", record["masked"], OURS)
        lines += wrapped("reference", record["reference"] or "", REFERENCE)
        for name, records in models.items():
            lines += wrapped(name, records[row]["n_best"][0]["text"], OURS)
        lines.append(("", "", OURS))
    return lines


def read_predictions(path: Path) -> list[dict[str, Any]]:
    """A run's predictions.jsonl.

    Raises:
        DataError: it cannot be read or is something else.
    """
    try:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for record in records:
            texts = [*(record[field] for field in _FIELDS), record["reference"] or "", record["n_best"][0]["text"]]
            if not all(isinstance(text, str) for text in texts) or not isinstance(record["hidden"], list):
                raise TypeError(f"{record!r:.80} is no translation of a masked caption")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise DataError(f"{path}: not the predictions of a run of masked translation ({error!r}).") from error
    return records


def main(arguments: Sequence[str] | None = None) -> int:
    """Draws a sheet; returns the exit status, 2 after an error of the person's."""
    parser = argparse.ArgumentParser(
        prog="python -m vatex_jax.reports.masked_sheet", description=__doc__.splitlines()[0]
    )
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs of masked translation, masked alike")
    parser.add_argument("--out", required=True, type=Path, help="the picture, a .png")
    parser.add_argument("--captions", type=int, default=CAPTIONS, help=f"how many ({CAPTIONS})")
    chosen = parser.parse_args(arguments)
    return answer(lambda: _drawn(chosen), chosen.out)


def _drawn(chosen: argparse.Namespace) -> Path:
    if chosen.captions < 1:
        raise ConfigError(f"--captions={chosen.captions}: it must be 1 or more.")
    check_out(chosen.out)
    predictions = {str(run): run / "predictions.jsonl" for run in chosen.runs}
    draw_sheet(predictions, chosen.out, origin_of(chosen.runs[0]), captions=chosen.captions)
    return chosen.out


if __name__ == "__main__":
    sys.exit(main())
