"""A toy training run, as functions for tests in this process and as a command for tests that need one of their own.

Command: python toy_run.py WORKDIR [--FIELD=VALUE of the toy config ...]; final parameters go to WORKDIR/final.npz.
"""

import os
import sys
import time
from pathlib import Path

import flax.linen as nn
import jax
import jax.numpy as jnp
import ml_collections
import numpy as np

V, E, T = 23, 8, 9  # words, embedding, longest row


def make_config(**fields) -> ml_collections.ConfigDict:
    """The `train` part of a configuration with the fields the loop reads."""
    config = ml_collections.ConfigDict(
        dict(
            epochs=4,
            max_steps=0,
            eval_every=0,
            metric="accuracy",
            metric_mode="max",
            patience=0,
            plateau_factor=1.0,
            plateau_patience=1,
            learning_rate=1e-2,
            schedule="constant",
            warmup_steps=0,
            weight_decay=5e-5,
            clip="value",
            clip_at=10.0,
            checkpoint_seconds=600.0,
        )
    )
    config.update(fields)
    return config


class Toy(nn.Module):
    """Predicts each next word of a row from the one before."""

    @nn.compact
    def __call__(self, words, train: bool):
        x = nn.Embed(V, E, name="embed")(words)
        x = nn.tanh(nn.Dense(E, name="hidden")(x))
        x = nn.Dropout(0.2, deterministic=not train)(x)
        return nn.Dense(V, name="out")(x)


class ToyTask:
    """Next-word cross-entropy over the real words of rows of very unequal length."""

    def init(self, key):
        return Toy().init(key, jnp.zeros((1, T - 1), jnp.int32), False)["params"]

    def loss(self, params, batch, key, step):
        words, following = batch["words"][:, :-1], batch["words"][:, 1:]
        logits = Toy().apply({"params": params}, words, True, rngs={"dropout": key})
        losses = -jnp.take_along_axis(jax.nn.log_softmax(logits), following[..., None], axis=-1)[..., 0]
        real = following != 0
        tokens = real.sum()
        return jnp.where(real, losses, 0).sum() / jnp.maximum(tokens, 1), {"tokens": tokens}


class NanTask(ToyTask):
    """A toy whose loss is NaN from a step on."""

    def __init__(self, step):
        self.step = step

    def loss(self, params, batch, key, step):
        loss, report = super().loss(params, batch, key, step)
        return jnp.where(step >= self.step, jnp.nan, loss), report


class ToyBatches:
    """Random rows: one long, the others of two words and padding."""

    def __init__(self, rows=16, steps_per_epoch=5, pause=0.0):
        self.rows, self.steps_per_epoch, self.pause = rows, steps_per_epoch, pause

    def batch(self, step):
        time.sleep(self.pause)
        words = np.random.default_rng([3, step]).integers(1, V, (self.rows, T)).astype(np.int32)
        words[1:, 2:] = 0
        index = (np.arange(self.rows) + step * self.rows).astype(np.int32)
        return {"words": words, "index": index}

    def of_each_shape(self):
        return [self.batch(0)]


def accuracy(params, epoch):
    """A number that rises and falls from evaluation to evaluation, as a function of the parameters."""
    total = sum(float(np.abs(np.asarray(leaf)).sum()) for leaf in jax.tree.leaves(params))
    return {"accuracy": round(total * 1e4) % 101 / 100}


def flat(params) -> dict[str, np.ndarray]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(params)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def save_gradients(path: Path) -> None:
    """Loss, tokens and gradients of one batch split over all devices of all processes."""
    from vatex_jax.training import sharding

    mesh = sharding.make_mesh()
    batch = sharding.shard_batch(mesh, ToyBatches().batch(0))
    params = sharding.replicate(mesh, jax.device_get(ToyTask().init(jax.random.key(1))))
    split = {len(shard.data) for shard in batch["words"].addressable_shards}
    assert split == {16 // jax.device_count()}, split
    whole = sharding.replicated(mesh)
    loss = jax.value_and_grad(lambda p, b: ToyTask().loss(p, b, jax.random.key(2), jnp.int32(0)), has_aux=True)
    (value, report), gradients = jax.jit(loss, out_shardings=whole)(params, batch)
    if jax.process_index() == 0:
        np.savez(path, loss=np.asarray(value), tokens=np.asarray(report["tokens"]), **flat(gradients))


def main() -> None:
    from vatex_jax.training.compilation import enable_compilation_cache
    from vatex_jax.training.loop import Stage, train
    from vatex_jax.training.sharding import initialize_distributed

    workdir = Path(sys.argv[1])
    given = dict(argument.removeprefix("--").split("=", 1) for argument in sys.argv[2:])
    if "cache" in given:
        enable_compilation_cache(given.pop("cache"))
    pause, slow_evaluation = float(given.pop("pause", 0)), float(given.pop("slow_evaluation", 0))
    gradients = given.pop("gradients", "")
    stages = [Stage(3), Stage(3, lambda path: path[0] == "embed")] if given.pop("two_stages", "") else None
    config = make_config()
    for name, value in given.items():
        config[name] = type(config[name])(value)
    initialize_distributed()
    if gradients:
        save_gradients(workdir / "gradients.npz")

    def evaluate(params, epoch):
        print("evaluating", flush=True)
        time.sleep(slow_evaluation)
        return accuracy(params, epoch)

    result = train(
        ToyTask(), ToyBatches(pause=pause), config=config, seed=7, workdir=workdir, evaluate=evaluate, stages=stages
    )
    if jax.process_index() == 0:
        last = {f"last{name}": array for name, array in flat(result.state.params).items()}
        np.savez(workdir / "final.npz", best_step=result.host.best_step, **flat(result.params), **last)


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.modules["torch"] = None  # tensorboardX would spend seconds on importing it
    main()
