"""Losses and gradients of a small translator and a small captioner over all devices of all processes.

python gradients_on_devices.py GRADIENTS.npz
"""

import functools
import sys

import jax
import numpy as np
import small_captioner
import small_translator

from vatex_jax.models.captioner import captions_loss
from vatex_jax.models.translator import translation_loss
from vatex_jax.training import sharding

ROWS = 16
FED_BACK = 0.5
CAPTIONS = [(1 + i % 7, (i * i) % 9, (5 * i) % 6) for i in range(ROWS - 1)]
"""(English words, Chinese words, segments): from one word to all, so that devices hold very different numbers."""


def losses():
    """By name: a loss of parameters and a batch of `ROWS` rows whose last is padding, the parameters, the batch."""
    translator = small_translator.model("attention")
    captioner = small_captioner.model(dropout=0.2)
    captions = functools.partial(captions_loss, key=jax.random.key(1), sampling=FED_BACK)
    return {
        "translator": (
            lambda params, batch: translation_loss(translator, params, batch, None),
            small_translator.parameters(translator),
            small_translator.sixteen_rows("attention"),
        ),
        "captioner": (
            lambda params, batch: captions(captioner, params, batch),
            small_captioner.parameters(captioner),
            small_captioner.batch([*CAPTIONS, (0, 0, 0)]),
        ),
    }


def losses_and_gradients(mesh):
    """By name: each loss, its number of words, and each parameter's gradient, over a batch split over the mesh."""
    found = {}
    for model, (loss, params, batch) in losses().items():
        params = sharding.replicate(mesh, jax.tree.map(np.asarray, params))
        batch = sharding.shard_batch(mesh, {name: np.asarray(array) for name, array in batch.items()})

        @jax.jit
        def compute(params, batch, loss=loss):
            result = jax.value_and_grad(loss, has_aux=True)(params, batch)
            return jax.lax.with_sharding_constraint(result, sharding.replicated(mesh))

        (value, tokens), gradients = compute(params, batch)
        named = {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(gradients)}
        found |= {f"{model} {name}": np.asarray(x) for name, x in {"loss": value, "tokens": tokens, **named}.items()}
    return found


def main():
    sharding.initialize_distributed()
    result = losses_and_gradients(sharding.make_mesh())
    if jax.process_index() == 0:
        np.savez(sys.argv[1], devices=jax.device_count(), **result)


if __name__ == "__main__":
    main()
