"""Products and scans equal JAX's own, forwards and backwards.

Dimension legend
    T  time steps      B  batch      M  memory positions      H  hidden
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vatex_jax.nn.products import einsum, plain_product, scan_products

T, B, M, H = 5, 3, 4, 6
USED_TWICE = {"weight": (H, H), "memory": (B, M, H), "narrow": (H, 2 * H)}


def attention_like_step(product, fixed, carry, x):
    """Five products, `weight` and `memory` in two of them each; `scale` a nested carry; masks in xs and in fixed."""
    h, scale = carry["h"], carry["scale"]
    inputs, keep = x
    projected = product("bh,hd->bd", h, "weight")
    scores = product("bd,bmd->bm", projected, "memory")
    weights = jax.nn.softmax(jnp.where(fixed, scores, -1e9))
    context = product("bm,bmd->bd", weights, "memory")
    wide = product("bh,hg->bg", context * scale, "narrow")
    new = jnp.tanh(product("bh,hd->bd", inputs + wide[:, :H], "weight") + wide[:, H:])
    h = jnp.where(keep, new, h)
    return {"h": h, "scale": scale * 0.9}, (h, scores)


def arguments(seed=0):
    rng = np.random.default_rng(seed)
    draw = lambda *shape: jnp.asarray(0.5 * rng.normal(size=shape), jnp.float32)  # noqa: E731
    constants = {name: draw(*shape) for name, shape in USED_TWICE.items()}
    carry = {"h": draw(B, H), "scale": jnp.float32(1.5)}
    keep = jnp.asarray(rng.random((T, B, 1)) < 0.6)
    fixed = jnp.asarray([[True] * M, [True, True, False, False], [True, False, True, False]])
    return constants, carry, draw(T, B, H), keep, fixed


def scalar(result):
    """Every part of the result counts, differently."""
    carry, (hs, scores) = result
    ramp = jnp.arange(1.0, T + 1)[:, None, None]
    return (carry["h"] ** 2).sum() + carry["scale"] * 3 + (ramp * jnp.sin(hs)).sum() + (scores**2).sum()


def ours(constants, carry, x, keep, fixed, **options):
    return scan_products(attention_like_step, constants, fixed, carry, (x, keep), **options)


def plain(constants, carry, x, keep, fixed, reverse=False):
    def product(spec, operand, name):
        return jnp.einsum(spec, operand, constants[name])

    return jax.lax.scan(lambda c, x: attention_like_step(product, fixed, c, x), carry, (x, keep), reverse=reverse)


def close(a, b, **tolerance):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, **tolerance), a, b)


@pytest.mark.parametrize(("reverse", "jitted"), [(False, True), (True, True), (False, False)])
def test_scan_equals_a_plain_scan(reverse, jitted):
    wrap = jax.jit if jitted else lambda f: f
    args = arguments()
    close(
        wrap(lambda *a: ours(*a, reverse=reverse))(*args),
        wrap(lambda *a: plain(*a, reverse=reverse))(*args),
        rtol=1e-5,
        atol=1e-6,
    )
    gradients = [
        wrap(jax.grad(lambda *a, f=f: scalar(f(*a, reverse=reverse)), argnums=(0, 1, 2)))(*args) for f in (ours, plain)
    ]
    close(*gradients, rtol=1e-5, atol=1e-5)
    assert all(np.abs(leaf).max() > 1e-3 for leaf in jax.tree.leaves(gradients[1]))


def test_gradient_of_each_argument_alone():
    args = arguments(1)
    for n in range(3):
        close(
            jax.jit(jax.grad(lambda *a: scalar(ours(*a)), argnums=n))(*args),
            jax.jit(jax.grad(lambda *a: scalar(plain(*a)), argnums=n))(*args),
            rtol=1e-5,
            atol=1e-5,
        )


def test_no_steps_at_all():
    constants, carry, x, keep, fixed = arguments()
    x, keep = x[:0], keep[:0]
    (last, (hs, _)), pullback = jax.vjp(
        lambda constants, carry: ours(constants, carry, x, keep, fixed), constants, carry
    )
    np.testing.assert_array_equal(last["h"], carry["h"])
    assert hs.shape == (0, B, H)
    d_constants, d_carry = pullback(({"h": jnp.ones((B, H)), "scale": jnp.float32(0)}, (hs, jnp.zeros((0, B, M)))))
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(d_constants))
    assert (d_carry["h"] == 1).all()


def test_bfloat16_rounds_products_only():
    args = arguments(2)
    full, low = (
        jax.jit(jax.value_and_grad(lambda *a, d=d: scalar(ours(*a, dtype=d)), argnums=(0, 1, 2)))(*args)
        for d in (jnp.float32, jnp.bfloat16)
    )
    assert {leaf.dtype for leaf in jax.tree.leaves(low)} == {jnp.dtype(jnp.float32)}
    assert low[0] != full[0]
    for a, b in zip(jax.tree.leaves(low), jax.tree.leaves(full), strict=True):
        assert np.abs(a - b).max() <= 0.03 * np.abs(b).max()
    result = jax.eval_shape(lambda *a: ours(*a, dtype=jnp.bfloat16), *args)
    assert {leaf.dtype for leaf in jax.tree.leaves(result)} == {jnp.dtype(jnp.float32)}


@pytest.mark.parametrize(
    ("spec", "a", "b"),
    [("tbd,dg->tbg", (T, B, H), (H, 2 * H)), ("bke,eg->bkg", (B, 2, H), (H, M)), ("bd,bmd->bm", (B, H), (B, M, H))],
)
def test_einsum_and_its_gradients(spec, a, b):
    rng = np.random.default_rng(0)
    a, b = (jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in (a, b))

    def loss(product):
        return lambda a, b: jnp.sin(product(spec, a, b)).sum()

    reference = jax.value_and_grad(loss(jnp.einsum), argnums=(0, 1))(a, b)
    close(jax.jit(jax.value_and_grad(loss(einsum), argnums=(0, 1)))(a, b), reference, rtol=1e-5, atol=1e-5)
    low = jax.value_and_grad(loss(lambda *x: einsum(*x, jnp.bfloat16)), argnums=(0, 1))(a, b)
    for x, y in zip(jax.tree.leaves(low), jax.tree.leaves(reference), strict=True):
        assert x.dtype == jnp.float32
        assert np.abs(x - y).max() <= 0.06 * np.abs(y).max() + 0.06


def test_bfloat16_products_accumulate_in_float32():
    """1 + 4096 x 2^-9: a bfloat16 sum stays at 1, where adding 2^-9 rounds away."""
    b = jnp.ones((4097, 1)).at[1:].set(2.0**-9)
    ones = jnp.ones((1, 4097))
    assert einsum("bd,dg->bg", ones, b, jnp.bfloat16)[0, 0] == 9.0
    assert plain_product({"b": b}, jnp.bfloat16)("bd,dg->bg", ones, "b")[0, 0] == 9.0
