"""Greedy decoding and sampling, one hypothesis or several a sentence, with beam search's interface.

Dimension legend
    B  sentences      N  returned hypotheses      T  longest output, EOS included      V  vocabulary
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from vatex_jax.decoding.hypotheses import (
    NEVER_EMITTED,
    Hypotheses,
    State,
    Step,
    allowed_log_probs,
    length_normalised,
)
from vatex_jax.text.vocabulary import BOS, EOS, PAD

COLDEST = 1e-30
"""The least temperature that is divided by: a log-probability of -1e8 is still a float32 number then."""


class _Walk(NamedTuple):
    time: jax.Array
    tokens: jax.Array
    lengths: jax.Array
    log_probs: jax.Array
    going: jax.Array
    model: State


def greedy(
    step: Step,
    state: State,
    *,
    max_words: int,
    length_penalty: float = 1.0,
    banned: tuple[int, ...] = NEVER_EMITTED,
) -> Hypotheses:
    """The most probable token at each step; beam search of size 1 gives the same. Arguments as in `beam_search`."""

    def choose(log_probs, time):
        del time
        return jnp.argmax(log_probs, axis=-1)

    return _walk(step, state, choose, 1, max_words, length_penalty, banned)


def sample(
    step: Step,
    state: State,
    keys: jax.Array,
    *,
    n: int = 1,
    temperature: float = 1.0,
    max_words: int,
    length_penalty: float = 1.0,
    banned: tuple[int, ...] = NEVER_EMITTED,
) -> Hypotheses:
    """n independent draws a sentence, in the order drawn; `log_probs` are the model's own, at temperature 1.

    Args:
        step, state, max_words, length_penalty, banned: as in `beam_search`.
        keys: a random key a sentence, [B]. A sentence's draws are a function of its own key, whatever else is in the
            batch and on whichever device: `jax.vmap(jax.random.fold_in, (None, 0))(key, numbers)` makes them.
        n: draws a sentence.
        temperature: what log-probabilities are divided by before drawing; below `COLDEST` the most probable word is
            taken, one of them at random if there are several.

    Raises:
        ValueError: `temperature` is no number above 0 (`greedy` is the limit at 0), `n` is below 1, or there is not a
            key a sentence.
    """
    if not 0 < temperature < float("inf"):
        raise ValueError(f"temperature is {temperature}: it must be above 0; greedy() takes the most probable word.")
    batch = jax.tree.leaves(state)[0].shape[0]
    if n < 1 or keys.shape != (batch,):
        raise ValueError(f"sample needs n of 1 or more and {batch} keys, one a sentence: n is {n}, keys {keys.shape}.")

    def choose(log_probs, time):
        now = jax.vmap(jax.random.fold_in, (0, None))(keys, time)
        return jax.vmap(jax.random.categorical)(now, _tempered(log_probs, temperature))

    return _walk(step, state, choose, n, max_words, length_penalty, banned)


def _tempered(log_probs: jax.Array, temperature: float) -> jax.Array:
    """Log-probabilities over temperature; below `COLDEST`, where float32 would overflow, the limit: the best alone."""
    if temperature >= COLDEST:
        return log_probs / temperature
    return jnp.where(log_probs == log_probs.max(-1, keepdims=True), 0.0, -jnp.inf)


def _walk(step, state, choose, n, max_words, length_penalty, banned):
    batch, length = jax.tree.leaves(state)[0].shape[0], max_words + 1

    def advance(walk: _Walk) -> _Walk:
        previous = jax.lax.dynamic_index_in_dim(walk.tokens, jnp.maximum(walk.time - 1, 0), axis=2, keepdims=False)
        logits, model = step(walk.model, jnp.where(walk.time == 0, BOS, previous))
        log_probs = allowed_log_probs(logits, banned, walk.time == max_words)
        word = choose(log_probs, walk.time).astype(jnp.int32)
        gain = jnp.take_along_axis(log_probs, word[:, :, None], axis=-1)[:, :, 0]
        return _Walk(
            walk.time + 1,
            walk.tokens.at[:, :, walk.time].set(jnp.where(walk.going, word, PAD)),
            walk.lengths + walk.going,
            jnp.where(walk.going, walk.log_probs + gain, walk.log_probs),
            walk.going & (word != EOS),
            model,
        )

    start = _Walk(
        jnp.int32(0),
        jnp.full((batch, n, length), PAD, jnp.int32),
        jnp.zeros((batch, n), jnp.int32),
        jnp.zeros((batch, n)),
        jnp.ones((batch, n), bool),
        jax.tree.map(lambda x: jnp.repeat(x, n, axis=1), state),
    )
    walk = jax.lax.while_loop(lambda w: (w.time < length) & jnp.any(w.going), advance, start)
    scores = length_normalised(walk.log_probs, walk.lengths, length_penalty)
    return Hypotheses(walk.tokens, walk.lengths, walk.log_probs, scores)
