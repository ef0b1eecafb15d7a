"""A small translator and a batch for it."""

import jax
import jax.numpy as jnp
import numpy as np

from vatex_jax.models.translator import Translator

KINDS = ("none", "average", "final", "attention")
SOURCE_WORDS, TARGET_WORDS, FEATURES = 9, 12, 7
EOS = 3


def model(kind):
    """Every size is different, so that no wrong axis fits; dropout is on where a key is given."""
    return Translator(
        SOURCE_WORDS,
        TARGET_WORDS,
        video=kind,
        embedding=6,
        source_hidden=3,
        video_hidden=2,
        video_projection=5,
        decoder_hidden=10,
        layers=2,
        dropout=0.5,
    )


def batch(kind, lengths=((5, 6, 4), (1, 1, 1), (3, 2, 0), (2, 4, 3)), seed=0):
    """Rows of (source words, target words with EOS, segments); padding segments hold zeros, as sources make them."""
    rng = np.random.default_rng(seed)
    rows = len(lengths)
    longest_source, longest_target, longest_video = np.max(lengths, axis=0)
    result = {
        "source": np.zeros((rows, longest_source), np.int32),
        "target": np.zeros((rows, longest_target), np.int32),
        "video": np.zeros((rows, longest_video, FEATURES), np.float32),
        "video_mask": np.zeros((rows, longest_video), bool),
    }
    for row, (source, target, segments) in enumerate(lengths):
        result["source"][row, :source] = rng.integers(4, SOURCE_WORDS, source)
        if target:
            result["target"][row, :target] = [*rng.integers(5, TARGET_WORDS, target - 1), EOS]
        result["video"][row, :segments] = rng.normal(size=(segments, FEATURES))
        result["video_mask"][row, :segments] = True
    if kind == "none":
        del result["video"], result["video_mask"]
    return result


def inputs(batch):
    """A batch's arrays as the model's keyword arguments."""
    return {name: jnp.asarray(batch[name]) for name in ("source", "target", "video", "video_mask") if name in batch}


def parameters(model, scale=0.5, seed=0):
    """Every parameter normal, biases too, so that a wrong term shows."""
    example = inputs(batch(model.video))
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), **example))["params"]
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda s: jnp.asarray(scale * rng.normal(size=s.shape), jnp.float32), shapes)


def sixteen_rows(kind):
    """Rows from one word to all, so that devices hold very different numbers of words; the last row is padding."""
    lengths = [(1 + i % 7, 1 + (i * i) % 9, (5 * i) % 6) for i in range(15)] + [(0, 0, 0)]
    return batch(kind, lengths)
