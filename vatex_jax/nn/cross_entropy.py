"""The negative log-likelihood of words, with a gradient that is one pass over the logits.

Dimension legend
    V  vocabulary
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


@jax.custom_vjp
def surprises(logits: Float[Array, "*batch V"], words: Int[Array, "*batch"]) -> Float[Array, "*batch"]:
    """-log softmax(logits)[word], in nats.

    JAX's own derivative keeps the exponentials beside the logits and scatters the words' part into a third array of
    that size; with the normaliser kept instead, d = (softmax - one-hot) is formed in one pass.
    """
    return _normaliser(logits) - _chosen(logits, words)


def _normaliser(logits):
    top = logits.max(-1, keepdims=True)
    return jnp.log(jnp.exp(logits - top).sum(-1)) + top[..., 0]


def _chosen(logits, words):
    return jnp.take_along_axis(logits, words[..., None], axis=-1)[..., 0]


def _surprises_fwd(logits, words):
    normaliser = _normaliser(logits)
    return normaliser - _chosen(logits, words), (logits, words, normaliser)


def _surprises_bwd(residuals, cotangent):
    logits, words, normaliser = residuals
    this = jnp.arange(logits.shape[-1]) == words[..., None]
    d_logits = (jnp.exp(logits - normaliser[..., None]) - this) * cotangent[..., None]
    # Else XLA computes it anew for each product and sum it goes into.
    return jax.lax.optimization_barrier(d_logits), None


surprises.defvjp(_surprises_fwd, _surprises_bwd)
