"""Beam search against exhaustive search, its stopping rule, and the blocked top k.

Dimension legend
    B  sentences      K  beam      N  returned hypotheses      V  vocabulary
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vatex_jax.decoding.beam import beam_search, top_k

EOS = 3
# (words, longest, length penalty): up to 6 tokens (5 words and EOS), up to 5 long (4 words and EOS).
SPACES = [(1, 4, 1.0), (2, 4, 0.0), (2, 4, 0.7), (2, 4, 1.0), (3, 3, 0.7), (5, 4, 1.0)]


@partial(jax.jit, static_argnums=0, static_argnames=("beam", "max_words", "length_penalty", "n_best"))
def search(step, state, **options):
    return beam_search(step, state, **options)


def words_of(tokens, length):
    """The output before padding, after checking that it ends once, in EOS, with nothing banned and PAD behind."""
    output = np.asarray(tokens[:length]).tolist()
    assert output.index(EOS) == length - 1
    assert not set(output) & {0, 1, 2, 4}
    assert (np.asarray(tokens[length:]) == 0).all()
    return output


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), space=st.sampled_from(SPACES), scale=st.sampled_from([0.3, 2.0, 5.0]))
def test_a_beam_as_large_as_the_space_is_exhaustive(tables, seed, space, scale):
    words, max_words, penalty = space
    leads, logits = tables.draw(seed, 2, words, scale)
    every = list(tables.outputs(words, max_words))
    size = len(every)
    found = search(
        tables.step,
        tables.start(leads, logits),
        beam=size,
        max_words=max_words,
        length_penalty=penalty,
        n_best=size,
    )
    for row in range(2):
        log_probs = {tuple(o): sum(tables.log_probs(leads[row], logits[row], o)) for o in every}
        scores = {o: log_prob / len(o) ** penalty for o, log_prob in log_probs.items()}
        ours = [tuple(words_of(t, n)) for t, n in zip(found.tokens[row], np.asarray(found.lengths[row]), strict=True)]
        assert set(ours) == set(scores)
        np.testing.assert_allclose(found.scores[row], [scores[o] for o in ours], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found.log_probs[row], [log_probs[o] for o in ours], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found.scores[row], sorted(scores.values(), reverse=True), rtol=1e-5, atol=1e-5)


def test_more_beams_than_outputs(tables):
    """One word, at most two of them: three outputs, and places without one say so."""
    found = search(tables.step, tables.start(*tables.draw(0, 1, 1)), beam=5, max_words=2, length_penalty=1.0, n_best=5)
    np.testing.assert_array_equal(np.sort(found.lengths[0]), [0, 0, 1, 2, 3])
    np.testing.assert_array_equal(found.lengths[0, 3:], 0)
    np.testing.assert_array_equal(found.scores[0, 3:], -np.inf)
    np.testing.assert_array_equal(found.log_probs[0, 3:], -np.inf)
    np.testing.assert_array_equal(found.tokens[0, 3:], 0)
    assert np.isfinite(found.scores[0, :3]).all()


def test_the_normal_beam(tables):
    """Scores are the model's own; neighbours, the batch's size and n_best do not matter."""
    leads, logits = tables.draw(1, 6, 6, scale=1.0)
    logits[3, :, EOS] = 9.0  # over at once
    logits[4, :, EOS] = -9.0  # never ends by itself
    options = {"beam": 4, "max_words": 6, "length_penalty": 1.0}
    found = search(tables.step, tables.start(leads, logits), n_best=4, **options)
    best = search(tables.step, tables.start(leads, logits), n_best=1, **options)
    np.testing.assert_array_equal(best.tokens, found.tokens[:, :1])
    assert found.lengths[3, 0] == 1
    assert (found.lengths[4] == 7).all()
    for row in range(6):
        alone = search(tables.step, tables.start(leads[row : row + 1], logits[row : row + 1]), n_best=4, **options)
        jax.tree.map(lambda a, b, row=row: np.testing.assert_array_equal(a[0], b[row]), alone, found)
        assert (np.diff(found.scores[row]) <= 0).all()
        outputs = [words_of(*pair) for pair in zip(found.tokens[row], np.asarray(found.lengths[row]), strict=True)]
        assert len({tuple(o) for o in outputs}) == 4
        for output, log_prob, score in zip(outputs, found.log_probs[row], found.scores[row], strict=True):
            expected = sum(tables.log_probs(leads[row], logits[row], output))
            np.testing.assert_allclose(log_prob, expected, rtol=1e-5)
            np.testing.assert_allclose(score, expected / len(output), rtol=1e-5)


@pytest.mark.parametrize("max_words", [0, 1])
def test_the_word_limit(tables, max_words):
    leads, logits = tables.draw(2, 3, 4)
    logits[:, :, EOS] = -20.0
    found = search(tables.step, tables.start(leads, logits), beam=2, max_words=max_words, length_penalty=1.0, n_best=1)
    assert found.tokens.shape == (3, 1, max_words + 1)
    np.testing.assert_array_equal(found.lengths, max_words + 1)
    np.testing.assert_array_equal(found.tokens[:, 0, max_words], EOS)


def test_banned_tokens_are_passed_over(tables):
    """However probable; their share of the probability is not handed to the others."""
    leads, logits = tables.draw(3, 2, 3)
    logits[:, :, [0, 1, 2, 4]] = 6.0
    found = search(tables.step, tables.start(leads, logits), beam=3, max_words=3, length_penalty=0.0, n_best=3)
    for row in range(2):
        every = zip(found.tokens[row], np.asarray(found.lengths[row]), found.scores[row], strict=True)
        for tokens, length, score in every:
            expected = sum(tables.log_probs(leads[row], logits[row], words_of(tokens, length)))
            np.testing.assert_allclose(score, expected, rtol=1e-5)
            assert score < -length


@pytest.mark.parametrize("n_best", [0, 3])
def test_n_best_beyond_the_beam(tables, n_best):
    with pytest.raises(ValueError, match=f"n_best is {n_best}: it must be from 1 to the beam's size, 2"):
        beam_search(tables.step, tables.start(*tables.draw(0, 1, 1)), beam=2, max_words=1, n_best=n_best)


@pytest.mark.parametrize(("size", "k", "block"), [(7, 3, 4), (24, 3, 4), (25, 3, 4), (203, 5, 8), (4000, 10, 128)])
@pytest.mark.parametrize("kind", ["plain", "ties", "mostly -inf", "all -inf", "best in one block"])
def test_top_k_as_lax(size, k, block, kind):
    """Below, at and above the size from which blocks are used; equal entries in order of place."""
    rng = np.random.default_rng(size)
    x = rng.normal(size=(4, size)).astype(np.float32)
    if kind == "ties":
        x = rng.integers(0, 3, (4, size)).astype(np.float32)
    elif kind == "mostly -inf":
        x[rng.random(x.shape) < 0.99] = -np.inf
    elif kind == "all -inf":
        x[:] = -np.inf
    elif kind == "best in one block":
        x[:, -k - 1 : -1] += 100
    ours, theirs = top_k(jnp.asarray(x), k, block), jax.lax.top_k(jnp.asarray(x), k)
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_array_equal(ours[1], theirs[1])
