"""What the encoders add to their LSTMs: averages, embeddings, a dense layer.

Dimension legend
    B  batch      L  video segments      F  feature size      E  embedding
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vatex_jax.nn.embedding import WordEmbedding
from vatex_jax.nn.encoders import Dense, mean_segment


def test_mean_of_real_segments():
    features = jnp.array(
        [[[1.0, 2.0], [3.0, 6.0], [99.0, 99.0]], [[4.0, 5.0], [99.0, 99.0], [99.0, 99.0]], [[9.0, 9.0]] * 3]
    )
    mask = jnp.array([[True, True, False], [True, False, False], [False, False, False]])
    np.testing.assert_array_equal(mean_segment(features, mask), [[2, 4], [4, 5], [0, 0]])
    np.testing.assert_array_equal(mean_segment(jnp.zeros((2, 0, 3)), jnp.zeros((2, 0), bool)), np.zeros((2, 3)))


def test_embedding_reads_rows():
    model = WordEmbedding(5, 2)
    params = {"table": jnp.arange(10.0).reshape(5, 2)}
    np.testing.assert_array_equal(model.apply({"params": params}, jnp.array([[4, 0]])), [[[8, 9], [0, 1]]])


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 0, 3), (2, 4, 5, 3)])
def test_dense_over_any_leading_axes(shape):
    if len(shape) == 1:
        shape = (1, *shape)
    x = jnp.asarray(np.random.default_rng(0).normal(size=shape), jnp.float32)
    model = Dense(4)
    params = jax.tree.map(lambda p: p + 0.5, model.init(jax.random.key(0), x)["params"])
    expected = np.asarray(x) @ np.asarray(params["kernel"]) + np.asarray(params["bias"])
    np.testing.assert_allclose(model.apply({"params": params}, x), expected, atol=1e-5)
