"""A scan that finds out itself what it looks up, against JAX's own differentiation of the same loop.

Dimension legend
    T  time steps      B  batch      V  vocabulary      E  embedding
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vatex_jax.nn.lookups import scan_lookups

T, B, V, E = 5, 4, 40, 3


def step(product, look, fixed, carry, x):
    """The next word depends on the state, so on what was looked up before."""
    h, word = carry
    h = jnp.tanh(product("be,ef->bf", look(word) + h, "weight") + x)
    following = (jnp.abs(10 * h[:, 0]).astype(jnp.int32) + fixed) % V
    return (h, following), (jnp.sin(h), following)


def arguments():
    rng = np.random.default_rng(0)
    draw = lambda *shape: jnp.asarray(rng.normal(size=shape), jnp.float32)  # noqa: E731
    return draw(V, E), draw(E, E), draw(B, E), draw(T, B, E)


def ours(table, weight, h, xs):
    start = (h, jnp.arange(B, dtype=jnp.int32))
    return scan_lookups(step, table, {"weight": weight}, jnp.int32(2), start, xs, shape=(T, B))


def plain(table, weight, h, xs):
    def body(carry, x):
        carry, y = step(lambda spec, a, _: jnp.einsum(spec, a, weight), lambda word: table[word], 2, carry, x)
        return carry, y

    return jax.lax.scan(body, (h, jnp.arange(B, dtype=jnp.int32)), xs)


def scalar(result):
    (h, _), (ys, _) = result[:2]
    return (jnp.arange(1.0, T + 1)[:, None, None] * ys).sum() + (h**2).sum()


def test_values_words_and_gradients():
    args = arguments()
    ((h, word), (ys, following), words), ((h_2, word_2), (ys_2, following_2)) = (
        jax.jit(f)(*args) for f in (ours, plain)
    )
    for a, b in ((h, h_2), (word, word_2), (ys, ys_2), (following, following_2)):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    np.testing.assert_array_equal(words, [range(B), *following[:-1]])
    assert len(np.unique(words)) < T * B  # some word is looked up more than once
    mine, reference = (
        jax.jit(jax.grad(lambda *a, f=f: scalar(f(*a)), argnums=(0, 1, 2, 3)))(*args) for f in (ours, plain)
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), mine, reference)
    assert np.abs(mine[0]).max() > 1e-2


def test_a_step_looks_up_once():
    def twice(product, look, fixed, carry, x):
        look(carry[1])
        return step(product, look, fixed, carry, x)

    table, weight, h, xs = arguments()
    start = (h, jnp.arange(B, dtype=jnp.int32))
    with pytest.raises(ValueError, match="too many values"):
        scan_lookups(twice, table, {"weight": weight}, jnp.int32(2), start, xs, shape=(T, B))
