"""What a person at the terminal sees of a run."""

import sys

from tqdm import tqdm


class Progress:
    """A bar an epoch on a terminal, one line an evaluation in any case; nothing at all where `shown` is False.

    Args:
      shown: False in every process but the first.
      steps_per_epoch: length of a bar.
      metric: name of the metric whose best value is shown.
    """

    def __init__(self, shown: bool, steps_per_epoch: int, metric: str):
        self._shown = shown
        self._bars = shown and sys.stderr.isatty()
        self._steps_per_epoch = steps_per_epoch
        self._metric = metric
        self._bar: tqdm | None = None

    def step(self, step: int, loss: float, tokens_per_second: float, best: float | None) -> None:
        """Moves the bar to `step`, the number of steps done."""
        if not self._bars:
            return
        epoch, done = divmod(step - 1, self._steps_per_epoch)
        if self._bar is None:
            self._bar = tqdm(total=self._steps_per_epoch, initial=done, unit="step", leave=False, dynamic_ncols=True)
            self._bar.set_description(f"epoch {epoch + 1}")
        shown = {"loss": f"{loss:.3f}", "words/s": f"{tokens_per_second:,.0f}"}
        if best is not None:
            shown[f"best {self._metric}"] = f"{best:.2f}"
        self._bar.set_postfix(shown, refresh=False)
        self._bar.update(done + 1 - self._bar.n)
        if done + 1 == self._steps_per_epoch:
            self.close()

    def evaluation(self, entry: dict, best: float | None, improved: bool) -> None:
        """Prints one line for an evaluation, `entry` as in metrics.jsonl."""
        parts = [
            f"epoch {entry['epoch']:g}",
            f"step {entry['step']}",
            f"loss {_number(entry['train/loss'])}",
            f"{entry['train/tokens_per_second']:,.0f} words/s",
        ]
        if self._metric in entry:
            parts.append(f"{self._metric} {_number(entry[self._metric])}")
            parts.append("best so far" if improved else f"best {_number(best)}")
        self.message("  ".join(parts))

    def message(self, text: str) -> None:
        """Prints a line above the bar."""
        if self._shown:
            self.close()
            print(text, flush=True)

    def close(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
