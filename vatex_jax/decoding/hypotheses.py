"""What every decoder is given and returns.

Dimension legend
    B  sentences      K  hypotheses a sentence      N  returned hypotheses      T  longest output, EOS included
    V  vocabulary
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from vatex_jax.text.vocabulary import BOS, EOS, MASK, PAD, UNK

NEVER_EMITTED = (PAD, UNK, BOS, MASK)
"""Tokens no translation may hold."""

State = Any
"""A pytree of arrays [B, K, ...]."""

Step = Callable[[State, jax.Array], tuple[jax.Array, State]]
"""`step(state, tokens [B, K]) -> (logits [B, K, V], state)`; must treat every hypothesis alone."""


class Hypotheses(NamedTuple):
    """Finished outputs, best first.

    Attributes:
        tokens: int32 [B, N, T]; words, EOS, then PAD.
        lengths: int32 [B, N]; tokens before and with EOS; 0 where there are fewer than N outputs.
        log_probs: float32 [B, N]; natural log of the whole output's probability, -inf where there is none.
        scores: float32 [B, N]; `log_probs` over a power of the length: what the outputs are ordered by.
    """

    tokens: jax.Array
    lengths: jax.Array
    log_probs: jax.Array
    scores: jax.Array


def allowed_log_probs(
    logits: Float[Array, "B K V"], banned: tuple[int, ...], must_end: jax.Array
) -> Float[Array, "B K V"]:
    """Log-probabilities with -inf at banned tokens, and at everything but EOS where `must_end`.

    The softmax runs over all V tokens: a ban removes outputs and leaves the others' probabilities as the model says.
    """
    log_probs = jax.nn.log_softmax(logits.astype(jnp.float32), axis=-1)
    token = jnp.arange(logits.shape[-1])
    forbidden = jnp.isin(token, jnp.array(banned, jnp.int32)) | (must_end & (token != EOS))
    return jnp.where(forbidden, -jnp.inf, log_probs)


def length_normalised(log_probs: Float[Array, "*shape"], lengths: Any, length_penalty: float) -> Float[Array, "*shape"]:
    """log P / length^length_penalty, the length counting EOS; 0 compares plain log-probabilities, 1 their mean."""
    return log_probs / jnp.maximum(lengths, 1).astype(jnp.float32) ** length_penalty
