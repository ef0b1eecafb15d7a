"""Matrix products in one chosen precision, and scans whose weight gradients wait until the loop is over.

Dimension legend
    T  time steps of a scan      any other letter: as the caller's einsum says
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

Tree = Any
Product = Callable[[str, jax.Array, str], jax.Array]
"""`product(spec, operand, name)` inside a step: einsum(spec, operand, constants[name])."""
Step = Callable[[Product, Tree, Tree, Tree], tuple[Tree, Tree]]
"""`step(product, fixed, carry, x) -> (carry, y)`."""


def einsum(
    spec: str, a: Float[Array, "..."], b: Float[Array, "..."], dtype: DTypeLike = jnp.float32
) -> Float[Array, "..."]:
    """Einstein sum with operands in `dtype`, accumulated and returned in float32, forwards and backwards.

    JAX's own rule would multiply the float32 cotangent with the low-precision operand, at float32's pace; here the
    cotangent is rounded to `dtype` as well. Every label must stand in two of the three terms.
    """
    return _einsum(spec, jnp.dtype(dtype), a, b)


def _split(spec: str) -> tuple[str, str, str]:
    (a, b), out = spec.split("->")[0].split(","), spec.split("->")[1]
    return a, b, out


def _raw_einsum(spec, dtype, a, b):
    return jnp.einsum(spec, a.astype(dtype), b.astype(dtype), preferred_element_type=jnp.float32)


def _einsum_bwd(spec, dtype, operands, cotangent):
    a, b = operands
    in_a, in_b, out = _split(spec)
    d_a = _raw_einsum(f"{out},{in_b}->{in_a}", dtype, cotangent, b)
    d_b = _raw_einsum(f"{in_a},{out}->{in_b}", dtype, a, cotangent)
    return d_a, d_b


_einsum = jax.custom_vjp(_raw_einsum, nondiff_argnums=(0, 1))
_einsum.defvjp(lambda spec, dtype, a, b: (_raw_einsum(spec, dtype, a, b), (a, b)), _einsum_bwd)


def _runs_better_turned(constant: jax.Array, rows: Any, dtype: DTypeLike) -> bool:
    """Whether a few rows times a matrix is to be computed as the matrix times a few columns, then transposed.

    On the CPU the first runs at half to nine tenths of the second's pace. An optimisation barrier behind the product
    keeps XLA from folding the transposition back into it.
    """
    return constant.ndim == 2 and len(rows.shape) == 2 and dtype == jnp.float32 and jax.default_backend() == "cpu"


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _operand_product(spec, dtype, operand, constant, transposed):
    """The product, differentiated towards its operand alone; `transposed` is the constant's transpose, or None."""
    if transposed is None:
        return _raw_einsum(spec, dtype, operand, constant)
    labels, constant_labels, out = _split(spec)
    turned = _raw_einsum(f"{constant_labels[::-1]},{labels}->{out[::-1]}", dtype, transposed, operand)
    return jax.lax.optimization_barrier(turned).T


def _operand_product_fwd(spec, dtype, operand, constant, transposed):
    return _operand_product(spec, dtype, operand, constant, transposed), constant


def _operand_product_bwd(spec, dtype, constant, cotangent):
    labels, constant_labels, out = _split(spec)
    if _runs_better_turned(constant, cotangent, dtype):
        turned = _raw_einsum(f"{constant_labels},{out}->{labels[::-1]}", dtype, constant, cotangent)
        return jax.lax.optimization_barrier(turned).T, None, None
    return _raw_einsum(f"{out},{constant_labels}->{labels}", dtype, cotangent, constant), None, None


_operand_product.defvjp(_operand_product_fwd, _operand_product_bwd)


def plain_product(constants: dict[str, jax.Array], dtype: DTypeLike = jnp.float32) -> Product:
    """The product a step is given outside a training scan (one decoding step at a time)."""
    return lambda spec, operand, name: _raw_einsum(spec, dtype, operand, constants[name])


def scan_products(
    step: Step,
    constants: dict[str, jax.Array],
    fixed: Tree,
    carry: Tree,
    xs: Tree,
    *,
    dtype: DTypeLike = jnp.float32,
    reverse: bool = False,
) -> tuple[Tree, Tree]:
    """`lax.scan` over products with loop-invariant arrays, whose gradients are formed after the loop.

    Reverse-mode through a plain scan adds to every weight's gradient at every step: for a [2048, 4096] LSTM kernel that
    moves 64 MB a step for a product of 32 rows. Here each product's operands and its output's cotangents are stacked
    over time, and the gradient of the constant is one large product of [T B] rows.

    Args:
        step: the body; every use of a constant must go through the `product` it is given.
        constants: loop-invariant arrays to differentiate (weights, attention memories), float32.
        fixed: loop-invariant arrays that need no gradient (masks).
        carry: as in `lax.scan`; differentiated.
        xs: as in `lax.scan`, leading axis T; differentiated.
        dtype: precision of the products (accumulation stays float32).
        reverse: as in `lax.scan`.

    Returns:
        The last carry and the stacked outputs, as `lax.scan` does.
    """
    return _scan((step, jnp.dtype(dtype), reverse), constants, fixed, carry, xs)


def _cast(constants, dtype):
    return {name: value.astype(dtype) for name, value in constants.items()}


def _plain_scan(static, constants, fixed, carry, xs):
    step, dtype, reverse = static
    product = plain_product(_cast(constants, dtype), dtype)
    return jax.lax.scan(lambda carry, x: step(product, fixed, carry, x), carry, xs, reverse=reverse)


@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True)
class _Uses:
    """(spec, constant) of each product of a step in order; static, so that it passes through the residuals."""

    items: tuple[tuple[str, str], ...]


class _Recorder:
    """A product that adds a tap to each output and notes what was multiplied with what."""

    def __init__(self, constants, dtype, taps=None, transposed=None):
        self.constants, self.dtype, self.taps, self.transposed = constants, dtype, taps, transposed or {}
        self.uses, self.operands, self.outputs = [], [], []

    def __call__(self, spec, operand, name):
        operand = operand.astype(self.dtype)
        output = _operand_product(spec, self.dtype, operand, self.constants[name], self.transposed.get(name))
        if self.taps is not None:
            output = output + self.taps[len(self.uses)]
        self.uses.append((spec, name))
        self.operands.append(operand)
        self.outputs.append(output)
        return output


def _scan_fwd(static, constants, fixed, carry, xs):
    step, dtype, reverse = static
    cast = _cast(constants, dtype)
    uses = None

    def outputs_of_one_step(carry, x):
        nonlocal uses
        recorder = _Recorder(cast, dtype)
        step(recorder, fixed, carry, x)
        uses = _Uses(tuple(recorder.uses))
        return recorder.outputs

    length = jax.tree.leaves(xs)[0].shape[0]
    shapes = jax.eval_shape(
        outputs_of_one_step, carry, jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), xs)
    )
    taps = [jnp.zeros((length, *shape.shape), jnp.float32) for shape in shapes]

    transposed = {
        name: jax.lax.optimization_barrier(cast[name].T)  # once, before the loop
        for (_, name), shape in zip(uses.items, shapes, strict=True)
        if _runs_better_turned(cast[name], shape, dtype)
    }

    def scanned(carry, xs, taps):
        def body(carry, inputs):
            x, taps = inputs
            recorder = _Recorder(cast, dtype, taps, transposed)
            carry, y = step(recorder, fixed, carry, x)
            return carry, (y, recorder.operands)

        carry, (ys, operands) = jax.lax.scan(body, carry, (xs, taps), reverse=reverse)
        return (carry, ys), operands

    result, pullback, operands = jax.vjp(scanned, carry, xs, taps, has_aux=True)
    return result, (pullback, operands, uses, constants)


def _scan_bwd(static, residuals, cotangents):
    dtype = static[1]
    pullback, operands, uses, constants = residuals
    d_carry, d_xs, d_taps = pullback(cotangents)
    d_constants = {name: jnp.zeros_like(value) for name, value in constants.items()}
    for (spec, name), operand, d_output in zip(uses.items, operands, d_taps, strict=True):
        labels, constant_labels, out = _split(spec)
        d_constants[name] += _raw_einsum(f"T{labels},T{out}->{constant_labels}", dtype, operand, d_output)
    return d_constants, None, d_carry, d_xs


_scan = jax.custom_vjp(_plain_scan, nondiff_argnums=(0,))
_scan.defvjp(_scan_fwd, _scan_bwd)
