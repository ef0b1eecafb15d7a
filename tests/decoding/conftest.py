"""`tables`: tiny models whose logits depend on the whole prefix, and every output they can write.

Dimension legend
    B  sentences      K  hypotheses a sentence      S  states of the automaton      V  vocabulary
"""

import itertools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

BOS, EOS, FIRST_WORD = 2, 3, 5
STATES = 7


def draw(seed, sentences, words, scale=2.0):
    """Tables of `sentences` automata: where each token leads from each state, and each state's logits."""
    rng = np.random.default_rng(seed)
    vocabulary = FIRST_WORD + words
    leads = rng.integers(0, STATES, (sentences, STATES, vocabulary)).astype(np.int32)
    return leads, (scale * rng.normal(size=(sentences, STATES, vocabulary))).astype(np.float32)


def start(leads, logits):
    """The state [B, 1, ...] before the first word; the tables travel in it, so that no test compiles twice."""
    where = jnp.zeros((len(leads), 1), jnp.int32)
    return {"where": where, "leads": jnp.asarray(leads)[:, None], "logits": jnp.asarray(logits)[:, None]}


def step(state, tokens):
    pick = jax.vmap(jax.vmap(lambda leads, where, token: leads[where, token]))
    where = pick(state["leads"], state["where"], tokens)
    logits = jax.vmap(jax.vmap(lambda logits, where: logits[where]))(state["logits"], where)
    return logits, {**state, "where": where}


def log_probs(leads, logits, output):
    """log P of each token of an output (EOS included) under one automaton, over the whole vocabulary."""
    where, result = 0, []
    for before, token in zip([BOS, *output], output, strict=False):
        where = leads[where, before]
        row = logits[where].astype(np.float64)
        result.append(row[token] - row.max() - np.log(np.exp(row - row.max()).sum()))
    return result


def outputs(words, max_words):
    """Every output of at most `max_words` words, EOS behind."""
    tokens = range(FIRST_WORD, FIRST_WORD + words)
    for length in range(max_words + 1):
        for sentence in itertools.product(tokens, repeat=length):
            yield [*sentence, EOS]


@pytest.fixture(scope="session")
def tables():
    return SimpleNamespace(draw=draw, start=start, step=step, log_probs=log_probs, outputs=outputs)
