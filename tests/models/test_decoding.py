"""Search and sampling over real translators: outputs and scores as teacher forcing tells them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vatex_jax.decoding.beam import beam_search
from vatex_jax.decoding.sampling import greedy, sample
from vatex_jax.models.translator import decoding

KINDS = ("none", "attention", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("average", "final")))
MAX_WORDS = 6


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_and_scores(small, numpy_model, kind):
    model, batch = small.model(kind), small.batch(kind)
    params, data = small.parameters(model, scale=1.0, seed=3), small.inputs(batch)
    # Untrained, hardly any output would end before it must.
    params["output"]["words"]["bias"] = params["output"]["words"]["bias"].at[3].add(4.5)

    @jax.jit
    def decode(params, data):
        step, state = decoding(model, params, data)
        return (
            beam_search(step, state, beam=4, max_words=MAX_WORDS, n_best=4),
            beam_search(step, state, beam=1, max_words=MAX_WORDS),
            greedy(step, state, max_words=MAX_WORDS),
            sample(step, state, jax.random.split(jax.random.key(0), len(data["source"])), n=3, max_words=MAX_WORDS),
        )

    several, one, most_probable, drawn = decode(params, data)
    np.testing.assert_array_equal(one.tokens, most_probable.tokens)
    np.testing.assert_array_equal(one.lengths, most_probable.lengths)
    np.testing.assert_allclose(one.scores, most_probable.scores, rtol=1e-6)
    p = jax.tree.map(lambda x: np.asarray(x, np.float64), params)
    for found in (several, one, drawn):
        assert found.tokens.shape[2] == MAX_WORDS + 1
        for row, (source, _, video) in enumerate(numpy_model.rows(batch)):
            for n, length in enumerate(np.asarray(found.lengths[row])):
                output = np.asarray(found.tokens[row, n, :length])
                assert output.tolist().index(3) == length - 1
                assert not set(output.tolist()) & {0, 1, 2, 4}
                assert (found.tokens[row, n, length:] == 0).all()
                expected = -numpy_model.surprises(p, kind, source, output, video).sum()
                np.testing.assert_allclose(found.log_probs[row, n], expected, rtol=1e-5, atol=1e-5)
                np.testing.assert_allclose(found.scores[row, n], expected / length, rtol=1e-5, atol=1e-5)
    assert (np.diff(several.scores, axis=1) <= 0).all()
    assert jnp.unique(several.lengths).size > 1
