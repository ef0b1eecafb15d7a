"""What a checkpoint holds: the device's part of a run and the host's."""

import dataclasses
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import optax


# Fields are `Any` on purpose: jax fills such trees with tracers, shapes and masks, which no annotation would survive.
@flax.struct.dataclass
class TrainState:
    """The part of a run that lives on the devices, replicated.

    Attributes:
      step: int32 scalar, steps done.
      params: the model's parameters, float32.
      opt_state: the optimizer's state.
      learning_rate_scale: float32 scalar, multiplies the scheduled rate; a plateau shrinks it.
    """

    step: Any
    params: Any
    opt_state: Any
    learning_rate_scale: Any


def new_state(params: Any, optimizer: optax.GradientTransformation) -> TrainState:
    """State of a run that has yet to take its first step."""
    return TrainState(
        step=jnp.zeros((), jnp.int32),
        params=params,
        opt_state=optimizer.init(params),
        learning_rate_scale=jnp.ones((), jnp.float32),
    )


def all_finite(tree: Any) -> jax.Array:
    """Bool scalar: every floating-point number of the tree is finite."""
    leaves = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    return jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in leaves] + [jnp.array(True)]).all()


@dataclasses.dataclass
class HostState:
    """The part of a run that lives on the host and must survive a resume; every field goes into JSON unchanged.

    Attributes:
      stage: index of the running stage.
      stage_first_step: step at which that stage began.
      evaluated_step: step of the newest evaluation, -1 before the first.
      best_step: step of the best evaluation so far, None before the first.
      best_value: its metric; None where the metric was not finite or nothing is measured.
      evaluations_without_improvement: evaluations since the best one, within the stage.
      plateau_best: best value the plateau has seen in this stage.
      plateau_waited: evaluations since then, or since the rate was last reduced.
      finished: all stages are done.
      wall_seconds: time spent in the loop, over all resumes.
      loss_sum, token_sum: sums of loss times tokens, and of tokens, since the last evaluation.
      train_seconds: time spent on steps since the last evaluation.
      history: the lines of metrics.jsonl.
    """

    stage: int = 0
    stage_first_step: int = 0
    evaluated_step: int = -1
    best_step: int | None = None
    best_value: float | None = None
    evaluations_without_improvement: int = 0
    plateau_best: float | None = None
    plateau_waited: int = 0
    finished: bool = False
    wall_seconds: float = 0.0
    loss_sum: float = 0.0
    token_sum: float = 0.0
    train_seconds: float = 0.0
    history: list[dict] = dataclasses.field(default_factory=list)
