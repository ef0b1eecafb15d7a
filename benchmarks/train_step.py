"""A training step of video-guided machine translation against PyTorch, on the CPU: `python benchmarks/train_step.py`.

What is timed: loss, gradients, clamping to 10, L2 decay 5e-5, Adam with rate 1e-3 and dropout 0.5, on a batch of 32
that starts as host arrays; published sizes, vocabularies of 11,000 and 14,000, float32.

- Full length: 40 source words, 40 target words and EOS (T = 41 for both sides and in the operations counted), 32
  segments.
- Real lengths: means of 15 and 14 words (`real_lengths` in workload.py). Ours in the buckets of training, all shapes
  timed and weighed by their batches of an epoch; the peer in batches of random order padded to 40 and 41, its source
  encoder packed. Seconds for 32 sentences.
- bfloat16: our step in bfloat16 against our step in float32, at full length, where the processor has the instructions.

Ours is the training loop's own step. The peer (torch_translator.py) is eager PyTorch as a competent user writes it:
`nn.LSTM` encoders, an `nn.LSTMCell` decoder, logits after the loop in one product, fused Adam. `stepwise` is the same
model trained the way the published code goes about it: the vocabulary product and the likeliest word at every step,
logits written into an array made beforehand, Adam as PyTorch has it by default.

Each figure is the median of repeats taken in turn, after a warm-up of each: a disturbance of the machine hits both
sides, and one stroke of luck decides nothing. The peak is the best of as many products of 4096 x 4096 matrices, one a
round, so that it is taken under the conditions of the steps.
"""

import dataclasses
import itertools
import pathlib
import statistics
import sys
from collections.abc import Callable
from typing import Any

if __name__ in ("__main__", "__mp_main__"):
    # Run as a script, Python looks for modules in this folder; they are found from the one above.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

import numpy as np

from benchmarks import timing
from benchmarks.workload import MAX_WORDS, SEGMENTS, ModelSizes, random_examples, real_lengths, training_flops
from vatex_jax.data.batching import Buckets, assemble

DROPOUT, RATE, DECAY, CLAMP = 0.5, 1e-3, 5e-5, 10.0


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is run; the defaults are the benchmark, smaller ones are for tests."""

    sizes: ModelSizes = dataclasses.field(default_factory=ModelSizes)
    batch: int = 32
    words: int = MAX_WORDS
    segments: int = SEGMENTS
    sentences: int = 20_000
    rounds: int = 5
    stepwise_rounds: int = 3
    real_rounds: int = 3
    matrix: int = 4096


class OurTraining:
    """Our side: the training loop's jitted step on one CPU device."""

    def __init__(self, sizes: ModelSizes, matrix: int):
        import jax

        from vatex_jax.training import sharding
        from vatex_jax.training.allocation import keep_freed_memory

        keep_freed_memory()  # as every run of ours does
        jax.config.update("jax_platforms", "cpu")
        self._sizes, self._mesh = sizes, sharding.make_mesh()
        self._matrix, self._rate = matrix, None
        self._steps: dict[str, Any] = {}
        self._states: dict[str, Any] = {}

    def step(self, batch: dict[str, np.ndarray], precision: str = "float32") -> float:
        """Trains on one batch; returns its loss."""
        from vatex_jax.training.sharding import shard_batch

        if precision not in self._steps:
            self._begin(precision)
        state, measured = self._steps[precision](self._states[precision], shard_batch(self._mesh, batch))
        self._states[precision] = state
        # The loss is ready before the parameters are.
        state.step.block_until_ready()
        return float(np.asarray(measured)[0])

    def matrix_rate(self) -> float:
        """Operations a second of one large product."""
        if self._rate is None:
            self._rate = timing.MatrixRate(self._matrix)
        return self._rate.measure()

    def keep_compiled(self) -> None:
        """Keeps compiled programs for the next run."""
        from vatex_jax.training.compilation import enable_compilation_cache

        enable_compilation_cache()

    def peak_memory_gb(self) -> float:
        return timing.peak_memory_gb()

    def _begin(self, precision: str) -> None:
        import jax
        import ml_collections
        import optax

        from vatex_jax.models.translator import Translator
        from vatex_jax.training import sharding
        from vatex_jax.training.loop import make_train_step
        from vatex_jax.training.optimizers import make_optimizer
        from vatex_jax.training.state import new_state

        model = Translator(**self._sizes.translator_fields(), dropout=DROPOUT, dtype=precision)
        task = _Translation(model, self._sizes.feature)
        config = ml_collections.ConfigDict({"clip": "value", "clip_at": CLAMP, "weight_decay": DECAY})
        optimizer = make_optimizer(config, optax.constant_schedule(RATE))
        begin = jax.jit(lambda key: new_state(task.init(key), optimizer), out_shardings=sharding.replicated(self._mesh))
        self._states[precision] = begin(jax.random.key(0))
        self._steps[precision] = make_train_step(task, optimizer, self._mesh, jax.random.key(1))


@dataclasses.dataclass(frozen=True)
class _Translation:
    """`training.task.Task` for a translator."""

    model: Any
    feature: int

    def init(self, key: Any) -> Any:
        import jax.numpy as jnp

        words = jnp.ones((1, 1), jnp.int32)
        return self.model.init(key, words, words, jnp.ones((1, 1, self.feature)), jnp.ones((1, 1), bool))["params"]

    def loss(self, params: Any, batch: Any, key: Any, step: Any) -> Any:
        from vatex_jax.models.translator import translation_loss

        loss, count = translation_loss(self.model, params, batch, key)
        return loss, {"tokens": count}


class PeerTraining:
    """The peer's side: an eager PyTorch step with as many threads."""

    def __init__(self, sizes: ModelSizes):
        import torch

        from benchmarks.torch_translator import TorchTranslator

        torch.set_num_threads(timing.threads())
        torch.manual_seed(0)
        self._model = TorchTranslator(sizes, DROPOUT)
        parameters = list(self._model.parameters())
        self._optimizer = torch.optim.Adam(parameters, lr=RATE, weight_decay=DECAY, fused=True)
        self._plain_optimizer = torch.optim.Adam(parameters, lr=RATE, weight_decay=DECAY)

    def step(self, batch: dict[str, np.ndarray], stepwise: bool = False) -> float:
        """Trains on one batch, `stepwise` as the published code does; returns its loss."""
        import torch

        from benchmarks.torch_translator import translation_loss

        source, target = (torch.from_numpy(batch[name]).long() for name in ("source", "target"))
        optimizer = self._plain_optimizer if stepwise else self._optimizer
        forward = self._model.forward_stepwise if stepwise else self._model
        optimizer.zero_grad(set_to_none=True)
        loss = translation_loss(forward(source, target, torch.from_numpy(batch["video"])), target)
        loss.backward()
        torch.nn.utils.clip_grad_value_(self._model.parameters(), CLAMP)
        optimizer.step()
        return loss.item()

    def peak_memory_gb(self) -> float:
        return timing.peak_memory_gb()


def run(plan: Plan) -> dict[str, Any]:
    """Measures everything; the keys of the line of results."""
    with timing.Side(OurTraining, plan.sizes, plan.matrix) as ours, timing.Side(PeerTraining, plan.sizes) as peer:
        ours.call("keep_compiled")
        results = full_length(plan, ours, peer)
        results |= real(plan, ours, peer, results["peak_gflops"])
    return {"unit": "s", **results}


def full_length(plan: Plan, ours: timing.Side, peer: timing.Side) -> dict[str, Any]:
    """Sentences of the longest length: both sides, the stepwise peer, bfloat16, and the machine's peak."""
    lengths = np.full((plan.batch, 2), plan.words)
    examples = random_examples(plan.sizes, lengths, plan.segments, 0)
    batch = assemble(examples, range(plan.batch), (plan.words, plan.words + 1, plan.segments), plan.batch)
    ours.call("step", batch)
    peer.call("step", batch)
    # Read before anything but the float32 step has run.
    memory = {"peak_memory_gb": ours.call("peak_memory_gb"), "peer_peak_memory_gb": peer.call("peak_memory_gb")}
    rates = []
    measurements = {
        "ours": lambda: ours.timed("step", batch)[0],
        "peer": lambda: peer.timed("step", batch)[0],
        "rate": lambda: rates.append(ours.call("matrix_rate")) or 0.0,
    }
    missing = timing.without_bfloat16()
    if missing is None:
        ours.call("step", batch, "bfloat16")
        measurements["bf16"] = lambda: ours.timed("step", batch, "bfloat16")[0]
    seconds = timing.in_turn(measurements, plan.rounds)
    peer.call("step", batch, True)
    seconds |= timing.in_turn({"stepwise": lambda: peer.timed("step", batch, True)[0]}, plan.stepwise_rounds)
    median = {name: statistics.median(values) for name, values in seconds.items()}
    flops, peak = training_flops(plan.sizes, examples.lengths()), max(rates)
    return {
        "ours": median["ours"],
        "peer": median["peer"],
        "speedup": median["peer"] / median["ours"],
        "stepwise": median["stepwise"],
        "speedup_stepwise": median["stepwise"] / median["ours"],
        "gflop": flops / 1e9,
        "peak_gflops": peak / 1e9,
        "peak_share": flops / median["ours"] / peak,
        **memory,
        "ours_bf16": median.get("bf16"),
        "speedup_bf16": median["ours"] / median["bf16"] if missing is None else None,
        "without_bf16": missing,
    }


def real(plan: Plan, ours: timing.Side, peer: timing.Side, peak_gflops: float) -> dict[str, Any]:
    """Sentences of real lengths: our buckets, each shape timed and weighed, against all padded to the longest."""
    examples = random_examples(plan.sizes, real_lengths(plan.sentences, 1, plan.words), plan.segments, 1)
    lengths = examples.lengths()
    buckets = Buckets.of(examples, plan.batch, 0)
    ours_by_shape: dict[int, list[np.ndarray]] = {}
    for shape, rows in buckets.epoch(0):
        ours_by_shape.setdefault(shape, []).append(rows)
    any_order = np.random.default_rng(2).permutation(len(examples))
    peers = [any_order[start : start + plan.batch] for start in range(0, len(examples), plan.batch)]

    def step_of(side: timing.Side, batches: list[np.ndarray], shape: Any) -> Callable[[], float]:
        following = itertools.cycle(batches)
        return lambda: side.timed("step", assemble(examples, next(following), shape, plan.batch))[0]

    measurements = {j: step_of(ours, batches, buckets.shapes[j]) for j, batches in sorted(ours_by_shape.items())}
    measurements["peer"] = step_of(peer, peers, (plan.words, plan.words + 1, plan.segments))
    timing.in_turn(measurements, 1)
    seconds = {
        name: statistics.median(values) for name, values in timing.in_turn(measurements, plan.real_rounds).items()
    }
    epoch = sum(len(batches) * seconds[j] for j, batches in ours_by_shape.items())
    mean = epoch / len(examples) * plan.batch
    return {
        "ours_real": mean,
        "peer_real": seconds["peer"],
        "speedup_real": seconds["peer"] / mean,
        "peak_share_real": training_flops(plan.sizes, lengths) / epoch / (peak_gflops * 1e9),
        "padding_real": buckets.padding(examples),
        "shapes_real": [[*shape, len(ours_by_shape.get(j, ()))] for j, shape in enumerate(buckets.shapes.tolist())],
    }


def table(results: dict[str, Any]) -> str:
    """The figures for people."""
    lines = [f"{'training step of 32 sentences':44}{'ours':>9}{'peer':>9}{'speedup':>9}{'of peak':>9}"]
    for title, ours, peer, speedup, share in (
        ("40 + 40 words, 32 segments", "ours", "peer", "speedup", "peak_share"),
        ("  the peer as the published code works", "ours", "stepwise", "speedup_stepwise", "peak_share"),
        ("  bfloat16 (peer: our float32)", "ours_bf16", "ours", "speedup_bf16", None),
        ("real lengths (peer: padded to 40)", "ours_real", "peer_real", "speedup_real", "peak_share_real"),
    ):
        values = [results[name] if name else None for name in (ours, peer, speedup, share)]
        cells = (
            "        -" if value is None else form.format(value)
            for value, form in zip(values, ("{:7.3f} s", "{:7.3f} s", "{:8.2f}x", "{:8.1%} "), strict=True)
        )
        lines.append(f"{title:44}" + "".join(cells))
    lines += [
        f"peak {results['peak_gflops']:.0f} GFLOP/s; {results['gflop']:.0f} GFLOP a step at 40 + 40 words",
        f"padding at real lengths {results['padding_real']:.1%}; shapes (source, target, segments, batches an epoch): "
        f"{results['shapes_real']}",
        f"peak memory {results['peak_memory_gb']:.2f} GB, peer {results['peer_peak_memory_gb']:.2f} GB",
    ]
    if results["without_bf16"]:
        lines.append(f"no bfloat16 figure: {results['without_bf16']}")
    return "\n".join(lines)


if __name__ == "__main__":
    timing.require_torch()
    figures = run(Plan())
    print(table(figures))
    timing.print_line("train_step", figures)
