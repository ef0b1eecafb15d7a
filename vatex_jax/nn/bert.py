"""BERT (Devlin et al., 2019): a Transformer encoder with the layer norm behind each sum, for inference alone.

Dimension legend
    B  batch      L  word pieces      V  vocabulary      P  positions      T  sentence types, of which the first is used
    H  hidden size      A  attention heads      D  size of a head, H / A      I  inner size of a layer
"""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jaxtyping import Array, Bool, Float, Int

from vatex_jax.nn.attention import masked_softmax
from vatex_jax.nn.embedding import WordEmbedding
from vatex_jax.nn.encoders import Dense, mean_segment

POOLINGS = ("first", "mean")

# Modules here, and the names of their tensors in a published BERT.
_EMBEDDINGS = {"words": "word_embeddings", "positions": "position_embeddings", "types": "token_type_embeddings"}
_MAPS = {"query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value"}
_MAPS |= {"attended": "attention.output.dense", "inner": "intermediate.dense", "outer": "output.dense"}
_NORMS = {"attended_norm": "attention.output.LayerNorm", "outer_norm": "output.LayerNorm"}


class SelfAttention(nn.Module):
    """softmax(Q K^T / sqrt(D)) V of each head, side by side; padded pieces get no weight."""

    heads: int

    @nn.compact
    def __call__(self, x: Float[Array, "B L H"], mask: Bool[Array, "B L"]) -> Float[Array, "B L H"]:
        size = x.shape[-1]
        query, key, value = (
            Dense(size, name=name)(x).reshape(*x.shape[:2], self.heads, -1) for name in ("query", "key", "value")
        )
        scores = jnp.einsum("blad,bmad->balm", query, key) / jnp.sqrt(query.shape[-1])
        weights = masked_softmax(scores, mask[:, None, None])
        return jnp.einsum("balm,bmad->blad", weights, value).reshape(x.shape)


class BertLayer(nn.Module):
    """Self-attention and a network of one inner layer, each added to its input and normalised."""

    heads: int
    inner: int
    epsilon: float

    @nn.compact
    def __call__(self, x: Float[Array, "B L H"], mask: Bool[Array, "B L"]) -> Float[Array, "B L H"]:
        size = x.shape[-1]
        attended = Dense(size, name="attended")(SelfAttention(self.heads, name="attention")(x, mask))
        x = _norm(self.epsilon, "attended_norm")(x + attended)
        inner = jax.nn.gelu(Dense(self.inner, name="inner")(x), approximate=False)
        return _norm(self.epsilon, "outer_norm")(x + Dense(size, name="outer")(inner))


class Bert(nn.Module):
    """Word pieces to the states of the last layer; every sentence is of the first type.

    Attributes:
        vocabulary, positions, types: V, P, T.
        hidden: H.
        layers: how many.
        heads: A, a divisor of H.
        inner: I.
        epsilon: added to the variance of each layer norm.
    """

    vocabulary: int
    positions: int
    types: int
    hidden: int
    layers: int
    heads: int
    inner: int
    epsilon: float

    @nn.compact
    def __call__(self, ids: Int[Array, "B L"], mask: Bool[Array, "B L"]) -> Float[Array, "B L H"]:
        x = WordEmbedding(self.vocabulary, self.hidden, name="words")(ids)
        x += WordEmbedding(self.positions, self.hidden, name="positions")(jnp.arange(ids.shape[1]))
        x += WordEmbedding(self.types, self.hidden, name="types")(jnp.zeros(1, jnp.int32))
        x = _norm(self.epsilon, "norm")(x)
        for index in range(self.layers):
            x = BertLayer(self.heads, self.inner, self.epsilon, name=f"layer_{index}")(x, mask)
        return x


def pool(states: Float[Array, "B L H"], mask: Bool[Array, "B L"], pooling: str) -> Float[Array, "B H"]:
    """One vector a sentence: the state of its `first` piece, or the `mean` of all its pieces', special ones too."""
    return states[:, 0] if pooling == "first" else mean_segment(states, mask)


def parameters_of(tensors: Mapping[str, np.ndarray], layers: int) -> dict[str, Any]:
    """The parameters of `Bert` from the tensors of a published one, by their names without a prefix.

    A published matrix maps its last dimension to its first; ours the other way round.
    """
    tree = {name: {"table": tensors[f"embeddings.{theirs}.weight"]} for name, theirs in _EMBEDDINGS.items()}
    tree["norm"] = _norm_of(tensors, "embeddings.LayerNorm")
    for index in range(layers):
        prefix = f"encoder.layer.{index}."
        layer = {name: _norm_of(tensors, prefix + theirs) for name, theirs in _NORMS.items()}
        for name, theirs in _MAPS.items():
            kernel, bias = (tensors[f"{prefix}{theirs}.{kind}"] for kind in ("weight", "bias"))
            layer[name] = {"kernel": kernel.T, "bias": bias}
        layer["attention"] = {name: layer.pop(name) for name in ("query", "key", "value")}
        tree[f"layer_{index}"] = layer
    return tree


def _norm(epsilon: float, name: str) -> nn.LayerNorm:
    # The fast variance, E[x^2] - E[x]^2, loses what a large mean leaves of float32.
    return nn.LayerNorm(epsilon, use_fast_variance=False, name=name)


def _norm_of(tensors: Mapping[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    return {"scale": tensors[f"{name}.weight"], "bias": tensors[f"{name}.bias"]}
