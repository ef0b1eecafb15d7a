"""Encoders: words and video segments become the memories a decoder attends to.

Dimension legend
    B  batch      S  source words      L  video segments      F  feature size
    E  embedding      H2  2 H, both directions
"""

import jax.numpy as jnp
from flax import linen as nn
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int

from vatex_jax.nn.embedding import WordEmbedding
from vatex_jax.nn.lstm import BiLSTM, State
from vatex_jax.nn.products import einsum


class Dense(nn.Module):
    """x W + b with the product in `dtype` and the sum in float32."""

    size: int
    dtype: DTypeLike = jnp.float32
    kernel_init: nn.initializers.Initializer = nn.initializers.xavier_uniform()

    @nn.compact
    def __call__(self, x: Float[Array, "*batch D"]) -> Float[Array, "*batch O"]:
        kernel = self.param("kernel", self.kernel_init, (x.shape[-1], self.size))
        bias = self.param("bias", nn.initializers.zeros, (self.size,))
        rows = x.reshape(-1, x.shape[-1])
        return (einsum("bd,do->bo", rows, kernel, self.dtype) + bias).reshape(*x.shape[:-1], self.size)


class SentenceEncoder(nn.Module):
    """f_enc^src: embeddings, a bi-LSTM (VaTeX, section 4.2.1). `extra` is set beside every word (Average VI)."""

    vocabulary: int
    embedding: int
    hidden: int
    layers: int
    dropout: float
    dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(
        self,
        words: Int[Array, "B S"],
        mask: Bool[Array, "B S"],
        extra: Float[Array, "B F"] | None = None,
        *,
        deterministic: bool = True,
    ) -> tuple[Float[Array, "B S H2"], list[State]]:
        x = WordEmbedding(self.vocabulary, self.embedding, name="words")(words)
        parts = ()
        if extra is not None:
            parts = (self.embedding, extra.shape[-1])
            x = jnp.concatenate([x, jnp.broadcast_to(extra[:, None], (*words.shape, extra.shape[-1]))], axis=-1)
        x = nn.Dropout(self.dropout)(x, deterministic=deterministic)
        bilstm = BiLSTM(self.hidden, self.layers, self.dropout, self.dtype, parts, name="lstm")
        return bilstm(x, mask, deterministic=deterministic)


class VideoEncoder(nn.Module):
    """f_enc^vi: a linear map, then a bi-LSTM over the segment features (VaTeX, sections 4.1.1 and 4.2.1)."""

    projection: int
    hidden: int
    layers: int
    dropout: float
    dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(
        self, features: Float[Array, "B L F"], mask: Bool[Array, "B L"], *, deterministic: bool = True
    ) -> tuple[Float[Array, "B L H2"], list[State]]:
        x = Dense(self.projection, self.dtype, name="projection")(features)
        x = nn.Dropout(self.dropout)(x, deterministic=deterministic)
        bilstm = BiLSTM(self.hidden, self.layers, self.dropout, self.dtype, name="lstm")
        return bilstm(x, mask, deterministic=deterministic)


def mean_segment(features: Float[Array, "B L F"], mask: Bool[Array, "B L"]) -> Float[Array, "B F"]:
    """The average of a video's real segments (the paper's x-bar); zeros where there are none."""
    count = jnp.maximum(mask.sum(1, keepdims=True), 1)
    return (features * mask[:, :, None]).sum(1) / count
