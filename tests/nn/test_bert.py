"""BERT's layers where padding and pooling matter; the whole is held against NumPy in tests/models/test_bert.py."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vatex_jax.nn.bert import Bert, pool

B, L, H = 3, 5, 8
LENGTHS = np.array([5, 2, 0])
MASK = jnp.asarray(np.arange(L) < LENGTHS[:, None])


def small():
    return Bert(vocabulary=11, positions=7, types=2, hidden=H, layers=2, heads=2, inner=6, epsilon=1e-12)


@pytest.fixture(scope="module")
def parameters():
    shapes = jax.eval_shape(small().init, jax.random.key(0), jnp.zeros((1, 2), jnp.int32), jnp.ones((1, 2), bool))
    leaves, tree = jax.tree.flatten(shapes)
    rng = np.random.default_rng(0)
    return jax.tree.unflatten(tree, [jnp.asarray(rng.normal(size=leaf.shape), jnp.float32) for leaf in leaves])


def test_pooling_by_hand():
    states = jnp.arange(2.0 * 3 * 2).reshape(2, 3, 2)
    mask = jnp.array([[True, True, False], [True, False, False]])
    np.testing.assert_array_equal(pool(states, mask, "first"), [[0, 1], [6, 7]])
    np.testing.assert_array_equal(pool(states, mask, "mean"), [[1, 2], [6, 7]])


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_padding_tells_nothing(parameters, pooling):
    ids = np.random.default_rng(1).integers(0, 11, (B, L)).astype(np.int32)
    found = []
    for filling in (0, 9):
        padded = jnp.asarray(np.where(MASK, ids, filling))
        found.append(pool(small().apply(parameters, padded, MASK), MASK, pooling))
    rows = slice(2 if pooling == "first" else 3)  # a row without pieces has a mean, but no first one
    np.testing.assert_array_equal(found[0][rows], found[1][rows])
    assert np.isfinite(found[0]).all()
    short = small().apply(parameters, jnp.asarray(ids[1:2, :2]), MASK[1:2, :2])
    np.testing.assert_allclose(pool(short, MASK[1:2, :2], pooling)[0], found[0][1], atol=1e-5)


def test_each_piece_attends_to_those_on_both_sides(parameters):
    ids = jnp.zeros((1, L), jnp.int32)
    mask = jnp.ones((1, L), bool)
    before = small().apply(parameters, ids, mask)
    after = small().apply(parameters, ids.at[0, 2].set(4), mask)
    assert (np.abs(after - before).max(-1) > 1e-4).all()


def test_the_order_of_the_pieces_matters(parameters):
    mask = jnp.ones((1, 3), bool)
    one, other = (small().apply(parameters, jnp.array([ids], jnp.int32), mask) for ids in ([1, 2, 3], [1, 3, 2]))
    assert np.abs(one[0, 0] - other[0, 0]).max() > 1e-3
