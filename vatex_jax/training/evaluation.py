"""What follows from an evaluation: the line it leaves, whether it is the best, when the run should stop."""

import json
from collections.abc import Mapping

import jax
import ml_collections
import numpy as np
from jax.experimental import multihost_utils

from vatex_jax.errors import ConfigError
from vatex_jax.training.schedules import is_better
from vatex_jax.training.state import HostState
from vatex_jax.training.writers import finite_or_none


def agree_on_numbers(numbers: Mapping[str, float]) -> dict[str, float]:
    """Process 0's numbers in every process, bit for bit, so that all take the same decisions."""
    own = {name: float(value) for name, value in numbers.items()}
    if jax.process_count() == 1:
        return own
    # As text: a broadcast of the numbers themselves would round them to float32. Lengths first, to make room.
    text = np.frombuffer(json.dumps(own).encode(), np.uint8)
    length = int(multihost_utils.broadcast_one_to_all(np.int32(len(text))))
    room = np.zeros(length, np.uint8)
    if jax.process_index() == 0:
        room[:] = text
    return json.loads(np.asarray(multihost_utils.broadcast_one_to_all(room)).astype(np.uint8).tobytes())


def take_evaluation(
    host: HostState, step: int, epoch: float, numbers: Mapping[str, float], config: ml_collections.ConfigDict
) -> bool:
    """Takes note of an evaluation in `host`: its line in the history, the best so far, the wait for a better one.

    With nothing measured (no evaluation data) every evaluation counts as the best, so the last one is. The first is
    always the best so far, even where its metric is a NaN.

    Args:
      host: changed in place.
      step: steps done.
      epoch: epochs done, with fractions.
      numbers: what was measured, by name.
      config: fields `metric` and `metric_mode`.

    Returns:
      Whether this is the best evaluation so far.

    Raises:
      ConfigError: something was measured, but not the metric.
    """
    if numbers and config.metric not in numbers:
        raise ConfigError(f"train.metric is {config.metric!r}, but what is measured is {', '.join(sorted(numbers))}.")
    host.history.append(
        {
            "step": step,
            "epoch": epoch,
            "stage": host.stage,
            "wall": round(host.wall_seconds, 3),
            "train/loss": host.loss_sum / host.token_sum if host.token_sum else None,
            "train/tokens_per_second": round(host.token_sum / max(host.train_seconds, 1e-9), 1),
            **{name: finite_or_none(value) for name, value in numbers.items()},
        }
    )
    host.evaluated_step = step
    host.loss_sum = host.token_sum = host.train_seconds = 0.0
    value = numbers.get(config.metric)
    if value is None or host.best_step is None or is_better(value, host.best_value, config.metric_mode):
        host.best_step = step
        host.best_value = None if value is None else finite_or_none(value)
        host.evaluations_without_improvement = 0
        return True
    host.evaluations_without_improvement += 1
    return False
