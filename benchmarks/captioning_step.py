"""A training step of multilingual captioning against PyTorch, on the CPU: `python benchmarks/captioning_step.py`.

What is timed: loss, gradients, Adam with rate 1e-3, dropout 0.5 and scheduled sampling with probability 0.25, on a
batch of 256 videos that starts as host arrays; Shared Enc-Dec at its published sizes, vocabularies of 11,000 and
14,140, a caption of 30 words and EOS in each language, 32 segments, float32. `teacher_forcing` is our step without
scheduled sampling.

Ours is the training loop's own step. The peer (torch_captioner.py) is eager PyTorch as a competent user writes it: an
`nn.LSTM` encoder, an `nn.LSTMCell` decoder that chooses its next input in the loop, one cross-entropy after it, fused
Adam. It is timed with the logits computed in the loop (`peer_in_loop`) and once after it (`peer_after`); `peer` is the
faster of the two.

Each figure is the median of repeats taken in turn, after a warm-up of each. The peak is the best of as many products of
4096 x 4096 matrices, one a round.
"""

import dataclasses
import pathlib
import statistics
import sys
from typing import Any

if __name__ in ("__main__", "__mp_main__"):
    # Run as a script, Python looks for modules in this folder; they are found from the one above.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

import numpy as np

from benchmarks import timing
from benchmarks.workload import CAPTION_WORDS, SEGMENTS, CaptionerSizes, captioning_flops, random_captions

DROPOUT, RATE, SAMPLING = 0.5, 1e-3, 0.25


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is run; the defaults are the benchmark, smaller ones are for tests."""

    sizes: CaptionerSizes = dataclasses.field(default_factory=CaptionerSizes)
    batch: int = 256
    words: int = CAPTION_WORDS
    segments: int = SEGMENTS
    rounds: int = 5
    matrix: int = 4096


class OurTraining:
    """Our side: the training loop's jitted step on one CPU device."""

    def __init__(self, sizes: CaptionerSizes, matrix: int):
        import jax

        from vatex_jax.models.captioner import Captioner
        from vatex_jax.training import sharding
        from vatex_jax.training.allocation import keep_freed_memory

        keep_freed_memory()  # as every run of ours does
        jax.config.update("jax_platforms", "cpu")
        self._mesh, self._matrix, self._rate = sharding.make_mesh(), matrix, None
        self._model = Captioner(**sizes.captioner_fields(), dropout=DROPOUT)
        self._feature = sizes.feature
        self._steps: dict[bool, Any] = {}
        self._states: dict[bool, Any] = {}

    def step(self, batch: dict[str, np.ndarray], sampled: bool = True) -> float:
        """Trains on one batch, with scheduled sampling or without; returns its loss."""
        from vatex_jax.training.sharding import shard_batch

        if sampled not in self._steps:
            self._begin(sampled)
        state, measured = self._steps[sampled](self._states[sampled], shard_batch(self._mesh, batch))
        self._states[sampled] = state
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

    def _begin(self, sampled: bool) -> None:
        import jax
        import ml_collections
        import optax

        from vatex_jax.training import sharding
        from vatex_jax.training.loop import make_train_step
        from vatex_jax.training.optimizers import make_optimizer
        from vatex_jax.training.state import new_state

        task = _Captioning(self._model, self._feature, SAMPLING if sampled else None)
        optimizer = make_optimizer(
            ml_collections.ConfigDict({"clip": "none", "clip_at": 0.0, "weight_decay": 0.0}),
            optax.constant_schedule(RATE),
        )
        begin = jax.jit(lambda key: new_state(task.init(key), optimizer), out_shardings=sharding.replicated(self._mesh))
        # One model's memory at a time.
        self._states.clear()
        self._steps.clear()
        self._states[sampled] = begin(jax.random.key(0))
        self._steps[sampled] = make_train_step(task, optimizer, self._mesh, jax.random.key(1))


@dataclasses.dataclass(frozen=True)
class _Captioning:
    """`training.task.Task` for a captioner."""

    model: Any
    feature: int
    sampling: float | None

    def init(self, key: Any) -> Any:
        import jax.numpy as jnp

        targets = {language: jnp.ones((1, 1), jnp.int32) for language in self.model.languages}
        return self.model.init(key, jnp.ones((1, 1, self.feature)), jnp.ones((1, 1), bool), targets)["params"]

    def loss(self, params: Any, batch: Any, key: Any, step: Any) -> Any:
        from vatex_jax.models.captioner import captions_loss

        loss, count = captions_loss(self.model, params, batch, key, self.sampling)
        return loss, {"tokens": count}


class PeerTraining:
    """The peer's side: an eager PyTorch step with as many threads."""

    def __init__(self, sizes: CaptionerSizes, logits_after: bool):
        import torch

        from benchmarks.torch_captioner import TorchCaptioner

        torch.set_num_threads(timing.threads())
        torch.manual_seed(0)
        self._languages = [name for name, _ in sizes.vocabularies]
        self._model = TorchCaptioner(sizes, DROPOUT, logits_after)
        self._optimizer = torch.optim.Adam(self._model.parameters(), lr=RATE, fused=True)

    def step(self, batch: dict[str, np.ndarray]) -> float:
        """Trains on one batch; returns its loss."""
        import torch

        from benchmarks.torch_captioner import captions_loss

        targets = {name: torch.from_numpy(batch[f"target_{name}"]).long() for name in self._languages}
        fed_back = {name: torch.rand(target.shape) < SAMPLING for name, target in targets.items()}
        for steps in fed_back.values():
            steps[:, 0] = False
        self._optimizer.zero_grad(set_to_none=True)
        loss = captions_loss(self._model(torch.from_numpy(batch["video"]), targets, fed_back), targets)
        loss.backward()
        self._optimizer.step()
        return loss.item()

    def peak_memory_gb(self) -> float:
        return timing.peak_memory_gb()


def run(plan: Plan) -> dict[str, Any]:
    """Measures everything; the keys of the line of results."""
    lengths = np.full((plan.batch, len(plan.sizes.vocabularies)), plan.words)
    batch = random_captions(plan.sizes, lengths, plan.segments, 0)
    rates = []
    with (
        timing.Side(OurTraining, plan.sizes, plan.matrix) as ours,
        timing.Side(PeerTraining, plan.sizes, False) as in_loop,
        timing.Side(PeerTraining, plan.sizes, True) as after,
    ):
        ours.call("keep_compiled")
        peers = {"peer_in_loop": in_loop, "peer_after": after}
        for side in (ours, *peers.values()):
            side.call("step", batch)
        # Read before anything but this step has run.
        memory = {"peak_memory_gb": ours.call("peak_memory_gb")}
        memory |= {f"{name}_peak_memory_gb": side.call("peak_memory_gb") for name, side in peers.items()}
        seconds = timing.in_turn(
            {
                "ours": lambda: ours.timed("step", batch)[0],
                "peer_in_loop": lambda: in_loop.timed("step", batch)[0],
                "peer_after": lambda: after.timed("step", batch)[0],
                "rate": lambda: rates.append(ours.call("matrix_rate")) or 0.0,
            },
            plan.rounds,
        )
        ours.call("step", batch, False)
        seconds |= timing.in_turn({"taught": lambda: ours.timed("step", batch, False)[0]}, plan.rounds)
    median = {name: statistics.median(values) for name, values in seconds.items()}
    peer = min(median[name] for name in peers)
    targets = {name: [plan.words + 1] * plan.batch for name, _ in plan.sizes.vocabularies}
    flops = 3 * sum(captioning_flops(plan.sizes, targets, [plan.segments] * plan.batch).values())
    return {
        "unit": "s",
        "ours": median["ours"],
        "peer": peer,
        **{name: median[name] for name in peers},
        "speedup": peer / median["ours"],
        "gflop": flops / 1e9,
        "peak_gflops": max(rates) / 1e9,
        "peak_share": flops / median["ours"] / max(rates),
        "teacher_forcing": median["taught"],
        "peak_share_teacher_forcing": flops / median["taught"] / max(rates),
        **memory,
    }


def table(results: dict[str, Any]) -> str:
    """The figures for people."""
    return "\n".join(
        [
            f"{'captioning step of 256 videos':44}{'ours':>9}{'peer':>9}{'speedup':>9}{'of peak':>9}",
            f"{'scheduled sampling 0.25':44}{results['ours']:7.2f} s{results['peer']:7.2f} s"
            f"{results['speedup']:8.2f}x{results['peak_share']:8.1%}",
            f"  the peer's logits in the loop {results['peer_in_loop']:.2f} s, after it {results['peer_after']:.2f} s",
            f"{'teacher forcing':44}{results['teacher_forcing']:7.2f} s{'-':>9}{'-':>9}"
            f"{results['peak_share_teacher_forcing']:8.1%}",
            f"peak {results['peak_gflops']:.0f} GFLOP/s; {results['gflop']:.0f} GFLOP a step",
            f"peak memory {results['peak_memory_gb']:.2f} GB, peer {results['peer_in_loop_peak_memory_gb']:.2f} GB and "
            f"{results['peer_after_peak_memory_gb']:.2f} GB",
        ]
    )


if __name__ == "__main__":
    timing.require_torch()
    figures = run(Plan())
    print(table(figures))
    timing.print_line("captioning_step", figures)
