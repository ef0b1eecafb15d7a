"""Padding words, padding segments and padding rows change nothing: loss, gradients, decoded outputs, scores."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vatex_jax.decoding.beam import beam_search
from vatex_jax.models.translator import decoding, translation_loss

KINDS = ("none", "attention", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("average", "final")))
MORE = {
    "source words": {"source": (0, 3)},
    "target words": {"target": (0, 4)},
    "segments": {"video": (0, 5, 0), "video_mask": (0, 5)},
    "rows": {name: 2 for name in ("source", "target", "video", "video_mask")},
}


def padded(batch, what):
    """The batch with zeros (False) behind, along the axes MORE names."""
    result = {}
    for name, array in batch.items():
        more = MORE[what].get(name, 0)
        more = (more,) + (0,) * (array.ndim - 1) if isinstance(more, int) else more
        result[name] = np.pad(array, [(0, n) for n in more])
    return result


def everything(model, params, batch):
    """Loss, tokens, gradients, and the search's outputs in order."""
    data = {name: jnp.asarray(array) for name, array in batch.items()}

    @jax.jit
    def compute(params, data):
        loss = jax.value_and_grad(lambda p: translation_loss(model, p, data, None), has_aux=True)(params)
        return loss, beam_search(*decoding(model, params, data), beam=3, max_words=5, n_best=3)

    return compute(params, data)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing(small, kind):
    model, batch = small.model(kind), small.batch(kind)
    params = small.parameters(model)
    rows = len(batch["source"])
    ((loss, tokens), gradients), found = everything(model, params, batch)
    for what in MORE:
        if kind == "none" and what == "segments":
            continue
        ((loss_2, tokens_2), gradients_2), found_2 = everything(model, params, padded(batch, what))
        np.testing.assert_allclose(loss_2, loss, rtol=1e-6, err_msg=what)
        assert tokens_2 == tokens
        # Sums of another length round differently: 1e-6 of the largest gradient.
        atol = 1e-6 * max(np.abs(leaf).max() for leaf in jax.tree.leaves(gradients))
        for path, a in jax.tree_util.tree_leaves_with_path(gradients):
            b = gradients_2
            for key in path:
                b = b[key.key]
            np.testing.assert_allclose(b, a, rtol=1e-6, atol=atol, err_msg=f"{what} {jax.tree_util.keystr(path)}")
        np.testing.assert_array_equal(found_2.tokens[:rows], found.tokens, err_msg=what)
        np.testing.assert_array_equal(found_2.lengths[:rows], found.lengths, err_msg=what)
        np.testing.assert_allclose(found_2.scores[:rows], found.scores, rtol=1e-6, atol=1e-6, err_msg=what)


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("segments", [0, 3])
def test_videos_without_segments(small, numpy_model, kind, segments):
    """All masked, or arrays of no length at all: as the reference without a video, with finite gradients."""
    model, batch = small.model(kind), small.batch(kind)
    params = small.parameters(model)
    batch["video"], batch["video_mask"] = batch["video"][:, :segments] * 0, batch["video_mask"][:, :segments] & False
    ((loss, _), gradients), found = everything(model, params, batch)
    p = jax.tree.map(lambda x: np.asarray(x, np.float64), params)
    surprises = [numpy_model.surprises(p, kind, *row) for row in numpy_model.rows(batch)]
    np.testing.assert_allclose(loss, np.concatenate(surprises).mean(), rtol=1e-5)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradients))
    assert (found.lengths > 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_padding_alone(small, kind):
    model, batch = small.model(kind), small.batch(kind)
    empty = {name: array * 0 for name, array in batch.items()}
    empty = {name: array.astype(batch[name].dtype) for name, array in empty.items()}
    ((loss, tokens), gradients), _ = everything(model, small.parameters(model), empty)
    assert (loss, tokens) == (0, 0)
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(gradients))


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_one(small, kind):
    """One row alone is decoded as among its neighbours."""
    model, batch = small.model(kind), small.batch(kind)
    params = small.parameters(model)
    _, found = everything(model, params, batch)
    _, alone = everything(model, params, {name: array[2:3] for name, array in batch.items()})
    np.testing.assert_array_equal(alone.tokens[0], found.tokens[2])
    np.testing.assert_allclose(alone.scores[0], found.scores[2], rtol=1e-5, atol=1e-6)
