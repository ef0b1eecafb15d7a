"""Greedy decoding and sampling against the automata's own probabilities.

Dimension legend
    B  sentences      N  draws      V  vocabulary
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vatex_jax.decoding.beam import beam_search
from vatex_jax.decoding.hypotheses import NEVER_EMITTED, length_normalised
from vatex_jax.decoding.sampling import greedy, sample
from vatex_jax.text.vocabulary import BOS, EOS, MASK, PAD, UNK


def test_what_is_never_emitted():
    assert set(NEVER_EMITTED) == {PAD, UNK, BOS, MASK}


def test_greedy_takes_the_most_probable(tables):
    leads, logits = tables.draw(0, 8, 4, scale=1.5)
    found = jax.jit(lambda state: greedy(tables.step, state, max_words=5))(tables.start(leads, logits))
    for row in range(8):
        where, before, expected = 0, BOS, []
        while before != EOS:
            where = leads[row, where, before]
            allowed = [EOS] if len(expected) == 5 else [3, 5, 6, 7, 8]
            before = max(allowed, key=lambda token: logits[row, where, token])
            expected.append(before)
        length = int(found.lengths[row, 0])
        assert found.tokens[row, 0, :length].tolist() == expected
        assert (found.tokens[row, 0, length:] == PAD).all()
        log_prob = sum(tables.log_probs(leads[row], logits[row], expected))
        np.testing.assert_allclose(found.log_probs[row, 0], log_prob, rtol=1e-5)
        np.testing.assert_allclose(found.scores[row, 0], log_prob / length, rtol=1e-5)
    assert len(set(found.lengths[:, 0].tolist())) > 1


def test_a_beam_of_one_is_greedy(tables):
    for seed in range(5):
        state = tables.start(*tables.draw(seed, 16, 6, scale=1.0))
        one = jax.jit(lambda state: beam_search(tables.step, state, beam=1, max_words=6))(state)
        jax.tree.map(np.testing.assert_array_equal, one[:2], greedy(tables.step, state, max_words=6)[:2])


def test_sampling_frequencies(tables):
    """4,000 draws of whole outputs against their probabilities, by chi-square; nothing is banned but what must be."""
    leads, logits = tables.draw(5, 1, 2, scale=0.7)
    logits[:, :, list(NEVER_EMITTED)] = -30.0
    n = 4000
    draw = jax.jit(lambda state, key: sample(tables.step, state, key[None], n=n, max_words=2))
    found = draw(tables.start(leads, logits), jax.random.key(0))
    outputs = list(tables.outputs(2, 2))
    # The last EOS is forced, so an output of the full length is as probable as its words.
    shares = [np.exp(sum(tables.log_probs(leads[0], logits[0], o)[:2])) for o in outputs]
    np.testing.assert_allclose(sum(shares), 1, rtol=1e-5)
    drawn = [tuple(t[:l]) for t, l in zip(found.tokens[0].tolist(), found.lengths[0].tolist(), strict=True)]
    counts = np.array([drawn.count(tuple(o)) for o in outputs])
    assert counts.sum() == n
    chi_square = ((counts - n * np.array(shares)) ** 2 / (n * np.array(shares))).sum()
    assert chi_square < 22.5  # six degrees of freedom: exceeded once in a thousand


def test_temperature(tables):
    """At half the temperature the first word's odds are squared; the log-probabilities stay the model's."""
    leads, logits = tables.draw(6, 1, 2, scale=0.7)
    logits[:, :, [*NEVER_EMITTED, EOS]] = -30.0
    draw = jax.jit(lambda state, key: sample(tables.step, state, key[None], n=4000, max_words=1, temperature=0.5))
    found = draw(tables.start(leads, logits), jax.random.key(1))
    odds = np.exp(2 * np.diff(logits[0, leads[0, 0, BOS], 5:7])[0])
    np.testing.assert_allclose((found.tokens[0, :, 0] == 6).mean(), odds / (1 + odds), atol=0.03)
    output = found.tokens[0, 0, :2].tolist()
    expected = sum(tables.log_probs(leads[0], logits[0], output))
    np.testing.assert_allclose(found.log_probs[0, 0], expected, rtol=1e-5)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_a_temperature_that_means_nothing_is_refused(tables, temperature):
    state = tables.start(*tables.draw(7, 3, 5, scale=0.3))
    with pytest.raises(ValueError, match=r"greedy\(\)"):
        sample(tables.step, state, jax.random.split(jax.random.key(0), 3), temperature=temperature, max_words=4)


def test_sampling_is_a_function_of_the_key(tables):
    state = tables.start(*tables.draw(7, 3, 5, scale=0.3))
    draw = jax.jit(lambda state, keys: sample(tables.step, state, keys, n=20, max_words=4))
    a, again, b = (draw(state, jax.random.split(jax.random.key(seed), 3)) for seed in (0, 0, 1))
    jax.tree.map(np.testing.assert_array_equal, a, again)
    assert (a.tokens != b.tokens).any()
    assert len({tuple(t) for t in a.tokens[0].tolist()}) > 10
    assert not np.isin(a.tokens, [1, 2, 4]).any()
    np.testing.assert_array_equal((a.tokens == EOS).sum(-1), 1)
    np.testing.assert_array_equal((a.tokens != PAD).sum(-1), a.lengths)


def test_a_sentence_s_draws_do_not_depend_on_its_batch(tables):
    """The same sentence three times: equal keys draw alike, others do not, and the batch's order does not matter."""
    state = tables.start(*(np.repeat(array, 3, axis=0) for array in tables.draw(7, 1, 5, scale=0.3)))
    keys = jax.random.split(jax.random.key(0), 2)[jnp.array([0, 1, 0])]
    found = sample(tables.step, state, keys, n=6, max_words=4).tokens
    np.testing.assert_array_equal(found[0], found[2])
    assert (found[0] != found[1]).any()
    with pytest.raises(ValueError, match="one a sentence"):
        sample(tables.step, state, keys[:1], max_words=4)


def test_length_normalisation():
    log_probs, lengths = jnp.array([-6.0, -6.0, -jnp.inf]), jnp.array([4, 1, 0])
    np.testing.assert_allclose(length_normalised(log_probs, lengths, 1.0), [-1.5, -6, -np.inf])
    np.testing.assert_allclose(length_normalised(log_probs, lengths, 0.0), [-6, -6, -np.inf])
    np.testing.assert_allclose(length_normalised(log_probs, lengths, 0.5), [-3, -6, -np.inf])


@pytest.mark.parametrize("temperature", [1e-5, 1e-29, 1e-31, 1e-40, 1e-300])
def test_the_coldest_samples_are_greedy_and_never_banned(tables, temperature):
    """At 1e-40 every quotient used to overflow, and the draw was PAD."""
    leads, logits = tables.draw(3, 8, 4, scale=1.5)
    state, keys = tables.start(leads, logits), jax.random.split(jax.random.key(1), 8)
    drawn = jax.jit(lambda state: sample(tables.step, state, keys, n=2, temperature=temperature, max_words=5))(state)
    best = greedy(tables.step, state, max_words=5)
    for n in range(2):
        np.testing.assert_array_equal(drawn.tokens[:, n], best.tokens[:, 0])
    np.testing.assert_allclose(drawn.log_probs[:, 0], best.log_probs[:, 0], rtol=1e-6)
