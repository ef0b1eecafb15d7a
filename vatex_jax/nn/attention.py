"""Dot-product attention of a decoder over an encoder's outputs.

Dimension legend
    B  batch      K  hypotheses a sentence (decoding only)      M  memory positions
    D  memory size      H  query size
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from vatex_jax.nn.products import Product


def masked_softmax(scores: Float[Array, "*batch M"], mask: Bool[Array, "*#batch M"]) -> Float[Array, "*batch M"]:
    """Softmax over the positions where `mask` is true; all zero where none is (a video without segments)."""
    top = jax.lax.stop_gradient(jnp.max(scores, axis=-1, keepdims=True, where=mask, initial=-1e30))
    weights = jnp.where(mask, jnp.exp(jnp.where(mask, scores - top, 0.0)), 0.0)
    total = weights.sum(-1, keepdims=True)
    return weights / jnp.where(total > 0, total, 1.0)


def attend(
    product: Product, query: Float[Array, "*batch H"], mask: Bool[Array, "*#batch M"], name: str
) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch M"]]:
    """c = softmax(h W V^T) V (VaTeX, equations 2 and 4): context and weights; padded positions get no weight.

    W and V are the constants `{name}_query` [H, D] and `{name}_memory` [B, M, D] of the surrounding scan.
    """
    beams = "k" * (query.ndim - 2)
    projected = product(f"b{beams}h,hd->b{beams}d", query, f"{name}_query")
    scores = product(f"b{beams}d,bmd->b{beams}m", projected, f"{name}_memory")
    weights = masked_softmax(scores, mask)
    return product(f"b{beams}m,bmd->b{beams}d", weights, f"{name}_memory"), weights
