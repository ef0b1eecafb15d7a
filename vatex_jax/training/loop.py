"""The one training loop: any task, any number of devices and processes, and a run that a kill does not change.

A run is a function of its configuration and seed: batches and random keys are functions of the step, decisions depend
on evaluations alone, and everything decided so far is in each checkpoint. When checkpoints are written (the wall clock
has a say) and where a run was cut therefore has no influence on its result.
"""

import dataclasses
import math
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_collections
import numpy as np
import optax
from jax.experimental import multihost_utils
from jax.sharding import Mesh

from vatex_jax.errors import CheckpointError, ConfigError, DataError, TrainingError
from vatex_jax.training import optimizers, schedules, sharding
from vatex_jax.training.checkpoints import Checkpoints
from vatex_jax.training.compilation import jit
from vatex_jax.training.evaluation import agree_on_numbers, take_evaluation
from vatex_jax.training.interruption import Interrupted, Interruption
from vatex_jax.training.progress import Progress
from vatex_jax.training.state import HostState, TrainState, all_finite, new_state
from vatex_jax.training.task import Batches, Evaluate, Params, Task
from vatex_jax.training.writers import MetricsWriter, write_history

NEVER = -1  # `eval_every`: nothing is measured on validation, and the last step is kept
IN_FLIGHT = 4  # steps the host may run ahead of the devices, and the steps within which a NaN is noticed
SCALARS_EVERY = 20  # steps between training events for TensorBoard
COMPILE_AT_ONCE = 2  # programs; each takes a gigabyte of the host's memory at the published sizes
AGREE_EVERY = 10  # steps between the processes' asking each other whether to save or to stop


@dataclasses.dataclass(frozen=True)
class Stage:
    """A part of a run, trained until its metric stops improving or its epochs are over.

    A stage after the first starts from the best parameters so far, with a fresh optimizer, the schedule from its start
    and the rate as far reduced as it was; it must surpass the best so far.

    Attributes:
      epochs: epochs at most.
      frozen: which parameters, by path, stay bit for bit as they are; None for no parameter.
    """

    epochs: int
    frozen: optimizers.Frozen | None = None


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run came to.

    Attributes:
      params: the best evaluation's parameters, on every device.
      state: the state after the last step.
      host: the host's part of it: `best_step`, `best_value`, `history` (the lines of metrics.jsonl).
    """

    params: Params
    state: TrainState
    host: HostState


def train(
    task: Task,
    batches: Batches,
    *,
    config: ml_collections.ConfigDict,
    seed: int,
    workdir: Path,
    evaluate: Evaluate | None = None,
    fingerprint: Mapping[str, str] | None = None,
    stages: Sequence[Stage] | None = None,
) -> Result:
    """Trains from the newest checkpoint in `workdir`, or from the start, to the end.

    Args:
      task: what to learn.
      batches: what to learn it from.
      config: the `train` part of a configuration; configs/ documents its fields.
      seed: the run's one seed.
      workdir: gets metrics.jsonl, TensorBoard events and checkpoints/.
      evaluate: measures the parameters at each evaluation, in every process; process 0's numbers count.
      fingerprint: what a checkpoint must have been made with to be resumed from (configuration, vocabularies), by name.
      stages: parts of the run; one of `config.epochs` epochs by default.

    Returns:
      The best parameters and how they came about. A finished run returns at once.

    Raises:
      ConfigError: a field cannot be used, a batch does not divide over the devices, or the metric is not measured.
      DataError: there is nothing to train on.
      CheckpointError: the work folder holds another run, or nothing readable.
      TrainingError: the loss, the gradient or a parameter became NaN or infinite; nothing is saved after that.
      SystemExit: status 0, once all is saved, after SIGTERM.
    """
    if batches.steps_per_epoch < 1:
        raise DataError("The training split makes no batch: it is empty, or config.data drops all of its examples.")
    run = _Run(
        task, batches, config, seed, Path(workdir), evaluate, fingerprint or {}, stages or [Stage(config.epochs)]
    )
    with Interruption() as interruption:
        try:
            result = run.to_the_end(interruption)
        finally:
            run.close()
    if interruption.requested and jax.process_count() == 1:
        raise SystemExit(0)  # all is saved; the same command goes on with what follows training
    return result


class _Run:
    """A run under way: what `train` was given, the state, and the steps still in flight."""

    def __init__(
        self,
        task: Task,
        batches: Batches,
        config: ml_collections.ConfigDict,
        seed: int,
        workdir: Path,
        evaluate: Evaluate | None,
        fingerprint: Mapping[str, str],
        stages: Sequence[Stage],
    ):
        check_config(config)
        self.task, self.batches, self.config, self.evaluate, self.stages = task, batches, config, evaluate, stages
        self.mesh = sharding.make_mesh()
        self.init_key, self.step_key = jax.random.split(jax.random.key(seed))
        self.plateau = schedules.Plateau(config.plateau_factor, config.plateau_patience, config.metric_mode)
        self.checkpoints = Checkpoints(workdir / "checkpoints", fingerprint)
        self.params_template = jax.eval_shape(task.init, self.init_key)
        self.all_finite = jit(all_finite, cpu_level=0)
        # CPU devices share one pool of threads: programs with collectives, several in flight, can starve each other.
        self.in_flight = 0 if jax.default_backend() == "cpu" and self.mesh.size > 1 else IN_FLIGHT
        self.pending: deque[tuple[int, jax.Array, np.ndarray | None]] = deque()
        self.state, self.host = self._restore_or_begin()
        self.step = int(self.state.step)
        first = jax.process_index() == 0
        writes = first and not self.host.finished
        self.writer = MetricsWriter(workdir, self.host.history, self.step) if writes else None
        if first and self.host.finished:
            write_history(workdir, self.host.history)
        self.progress = Progress(first, batches.steps_per_epoch, config.metric)
        self.saved_at = self.clock = time.monotonic()

    def to_the_end(self, interruption: Interruption) -> Result:
        """Trains, evaluates and saves until every stage is over."""
        if self.step:
            done = f"Training is done already, at step {self.step}."
            self.progress.message(done if self.host.finished else f"Resuming after step {self.step}.")
        while not self.host.finished:
            if self._evaluation_is_due():
                self._evaluate(interruption)
                self._end_stage_if_over()
                self._save()
                # Processes must leave together; several only do where they have asked each other, between steps.
                if interruption.requested and jax.process_count() == 1:
                    self._leave()
            else:
                self._train_step()
                self._save_where_asked(interruption)
        if interruption.requested and jax.process_count() == 1:
            self._leave()
        best, _ = self.checkpoints.load_best(self.params_template, self.host.best_step)
        return Result(sharding.replicate(self.mesh, best), self.state, self.host)

    def close(self) -> None:
        self.progress.close()
        if self.writer is not None:
            self.writer.close()

    def _restore_or_begin(self) -> tuple[TrainState, HostState]:
        """The newest checkpoint's state, or a new one; prepares the stage it is in."""
        restored = self.checkpoints.restore_last(self._template)
        if restored is not None:
            return sharding.replicate(self.mesh, restored[0]), HostState(**restored[1])
        self._prepare_stage(0)
        begin = jit(
            lambda key: new_state(self.task.init(key), self.optimizer),
            cpu_level=0,
            out_shardings=sharding.replicated(self.mesh),
        )
        return begin(self.init_key), HostState()

    def _template(self, host: dict) -> TrainState:
        """Shapes of a checkpoint's state; prepares the stage it is in."""
        if host["stage"] >= len(self.stages):
            raise CheckpointError(f"The checkpoint is in stage {host['stage'] + 1} of a run of {len(self.stages)}.")
        self._prepare_stage(host["stage"])
        return jax.eval_shape(lambda params: new_state(params, self.optimizer), self.params_template)

    def _prepare_stage(self, index: int) -> None:
        """Makes the optimizer and the jitted step of a stage."""
        stage = self.stages[index]
        self.stage_steps = stage.epochs * self.batches.steps_per_epoch
        if self.config.max_steps:
            self.stage_steps = min(self.stage_steps, self.config.max_steps)
        self.schedule = schedules.make_schedule(self.config, self.stage_steps)
        self.optimizer = optimizers.make_optimizer(self.config, self.schedule, stage.frozen)
        self.train_step = make_train_step(self.task, self.optimizer, self.mesh, self.step_key, stage.frozen)
        self.compiled: set[Shapes] = set()

    def _evaluation_is_due(self) -> bool:
        """Every `eval_every` steps or at the end of each epoch, and at the end of a stage; once a step."""
        every = self.config.eval_every or self.batches.steps_per_epoch
        every = self.stage_steps if every == NEVER else every
        done = self.step - self.host.stage_first_step
        return self.host.evaluated_step != self.step and done > 0 and (done % every == 0 or done >= self.stage_steps)

    def _train_step(self) -> None:
        batch = self.batches.batch(self.step)
        shapes = shapes_of(batch)
        if not self.compiled:
            self.train_step.compile(self.state, [batch, *self.batches.of_each_shape()])
        sharded = sharding.shard_batch(self.mesh, batch)
        self._lap(training=True)
        self.state, measured = self.train_step(self.state, sharded)
        # A shape's first step waits for its program; the words per second are those of the compiled program.
        self._lap(training=shapes in self.compiled)
        self.compiled.add(shapes)
        self.step += 1
        self.pending.append((self.step, measured, batch.get("index")))
        self._note_steps(self.in_flight)

    def _note_steps(self, in_flight: int) -> None:
        """Waits until no more than `in_flight` steps are unfinished, and takes note of the finished ones' losses."""
        while len(self.pending) > in_flight:
            step, measured, index = self.pending.popleft()
            loss, tokens, norm = (float(value) for value in np.asarray(measured))
            if not (math.isfinite(loss) and math.isfinite(norm)):
                self._stop(step, f"the loss is {loss} and the gradient's norm {norm}", index)
            self.host.loss_sum += loss * tokens
            self.host.token_sum += tokens
            self._lap(training=True)
            speed = self.host.token_sum / max(self.host.train_seconds, 1e-9)
            self.progress.step(step - self.host.stage_first_step, loss, speed, self.host.best_value)
            if self.writer is not None and step % SCALARS_EVERY == 0:
                scalars = {"train/step_loss": loss, "train/gradient_norm": norm, "train/step_tokens": tokens}
                self.writer.scalars(step, scalars)

    def _lap(self, training: bool) -> None:
        """Books the time since the last lap: as the run's, and as training's where it was spent on steps."""
        now = time.monotonic()
        self.host.wall_seconds += now - self.clock
        if training:
            self.host.train_seconds += now - self.clock
        self.clock = now

    def _stop(self, step: int, what: str, index: np.ndarray | None) -> None:
        rows = [] if index is None else [int(row) for row in index if row >= 0]
        good = self.checkpoints.newest()
        raise TrainingError(
            f"Training stopped at step {step}: {what}. "
            f"{f'The batch holds the examples (index) {rows}. ' if rows else ''}"
            f"{f'The last good checkpoint is {good}.' if good else 'No checkpoint was written before.'} "
            "Look at those examples, or lower train.learning_rate or train.clip_at and start anew."
        )

    def _evaluate(self, interruption: Interruption) -> None:
        """Measures the parameters and does what follows: a line, the best checkpoint, a smaller rate."""
        self._note_steps(0)
        self._check_finite()
        numbers: dict[str, float] = {}
        if self.evaluate is not None and self.config.eval_every != NEVER:
            # Alone, an evaluation can be cut short: it is made again on resuming. Among several, none may leave alone.
            interruption.raises = jax.process_count() == 1
            try:
                numbers = agree_on_numbers(self.evaluate(self.state.params, self.step // self.batches.steps_per_epoch))
                interruption.raises = False
            except Interrupted:
                interruption.raises = False
                self._save()
                self._leave()
        self._lap(training=False)
        improved = take_evaluation(self.host, self.step, self.step / self.batches.steps_per_epoch, numbers, self.config)
        if improved:
            self.checkpoints.save_best(self.step, self.state.params)
        if self.writer is not None:
            self.writer.evaluation(self.host.history[-1])
        self.progress.evaluation(self.host.history[-1], self.host.best_value, improved)
        if self.config.metric in numbers:
            self._shrink_rate(self.plateau.update(self.host, numbers[self.config.metric]))

    def _shrink_rate(self, factor: float) -> None:
        if factor != 1:
            scale = np.asarray(self.state.learning_rate_scale) * np.float32(factor)
            self.state = self.state.replace(learning_rate_scale=sharding.replicate(self.mesh, scale))
            self.progress.message(f"{self.config.metric} no longer improves: learning rate now times {scale:g}")

    def _end_stage_if_over(self) -> None:
        """Goes over to the next stage, or finishes the run, where the stage's time or patience has run out."""
        patience, waited = self.config.patience, self.host.evaluations_without_improvement
        if self.step - self.host.stage_first_step < self.stage_steps and not (patience and waited >= patience):
            return
        if self.host.stage + 1 == len(self.stages):
            self.host.finished = True
            return
        self.host.stage += 1
        self.host.stage_first_step = self.step
        self.host.evaluations_without_improvement = 0
        self.host.plateau_best, self.host.plateau_waited = None, 0
        self._prepare_stage(self.host.stage)
        best, step = self.checkpoints.load_best(self.params_template, self.host.best_step)
        params = sharding.replicate(self.mesh, best)
        begin = jit(self.optimizer.init, cpu_level=0, out_shardings=sharding.replicated(self.mesh))
        self.state = self.state.replace(params=params, opt_state=begin(params))
        self.progress.message(f"Stage {self.host.stage + 1} starts from the best parameters, those of step {step}.")

    def _check_finite(self) -> None:
        """Stops the run before a parameter or moment that is not finite is measured or saved."""
        if not bool(np.asarray(self.all_finite((self.state.params, self.state.opt_state)))):
            self._stop(self.step, "a parameter or a moment of the optimizer is not finite", None)

    def _save(self) -> None:
        self._note_steps(0)
        self._check_finite()
        self.checkpoints.save_last(self.step, self.state, dataclasses.asdict(self.host))
        self.saved_at = time.monotonic()
        self._lap(training=False)

    def _save_where_asked(self, interruption: Interruption) -> None:
        """Saves where the clock says so, and saves and leaves after SIGTERM; all processes at the same step."""
        due = time.monotonic() - self.saved_at >= self.config.checkpoint_seconds
        leave = interruption.requested
        if jax.process_count() > 1:
            if self.step % AGREE_EVERY:
                return
            due, leave = multihost_utils.process_allgather(np.array([due, leave])).any(axis=0)
        if leave:
            self._save()
            self._leave()
        if due and not self._evaluation_is_due():
            self._save()

    def _leave(self) -> None:
        self.progress.message(f"Terminated after step {self.step}; saved. The same command goes on from there.")
        raise SystemExit(0)


Shapes = tuple[tuple[str, tuple[int, ...]], ...]


def shapes_of(batch: Mapping[str, Any]) -> Shapes:
    """The shape of each array of a batch, by name."""
    return tuple((name, tuple(array.shape)) for name, array in sorted(batch.items()))


class TrainStep:
    """A jitted step, `step(state, batch)`, whose programs for several shapes can be compiled side by side."""

    def __init__(self, jitted: Any, key_data: jax.Array):
        self._jitted, self._key_data = jitted, key_data
        self._programs: dict[Shapes, Future] = {}

    def __call__(self, state: TrainState, batch: dict[str, jax.Array]) -> tuple[TrainState, jax.Array]:
        program = self._programs.get(shapes_of(batch))
        return (self._jitted if program is None else program.result())(state, batch, self._key_data)

    def compile(self, state: TrainState, batches: Iterable[Mapping[str, np.ndarray]]) -> None:
        """Begins to compile the programs for the shapes of some batches, in this order, and returns at once.

        XLA compiles a program for the CPU on one core, and several cores compile several; a step waits for its own.
        """
        like = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), state)
        pool = ThreadPoolExecutor(COMPILE_AT_ONCE)
        for batch in batches:
            if shapes_of(batch) not in self._programs:
                arrays = {name: jax.ShapeDtypeStruct(array.shape, array.dtype) for name, array in batch.items()}
                self._programs[shapes_of(batch)] = pool.submit(self._compiled, like, arrays)
        pool.shutdown(wait=False)

    def _compiled(self, state: Any, batch: Any) -> Any:
        return self._jitted.lower(state, batch, self._key_data).compile()


def make_train_step(
    task: Task,
    optimizer: optax.GradientTransformation,
    mesh: Mesh,
    key: jax.Array,
    frozen: optimizers.Frozen | None = None,
) -> TrainStep:
    """The jitted training step; its state is donated, so the one handed in is gone afterwards.

    Args:
      task: what to learn.
      optimizer: as `make_optimizer` makes it, with the same `frozen`.
      mesh: devices; state on all of them, batch split by rows.
      key: the run's key for steps; step t uses fold_in(key, t).
      frozen: parameters left alone.

    Returns:
      (state, batch) -> (state after the step, float32 [3]: loss, tokens, norm of the unclipped gradient).
    """

    def step(state: TrainState, batch: dict[str, jax.Array], key_data: jax.Array) -> tuple[TrainState, jax.Array]:
        leaves = optimizers.frozen_leaves(state.params, frozen)
        step_key = jax.random.fold_in(jax.random.wrap_key_data(key_data, impl=jax.random.key_impl(key)), state.step)

        def loss_of(params: Params) -> tuple[jax.Array, dict[str, jax.Array]]:
            return task.loss(optimizers.stop_frozen_gradients(params, leaves), batch, step_key, state.step)

        (loss, report), gradient = jax.value_and_grad(loss_of, has_aux=True)(state.params)
        updates, opt_state = optimizer.update(gradient, state.opt_state, state.params)
        params = optimizers.apply_updates(state.params, updates, state.learning_rate_scale, leaves)
        # One small array, so that following a run costs one transfer a step.
        measured = jnp.stack([loss, report["tokens"], optimizers.length(gradient)]).astype(jnp.float32)
        return state.replace(step=state.step + 1, params=params, opt_state=opt_state), measured

    whole = sharding.replicated(mesh)
    jitted = jit(
        step, in_shardings=(whole, sharding.by_rows(mesh), whole), out_shardings=(whole, whole), donate_argnums=0
    )
    # The key is an argument: as a constant it would make another program of every seed, to be compiled anew.
    key_data = sharding.replicate(mesh, np.asarray(jax.random.key_data(key)))
    return TrainStep(jitted, key_data)


def check_config(config: ml_collections.ConfigDict) -> None:
    """Raises ConfigError where a field of the `train` part of a configuration cannot be used."""
    optimizers.make_optimizer(config, schedules.make_schedule(config, 1))
    schedules.Plateau(config.plateau_factor, config.plateau_patience, config.metric_mode)
    if config.metric_mode not in ("max", "min"):
        raise ConfigError(f"train.metric_mode is {config.metric_mode!r}: set max or min.")
    if config.eval_every < NEVER:
        raise ConfigError(
            f"train.eval_every is {config.eval_every}: set a number of steps, 0 (each epoch) or {NEVER} (never)."
        )
    for name in ("epochs", "max_steps", "patience", "checkpoint_seconds"):
        if config[name] < 0:
            raise ConfigError(f"train.{name} is {config[name]}: it cannot be negative.")
    if config.epochs < 1:
        raise ConfigError("train.epochs is 0: set 1 or more; max_steps shortens a run further.")
