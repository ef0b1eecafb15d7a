"""Attention against NumPy, and where there is nothing to attend to.

Dimension legend
    B  batch      K  hypotheses      M  memory positions      D  memory size      H  query size
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vatex_jax.nn.attention import attend, masked_softmax
from vatex_jax.nn.products import plain_product

B, K, M, D, H = 4, 3, 5, 6, 2
LENGTHS = [5, 2, 1, 0]
MASK = jnp.asarray(np.arange(M) < np.array(LENGTHS)[:, None])


def test_hand_worked_softmax():
    scores = jnp.array([[np.log(1.0), np.log(3.0), 100.0], [7.0, 7.0, 7.0]])
    mask = jnp.array([[True, True, False], [False, True, True]])
    np.testing.assert_allclose(masked_softmax(scores, mask), [[0.25, 0.75, 0], [0, 0.5, 0.5]], rtol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e20])
def test_large_scores_and_nothing_to_attend_to(scale):
    rng = np.random.default_rng(0)
    scores = jnp.asarray(scale * rng.normal(size=(B, M)), jnp.float32)

    def loss(scores):
        weights = masked_softmax(scores, MASK)
        return (weights * jnp.arange(M)).sum(), weights

    (_, weights), gradient = jax.value_and_grad(loss, has_aux=True)(scores)
    for row, length in enumerate(LENGTHS):
        if length:
            real = np.asarray(scores[row, :length], np.float64)
            expected = np.exp(real - real.max())
            np.testing.assert_allclose(weights[row, :length], expected / expected.sum(), rtol=2e-5, atol=1e-30)
        np.testing.assert_array_equal(weights[row, length:], 0)
        np.testing.assert_array_equal(gradient[row, length:], 0)
    np.testing.assert_allclose(weights.sum(1), [1, 1, 1, 0], rtol=1e-6)
    assert np.isfinite(gradient).all()


def test_softmax_gradient_where_all_is_seen():
    scores = jnp.asarray(np.random.default_rng(1).normal(size=(2, M)), jnp.float32)
    ours, plain = (
        jax.grad(lambda s, f=f: (f(s) * jnp.arange(M) ** 2).sum())(scores)
        for f in (lambda s: masked_softmax(s, jnp.ones((2, M), bool)), jax.nn.softmax)
    )
    np.testing.assert_allclose(ours, plain, atol=1e-6)


def test_no_positions():
    assert masked_softmax(jnp.zeros((B, 0)), jnp.zeros((B, 0), bool)).shape == (B, 0)


def constants():
    rng = np.random.default_rng(2)
    memory = np.where(np.asarray(MASK)[:, :, None], rng.normal(size=(B, M, D)), 30.0)
    return {
        "video_query": jnp.asarray(rng.normal(size=(H, D)), jnp.float32),
        "video_memory": jnp.asarray(memory, jnp.float32),
        "source_query": jnp.full((H, D), jnp.nan),
        "source_memory": jnp.full((B, M, D), jnp.nan),
    }


def test_contexts_and_weights(numpy_model):
    fixed = constants()
    query = jnp.asarray(np.random.default_rng(3).normal(size=(B, H)), jnp.float32)
    context, weights = attend(plain_product(fixed), query, MASK, "video")
    for row, length in enumerate(LENGTHS):
        memory = np.asarray(fixed["video_memory"][row, :length], np.float64)
        expected, shares = numpy_model.attend(
            np.asarray(query[row], np.float64), np.asarray(fixed["video_query"]), memory
        )
        np.testing.assert_allclose(context[row], expected, atol=1e-5)
        np.testing.assert_allclose(weights[row, :length], shares, atol=1e-5)
        np.testing.assert_array_equal(weights[row, length:], 0)


def test_hypotheses_attend_as_rows_do():
    product = plain_product(constants())
    query = jnp.asarray(np.random.default_rng(4).normal(size=(B, K, H)), jnp.float32)
    context, weights = attend(product, query, MASK[:, None], "video")
    assert context.shape == (B, K, D)
    assert weights.shape == (B, K, M)
    for k in range(K):
        alone = attend(product, query[:, k], MASK, "video")
        np.testing.assert_allclose(context[:, k], alone[0], atol=1e-6)
        np.testing.assert_allclose(weights[:, k], alone[1], atol=1e-6)
