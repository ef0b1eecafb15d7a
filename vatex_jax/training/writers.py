"""Metrics of a run: `metrics.jsonl` for programs, TensorBoard events for eyes."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from vatex_jax.files import write_text_whole

METRICS_NAME = "metrics.jsonl"


class MetricsWriter:
    """Writes evaluations to `metrics.jsonl` and everything to TensorBoard events, both in the work folder.

    What is on the disk before goes: the checkpoint a run resumes from carries the lines written up to then, so a line
    that a kill left behind, whole or half, can neither stay beside nor contradict the one that takes its place.

    Args:
      workdir: the work folder.
      history: the lines up to now.
      step: steps done; events of later ones, from before a kill, are hidden from TensorBoard.
    """

    def __init__(self, workdir: Path, history: Sequence[Mapping], step: int):
        # Imported here because it imports torch where that is installed, which takes seconds.
        from tensorboardX import SummaryWriter

        self._path = write_history(workdir, history)
        self._events = SummaryWriter(str(workdir), purge_step=step + 1 if step else None)

    def evaluation(self, entry: Mapping) -> None:
        """Appends one line; its numbers other than `step` also become events."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(_line(entry))
        self.scalars(entry["step"], {name: value for name, value in entry.items() if name != "step"})
        self._events.flush()

    def scalars(self, step: int, values: Mapping[str, object]) -> None:
        """Adds the finite numbers among `values` to the TensorBoard events of a step."""
        for name, value in values.items():
            if isinstance(value, int | float) and math.isfinite(value):
                self._events.add_scalar(name, value, step)

    def close(self) -> None:
        """Writes out what is left."""
        self._events.close()


def write_history(workdir: Path, history: Sequence[Mapping]) -> Path:
    """Writes metrics.jsonl anew from the lines a checkpoint carries; returns its path."""
    path = Path(workdir) / METRICS_NAME
    write_text_whole(path, "".join(_line(entry) for entry in history))
    return path


def read_metrics(path: Path) -> list[dict]:
    """The lines of a `metrics.jsonl`; a half line at its end, as a kill may leave, is left out."""
    text = path.read_text("utf-8")
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def finite_or_none(value: float) -> float | None:
    """A number as JSON can hold it: a NaN or an infinity becomes None."""
    return float(value) if math.isfinite(value) else None


def _line(entry: Mapping) -> str:
    return json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n"
