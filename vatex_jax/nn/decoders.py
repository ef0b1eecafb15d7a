"""The target decoder: a stack of LSTMs whose first layer attends to the encoders' memories.

Dimension legend
    B  batch      T  target words      M  memory positions      D  memory size      E  embedding      H  hidden
    V  vocabulary      K  hypotheses a sentence (decoding only)
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int

from vatex_jax.nn.attention import attend
from vatex_jax.nn.embedding import WordEmbedding
from vatex_jax.nn.encoders import Dense
from vatex_jax.nn.lstm import LSTM, State, forget_one, input_kernel_init, lstm_cell, recurrent_kernel_init
from vatex_jax.nn.products import einsum, plain_product, scan_products


class Memory(NamedTuple):
    """What one encoder offers to attention: values [B, M, D] and a mask [B, M] of the real positions."""

    values: jax.Array
    mask: jax.Array


Memories = dict[str, Memory]
Weights = dict[str, jax.Array]
"""Attention weights by memory: [B, T, M] for whole sentences, [B, K, M] for a step."""


class AttentionLSTM(nn.Module):
    """h_t = LSTM([y_{t-1}, c_t^src, c_t^vi], h_{t-1}), each context by attention with h_{t-1} (VaTeX, equations 3, 4).

    The kernel's rows are [word; contexts in the order of `memories`; h].
    """

    hidden: int
    memories: tuple[str, ...]
    dtype: DTypeLike = jnp.float32

    @nn.compact
    def parameters(self, word_size: int, memories: Memories) -> tuple[jax.Array, jax.Array, dict[str, jax.Array]]:
        """(word kernel [E, 4 H], bias [4 H], the constants of a step)."""
        word = self.param("word_kernel", input_kernel_init, (word_size, 4 * self.hidden))
        constants, kernels = {}, []
        for name in self.memories:
            size = memories[name].values.shape[-1]
            kernels.append(self.param(f"{name}_kernel", input_kernel_init, (size, 4 * self.hidden)))
            query = self.param(f"{name}_query", nn.initializers.xavier_uniform(), (self.hidden, size))
            constants[f"{name}_query"] = query
            constants[f"{name}_memory"] = memories[name].values
        kernels.append(self.param("recurrent_kernel", recurrent_kernel_init, (self.hidden, 4 * self.hidden)))
        constants["kernel"] = jnp.concatenate(kernels)
        return word, self.param("bias", forget_one, (4 * self.hidden,)), constants

    def __call__(
        self, words: Float[Array, "B T E"], start: State, memories: Memories
    ) -> tuple[Float[Array, "B T H"], Weights]:
        """Teacher forcing over whole sentences; every row runs to T, which no earlier step can see."""
        word, bias, constants = self.parameters(words.shape[-1], memories)
        gates = einsum("tbe,eg->tbg", jnp.swapaxes(words, 0, 1), word, self.dtype) + bias
        masks = {name: memories[name].mask for name in self.memories}

        _, (hs, weights) = scan_products(_step, constants, masks, start, gates, dtype=self.dtype)
        return jnp.swapaxes(hs, 0, 1), {name: jnp.swapaxes(w, 0, 1) for name, w in weights.items()}

    def step(
        self, words: Float[Array, "B K E"], state: State, memories: Memories
    ) -> tuple[Float[Array, "B K H"], State, Weights]:
        """One word further for K hypotheses of each sentence, which share its memories."""
        word, bias, constants = self.parameters(words.shape[-1], memories)
        gates = einsum("bke,eg->bkg", words, word, self.dtype) + bias
        masks = {name: memories[name].mask[:, None] for name in self.memories}
        state, (h, weights) = _step(plain_product(constants, self.dtype), masks, state, gates)
        return h, state, weights


def _step(product, masks, state, word_gates):
    h, c = state
    contexts, weights = [], {}
    for name, mask in masks.items():
        context, weights[name] = attend(product, h, mask, name)
        contexts.append(context)
    beams = "k" * (h.ndim - 2)
    inputs = jnp.concatenate([*contexts, h], axis=-1)
    h, c = lstm_cell(word_gates + product(f"b{beams}i,ig->b{beams}g", inputs, "kernel"), c)
    return (h, c), (h, weights)


class AttentionDecoder(nn.Module):
    """f_dec^tgt: words in, the top layer's hidden states out.

    Only the first layer attends, and it never sees the upper ones, so under teacher forcing each upper layer is an LSTM
    over finished inputs, with its input product done for all steps at once.
    """

    vocabulary: int
    embedding: int
    hidden: int
    layers: int
    dropout: float
    memories: tuple[str, ...]
    dtype: DTypeLike = jnp.float32

    def setup(self):
        self.words = WordEmbedding(self.vocabulary, self.embedding)
        self.attending = AttentionLSTM(self.hidden, self.memories, self.dtype)
        self.upper = [LSTM(self.hidden, dtype=self.dtype) for _ in range(self.layers - 1)]
        self.drop = nn.Dropout(self.dropout)

    def __call__(
        self,
        inputs: Int[Array, "B T"],
        mask: Bool[Array, "B T"],
        start: list[State],
        memories: Memories,
        *,
        deterministic: bool = True,
    ) -> tuple[Float[Array, "B T H"], Weights]:
        x = self.drop(self.words(inputs), deterministic=deterministic)
        x, weights = self.attending(x, start[0], memories)
        for layer, state in zip(self.upper, start[1:], strict=True):
            x, _ = layer(self.drop(x, deterministic=deterministic), mask, state)
        return x, weights

    def step(
        self, tokens: Int[Array, "B K"], state: list[State], memories: Memories
    ) -> tuple[Float[Array, "B K H"], list[State], Weights]:
        x, first, weights = self.attending.step(self.words(tokens), state[0], memories)
        states = [first]
        for layer, (h, c) in zip(self.upper, state[1:], strict=True):
            rows = (h.reshape(-1, h.shape[-1]), c.reshape(-1, c.shape[-1]))
            y, (h_new, c_new) = layer(x.reshape(-1, 1, x.shape[-1]), jnp.ones((rows[0].shape[0], 1), bool), rows)
            x = y.reshape(*tokens.shape, -1)
            states.append((h_new.reshape(h.shape), c_new.reshape(c.shape)))
        return x, states, weights


class OutputLayer(nn.Module):
    """Linear, tanh, dropout, linear: hidden states to logits over the vocabulary."""

    vocabulary: int
    size: int
    dropout: float
    dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(self, h: Float[Array, "*batch H"], *, deterministic: bool = True) -> Float[Array, "*batch V"]:
        x = jnp.tanh(Dense(self.size, self.dtype, name="hidden")(h))
        x = nn.Dropout(self.dropout)(x, deterministic=deterministic)
        return Dense(self.vocabulary, self.dtype, name="words")(x)
