"""Learning rates: schedules by the step (inside the jitted step) and the plateau by the evaluation (on the host)."""

import dataclasses
import math

import jax.numpy as jnp
import ml_collections
import optax

from vatex_jax.errors import ConfigError
from vatex_jax.training.state import HostState

SCHEDULES = ("constant", "rsqrt", "cosine", "linear")


def make_schedule(config: ml_collections.ConfigDict, total_steps: int) -> optax.Schedule:
    """Learning rate by step: a linear warm-up over `warmup_steps`, then constant or falling.

    With peak rate r, w = max(warmup_steps, 1) and N = total_steps, step t >= warmup_steps has rate r (`constant`),
    r sqrt(w / max(t, w)) (`rsqrt`; Vaswani et al. 2017, section 5.3, scaled to peak at r), r (1 + cos(pi p)) / 2
    (`cosine`) or r (1 - p) (`linear`), where p = (t - w) / (N - w).

    Args:
      config: fields `schedule`, `learning_rate`, `warmup_steps`.
      total_steps: steps after which `cosine` and `linear` reach 0.
    """
    rate, warmup = config.learning_rate, config.warmup_steps
    if rate <= 0 or not math.isfinite(rate):
        raise ConfigError(f"train.learning_rate is {rate}: set a positive number.")
    if warmup < 0:
        raise ConfigError(f"train.warmup_steps is {warmup}: set 0 for none, or a positive number of steps.")
    falling_steps = max(total_steps - warmup, 1)
    if config.schedule == "constant":
        after = optax.constant_schedule(rate)
    elif config.schedule == "rsqrt":
        # Counted from the end of the warm-up, as join_schedules hands it over.
        after = lambda count: rate * jnp.sqrt(max(warmup, 1) / jnp.maximum(count + warmup, max(warmup, 1)))  # noqa: E731
    elif config.schedule == "cosine":
        after = optax.cosine_decay_schedule(rate, falling_steps)
    elif config.schedule == "linear":
        after = optax.linear_schedule(rate, 0.0, falling_steps)
    else:
        raise ConfigError(f"train.schedule is {config.schedule!r}: set one of {', '.join(SCHEDULES)}.")
    if warmup == 0:
        return after
    return optax.join_schedules([optax.linear_schedule(0.0, rate, warmup), after], [warmup])


def is_better(value: float, best: float | None, mode: str) -> bool:
    """Whether `value` surpasses `best`; nothing surpasses with a NaN, and any number surpasses None."""
    if not math.isfinite(value):
        return False
    if best is None:
        return True
    return value > best if mode == "max" else value < best


@dataclasses.dataclass(frozen=True)
class Plateau:
    """Shrinks the rate when a metric has not surpassed its best for `patience` evaluations (VaTeX, appendix A).

    Its state (`plateau_best`, `plateau_waited`) lives in `HostState`, so that a resume goes on counting.

    Attributes:
      factor: what the rate is multiplied by, 0 < factor <= 1; 1 turns the plateau off.
      patience: evaluations to wait, at least 1.
      mode: `max` where a higher metric is better, `min` where a lower one is.
    """

    factor: float
    patience: int
    mode: str

    def __post_init__(self) -> None:
        if not 0 < self.factor <= 1:
            raise ConfigError(f"train.plateau_factor is {self.factor}: set a number in (0, 1]; 1 turns it off.")
        if self.patience < 1:
            raise ConfigError(f"train.plateau_patience is {self.patience}: set 1 or more evaluations.")

    def update(self, host: HostState, value: float) -> float:
        """Takes note of one evaluation in `host`; returns what to multiply the rate by (1 or `factor`)."""
        if is_better(value, host.plateau_best, self.mode):
            host.plateau_best, host.plateau_waited = value, 0
            return 1.0
        host.plateau_waited += 1
        if host.plateau_waited < self.patience:
            return 1.0
        host.plateau_waited = 0
        return self.factor
