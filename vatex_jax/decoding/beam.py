"""Batched beam search as a pure function of (step, state).

Dimension legend
    B  sentences      K  beam      N  returned hypotheses      T  longest output, EOS included      V  vocabulary
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from vatex_jax.decoding.hypotheses import (
    NEVER_EMITTED,
    Hypotheses,
    State,
    Step,
    allowed_log_probs,
    length_normalised,
)
from vatex_jax.text.vocabulary import BOS, EOS, PAD


class BeamState(NamedTuple):
    """The loop's state: K live hypotheses a sentence, none of which has ended, and the best K that have.

    Attributes:
        time: int32 scalar; tokens written so far.
        tokens: int32 [B, K, T]; live outputs, PAD behind.
        log_probs: float32 [B, K]; -inf marks a place without a hypothesis.
        model: the step function's own state, [B, K, ...].
        ended: what has finished, in order of score.
    """

    time: jax.Array
    tokens: jax.Array
    log_probs: jax.Array
    model: State
    ended: Hypotheses


def beam_search(
    step: Step,
    state: State,
    *,
    beam: int,
    max_words: int,
    length_penalty: float = 1.0,
    n_best: int = 1,
    banned: tuple[int, ...] = NEVER_EMITTED,
) -> Hypotheses:
    """Searches for the outputs of the highest length-normalised log-probability.

    At each step the K live hypotheses of a sentence grow by every token. Of the K most probable continuations, those
    that end in EOS are finished; the K best that do not end stay live. A sentence is over when K outputs have finished:
    so a beam of 1 is greedy decoding, and a beam as large as the space is exhaustive search. An output has at most
    `max_words` words; one that reaches them must end. The loop ends when every sentence of the batch is over.

    Args:
        step: one step of the model.
        state: its state before the first word, [B, 1, ...].
        beam: K.
        max_words: words at most, without EOS.
        length_penalty: exponent of the length, EOS counted; 0 compares plain log-probabilities.
        n_best: N, at most K.
        banned: tokens never emitted.

    Returns:
        The N best of each sentence.
    """
    if not 1 <= n_best <= beam:
        raise ValueError(f"n_best is {n_best}: it must be from 1 to the beam's size, {beam}.")
    length = max_words + 1

    def unfinished(search: BeamState) -> jax.Array:
        alive = (search.log_probs[:, 0] > -jnp.inf) & (search.ended.lengths[:, -1] == 0)
        return (search.time < length) & jnp.any(alive)

    def advance(search: BeamState) -> BeamState:
        last = jnp.where(search.time == 0, BOS, _column(search.tokens, search.time - 1))
        logits, model = step(search.model, last)
        log_probs = allowed_log_probs(logits, banned, search.time == max_words)
        return _grow(search, search.log_probs[:, :, None] + log_probs, model, length_penalty)

    first = _first_state(state, beam, length)
    ended = jax.lax.while_loop(unfinished, advance, first).ended
    return jax.tree.map(lambda x: x[:, :n_best], ended)


def _first_state(state: State, beam: int, length: int) -> BeamState:
    batch = jax.tree.leaves(state)[0].shape[0]
    model = jax.tree.map(lambda x: jnp.repeat(x, beam, axis=1), state)
    nothing = jnp.full((batch, beam), -jnp.inf)
    tokens = jnp.full((batch, beam, length), PAD, jnp.int32)
    ended = Hypotheses(tokens, jnp.zeros((batch, beam), jnp.int32), nothing, nothing)
    return BeamState(jnp.int32(0), tokens, nothing.at[:, 0].set(0.0), model, ended)


def _column(tokens: Int[Array, "B K T"], index: jax.Array) -> Int[Array, "B K"]:
    return jax.lax.dynamic_index_in_dim(tokens, index, axis=2, keepdims=False)


def _grow(search: BeamState, totals: Float[Array, "B K V"], model: State, length_penalty: float) -> BeamState:
    """Chooses among all one-token continuations; `totals` are their log-probabilities."""
    batch, beam, vocabulary = totals.shape
    length = search.time + 1
    # At most K of them end, so the best 2 K hold the K best that do not.
    log_probs, flat = top_k(totals.reshape(batch, beam * vocabulary), min(2 * beam, beam * vocabulary))
    parent, word = flat // vocabulary, (flat % vocabulary).astype(jnp.int32)

    ends = word == EOS
    ending = jnp.where(ends, log_probs, -jnp.inf)[:, :beam]
    finished = Hypotheses(
        _rows(search.tokens, parent[:, :beam]).at[:, :, search.time].set(EOS),
        jnp.full((batch, beam), length, jnp.int32),
        ending,
        length_normalised(ending, length, length_penalty),
    )
    # A sentence that was over takes nothing more in, however long its neighbours go on.
    over = search.ended.lengths[:, -1] > 0
    finished = finished._replace(scores=jnp.where(over[:, None], -jnp.inf, finished.scores))
    ended = _best(jax.tree.map(lambda a, b: jnp.concatenate([a, b], axis=1), search.ended, finished), beam)

    log_probs, order = jax.lax.top_k(jnp.where(ends, -jnp.inf, log_probs), beam)
    parent, word = jnp.take_along_axis(parent, order, 1), jnp.take_along_axis(word, order, 1)
    # A place without a hypothesis keeps PAD, so that nothing banned is ever written.
    word = jnp.where(log_probs > -jnp.inf, word, PAD)
    tokens = _rows(search.tokens, parent).at[:, :, search.time].set(word)
    model = jax.tree.map(lambda x: _rows(x, parent), model)
    return BeamState(length, tokens, log_probs, model, ended)


def _rows(x: jax.Array, index: Int[Array, "B N"]) -> jax.Array:
    """x [B, K, ...] by hypothesis: [B, N, ...]."""
    return jax.vmap(lambda rows, i: rows[i])(x, index)


def _best(candidates: Hypotheses, keep: int) -> Hypotheses:
    scores, order = jax.lax.top_k(candidates.scores, keep)
    tokens, lengths, log_probs = (_rows(x, order) for x in candidates[:3])
    there = scores > -jnp.inf
    log_probs = jnp.where(there, log_probs, -jnp.inf)
    return Hypotheses(jnp.where(there[:, :, None], tokens, PAD), jnp.where(there, lengths, 0), log_probs, scores)


def top_k(x: Float[Array, "B M"], k: int, block: int = 128) -> tuple[Float[Array, "B k"], Int[Array, "B k"]]:
    """The k largest entries of each row and their places, lower places first among equals, as `lax.top_k`.

    The k largest lie in the k blocks of the largest maxima (ties go to the lower block, as to the lower place): a
    maximum a block is one vectorised pass, where `lax.top_k` alone would sort its way through all M (70,000 for a beam
    of 5).
    """
    rows, size = x.shape
    if size <= 2 * k * block:
        values, places = jax.lax.top_k(x, k)
        return values, places
    padded = jnp.pad(x, ((0, 0), (0, -size % block)), constant_values=-jnp.inf).reshape(rows, -1, block)
    _, blocks = jax.lax.top_k(padded.max(-1), k)
    blocks = jnp.sort(blocks, axis=-1)
    values, place = jax.lax.top_k(_rows(padded, blocks).reshape(rows, k * block), k)
    return values, jnp.take_along_axis(blocks, place // block, axis=1) * block + place % block
