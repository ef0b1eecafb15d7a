"""Scans that look words up which they choose themselves, with the table's gradient scattered once after the loop.

Dimension legend
    T  time steps      B  batch      V  vocabulary      E  embedding
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from vatex_jax.nn.products import Product, Tree, scan_products

Look = Callable[[jax.Array], jax.Array]
"""`look(words [B])` inside a step: their rows of the table, [B, E]."""
LookingStep = Callable[[Product, Look, Tree, Tree, Tree], tuple[Tree, Tree]]
"""`step(product, look, fixed, carry, x) -> (carry, y)`; calls `look` once."""


def scan_lookups(
    step: LookingStep,
    table: Float[Array, "V E"],
    constants: dict[str, jax.Array],
    fixed: Tree,
    carry: Tree,
    xs: Tree,
    *,
    shape: tuple[int, int],
    dtype: DTypeLike = jnp.float32,
) -> tuple[Tree, Tree, jax.Array]:
    """`scan_products` with a table whose rows the step looks up by words known only inside the loop.

    Reverse-mode through a plain scan makes a dense [V, E] gradient at every step and adds it to the sum. Here zeros
    ("taps") are added to what is looked up; their cotangents, stacked over time, are scattered by the words the loop
    reports.

    Args:
        step: the body.
        table: differentiated.
        constants, fixed, carry, xs, dtype: as in `scan_products`.
        shape: (T, B).

    Returns:
        The last carry, the stacked outputs, and the words looked up, int [T, B].
    """
    return _scan((step, shape, jnp.dtype(dtype)), table, constants, fixed, carry, xs)


def _tapped(step, product, fixed, carry, x):
    (table, fixed), (tap, x) = fixed, x
    looked_up = []

    def look(words):
        looked_up.append(words)
        return table[words] + tap

    carry, y = step(product, look, fixed, carry, x)
    (words,) = looked_up
    return carry, (words, y)


def _run(static, table, fixed, constants, carry, xs, taps):
    step, _, dtype = static
    carry, (words, ys) = scan_products(
        partial(_tapped, step), constants, (table, fixed), carry, (taps, xs), dtype=dtype
    )
    return carry, ys, words


def _taps(static, table):
    return jnp.zeros((*static[1], table.shape[1]), table.dtype)


def _plain_scan(static, table, constants, fixed, carry, xs):
    return _run(static, table, fixed, constants, carry, xs, _taps(static, table))


def _scan_fwd(static, table, constants, fixed, carry, xs):
    result, pullback = jax.vjp(partial(_run, static, table, fixed), constants, carry, xs, _taps(static, table))
    return result, (pullback, result[2], table)


def _scan_bwd(static, residuals: Any, cotangents: Any):
    del static
    pullback, words, table = residuals
    d_constants, d_carry, d_xs, d_taps = pullback(cotangents)
    return jnp.zeros_like(table).at[words].add(d_taps), d_constants, None, d_carry, d_xs


_scan = jax.custom_vjp(_plain_scan, nondiff_argnums=(0,))
_scan.defvjp(_scan_fwd, _scan_bwd)
