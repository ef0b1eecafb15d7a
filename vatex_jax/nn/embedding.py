"""Word embeddings, and the words of one language as a decoder reads and writes them.

Dimension legend
    V  vocabulary      E  embedding
"""

from typing import NamedTuple

import jax
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


class Words(NamedTuple):
    """What a decoder needs of a language's words: a word is read as `scale * table[word]`, and written with logits
    x matrix^T + bias.

    Attributes:
        table: [V, E].
        scale: what its rows are multiplied with when they are read.
        matrix: [V, E]; the table itself where they are tied.
        bias: [V].
    """

    table: jax.Array
    scale: float
    matrix: jax.Array
    bias: jax.Array


class WordLayers(nn.Module):
    """The input embedding and the softmax layer of one language; tied, they are one matrix (VaTeX, Table 4, "WT").

    A tied table starts at a standard deviation of E^-1/2, so that its logits' is below 1 and the first loss near log V:
    with |x| up to sqrt(E), a table of deviation 1 would give logits of a deviation in the order of sqrt(E). The softmax
    matrix of an untied one starts by Xavier's rule.

    With `scaled` (Vaswani et al. 2017, section 3.4) a word is read as sqrt(E) times its row, and the table starts at
    E^-1/2 whether tied or not: words enter at a deviation of 1, and tying is all that differs. Without, a word is read
    as its row: at E^-1/2 if tied, at 1 if not.

    Attributes:
        vocabulary: V, special tokens included.
        size: E.
        tied: one matrix for both.
        scaled: rows are multiplied by sqrt(E) when they are read.
    """

    vocabulary: int
    size: int
    tied: bool = True
    scaled: bool = True

    @nn.compact
    def __call__(self) -> Words:
        shape = (self.vocabulary, self.size)
        deviation = self.size**-0.5 if self.tied or self.scaled else 1.0
        table = self.param("table", nn.initializers.normal(deviation), shape)
        matrix = table if self.tied else self.param("matrix", nn.initializers.xavier_uniform(), shape)
        return Words(
            table,
            self.size**0.5 if self.scaled else 1.0,
            matrix,
            self.param("bias", nn.initializers.zeros, (self.vocabulary,)),
        )
