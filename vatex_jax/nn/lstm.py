"""Masked LSTMs: the input half of each product is done for all steps at once, outside the scan.

Dimension legend
    B  batch      T  time steps      D  input size      H  hidden units a direction      H2  2 H
"""

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float

from vatex_jax.nn.products import einsum, scan_products

State = tuple[jax.Array, jax.Array]
"""(h, c), each [..., H]."""


def forget_one(key: jax.Array, shape: tuple[int, ...], dtype: DTypeLike = jnp.float32) -> jax.Array:
    """Zeros, but ones at the forget gate: the cell remembers until it learns to forget (Jozefowicz et al. 2015)."""
    hidden = shape[0] // 4
    return jnp.zeros(shape, dtype).at[hidden : 2 * hidden].set(1.0)


def blocks_of_gates(initializer: nn.initializers.Initializer) -> nn.initializers.Initializer:
    """Initialises each gate's [D, H] block on its own, as if the four matrices were separate."""

    def init(key, shape, dtype=jnp.float32):
        block = (shape[0], shape[1] // 4)
        return jnp.concatenate([initializer(k, block, dtype) for k in jax.random.split(key, 4)], axis=1)

    return init


def blocks_of_inputs(sizes: tuple[int, ...]) -> nn.initializers.Initializer:
    """Initialises a kernel [sum(sizes), 4 H] as if each part of a concatenated input had a kernel of its own.

    By the size of the whole, a wide part (1,024 features) would drown a narrow one (word embeddings).
    """

    def init(key, shape, dtype=jnp.float32):
        if len(sizes) < 2:
            return input_kernel_init(key, shape, dtype)
        keys = jax.random.split(key, len(sizes))
        parts = [input_kernel_init(k, (size, shape[1]), dtype) for k, size in zip(keys, sizes, strict=True)]
        return jnp.concatenate(parts, axis=0)

    return init


input_kernel_init = blocks_of_gates(nn.initializers.xavier_uniform())
recurrent_kernel_init = blocks_of_gates(nn.initializers.orthogonal())


def lstm_cell(gates: Float[Array, "*batch G"], c: Float[Array, "*batch H"]) -> State:
    """(h, c) from the four gates' sums, in the order input, forget, cell, output; G = 4 H."""
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def _lstm_step(product, fixed, carry, x):
    del fixed
    h, c = carry
    gates, keep = x
    new_h, new_c = lstm_cell(gates + product("bh,hg->bg", h, "recurrent"), c)
    h, c = jnp.where(keep, new_h, h), jnp.where(keep, new_c, c)
    return (h, c), h


class LSTM(nn.Module):
    """One direction of one layer. Padded steps leave the state as it is and give zeros.

    Attributes:
        hidden: H.
        reverse: read from the last real step to the first.
        dtype: precision of the products; sums and states are float32.
        parts: sizes of the inputs that x is the concatenation of; each is initialised by its own size.
    """

    hidden: int
    reverse: bool = False
    dtype: DTypeLike = jnp.float32
    parts: tuple[int, ...] = ()

    @nn.compact
    def __call__(
        self, x: Float[Array, "B T D"], mask: Bool[Array, "B T"], start: State | None = None
    ) -> tuple[Float[Array, "B T H"], State]:
        kernel = self.param("input_kernel", blocks_of_inputs(self.parts), (x.shape[-1], 4 * self.hidden))
        recurrent = self.param("recurrent_kernel", recurrent_kernel_init, (self.hidden, 4 * self.hidden))
        bias = self.param("bias", forget_one, (4 * self.hidden,))
        gates = einsum("tbd,dg->tbg", jnp.swapaxes(x, 0, 1), kernel, self.dtype) + bias
        if start is None:
            start = (jnp.zeros((x.shape[0], self.hidden)), jnp.zeros((x.shape[0], self.hidden)))
        state, hs = scan_products(
            _lstm_step,
            {"recurrent": recurrent},
            None,
            start,
            (gates, mask.T[:, :, None]),
            dtype=self.dtype,
            reverse=self.reverse,
        )
        return jnp.swapaxes(hs, 0, 1) * mask[:, :, None], state


class BiLSTM(nn.Module):
    """A stack of bidirectional layers; outputs are [forward; backward].

    Attributes:
        hidden: H of each direction.
        layers: how many.
        dropout: rate between layers.
        parts: sizes of the inputs that x is the concatenation of (`LSTM.parts`).
    """

    hidden: int
    layers: int = 1
    dropout: float = 0.0
    dtype: DTypeLike = jnp.float32
    parts: tuple[int, ...] = ()

    @nn.compact
    def __call__(
        self, x: Float[Array, "B T D"], mask: Bool[Array, "B T"], *, deterministic: bool = True
    ) -> tuple[Float[Array, "B T H2"], list[State]]:
        """Returns the top layer's outputs and each layer's final (h, c), both directions side by side: [B, 2 H]."""
        finals = []
        for layer in range(self.layers):
            parts = self.parts if layer == 0 else ()
            if layer > 0:
                x = nn.Dropout(self.dropout)(x, deterministic=deterministic)
            forward, (h_f, c_f) = LSTM(self.hidden, False, self.dtype, parts, name=f"forward_{layer}")(x, mask)
            backward, (h_b, c_b) = LSTM(self.hidden, True, self.dtype, parts, name=f"backward_{layer}")(x, mask)
            x = jnp.concatenate([forward, backward], axis=-1)
            finals.append((jnp.concatenate([h_f, h_b], -1), jnp.concatenate([c_f, c_b], -1)))
        return x, finals
