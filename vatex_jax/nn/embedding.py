"""Word embeddings.

Dimension legend
    V  vocabulary      E  embedding
"""

import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float, Int


class WordEmbedding(nn.Module):
    """A [V, E] table; PAD's row is never trained because its words are masked wherever they could matter.

    Attributes:
        vocabulary: V, special tokens included.
        size: E.
        scale: standard deviation of the initial table.
    """

    vocabulary: int
    size: int
    scale: float = 1.0

    @nn.compact
    def __call__(self, ids: Int[Array, "*batch"]) -> Float[Array, "*batch E"]:
        table = self.param("table", nn.initializers.normal(self.scale), (self.vocabulary, self.size))
        return jnp.take(table, ids, axis=0)
