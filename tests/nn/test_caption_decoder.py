"""The captioner's decoder by hand, and the choice of the most probable word."""

import jax.numpy as jnp
import numpy as np

from vatex_jax.nn.caption_decoder import CaptionDecoder, most_probable
from vatex_jax.nn.decoders import Memory
from vatex_jax.nn.embedding import Words


def one(*values):
    return jnp.array([values], jnp.float32)


def test_hand_worked_steps():
    """All sizes 1; the memory holds +1 and -1 and the query weight is 2, so the weights are sigmoid(+-4 h).

    The fused input is word + context / 2 - 0.1, doubled by the LSTM's kernel for the cell's gate alone.
    """
    params = {
        "query": one(2.0),
        "fusion_word_kernel": one(1.0),
        "fusion_context_kernel": one(0.5),
        "fusion_bias": jnp.array([-0.1]),
        "input_kernel": one(0.0, 0.0, 2.0, 0.0),
        "recurrent_kernel": one(0.0, 0.0, 0.0, -3.0),
        "bias": jnp.array([0.0, 1.0, 0.0, 0.0]),
        "output_kernel": one(4.0),
        "output_bias": jnp.array([0.5]),
    }
    table = jnp.array([[0.0], [0.0], [0.0], [0.0], [0.0], [0.25], [-1.0]])
    words = Words(table, 2.0, table, jnp.array([0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0]))
    memory = Memory(jnp.array([[[1.0], [-1.0]]]), jnp.ones((1, 2), bool))
    model = CaptionDecoder(1, 1, 1, 0.0)
    start = (one(0.5), one(-2.0))
    written, weights = model.apply({"params": params}, words, jnp.array([[2, 5]]), start, memory)

    # Step 1 reads <bos>, embedded as 0. Query h_0 = 0.5: weights 0.880797 and 0.119203, context 0.761594, fused
    # 0.280797. i = 1/2, f = sigmoid(1) = 0.731059, g = tanh(0.561594) = 0.509159, o = sigmoid(-1.5) = 0.182426;
    # c = -2 f + i g = -1.207538; h = o tanh(c) = -0.152497. x = tanh(4 h + 0.5) = -0.109545.
    np.testing.assert_allclose(weights[0, 0], [0.880797, 0.119203], atol=2e-6)
    np.testing.assert_allclose(written.logits[0, 0, 3:], [0.1, 0, -0.027386, 0.109545], atol=2e-6)
    # Step 2 queries with h_1: weights sigmoid(-+0.609987). It reads word 5, embedded as 2 x 0.25 = 0.5: context
    # -0.295876, fused 0.252062, g = tanh(0.504124) = 0.465355, o = sigmoid(0.457490) = 0.612419; c = -0.650103;
    # h = -0.350144; x = tanh(-0.900576) = -0.716578.
    np.testing.assert_allclose(weights[0, 1], [0.352062, 0.647938], atol=2e-6)
    np.testing.assert_allclose(written.logits[1, 0, 5:], [-0.179145, 0.716578], atol=2e-6)
    np.testing.assert_array_equal(written.inputs, [[2], [5]])

    # Fed back: step 1's best word is 6 (EOS, which is more probable than word 5, is none).
    fed_back = jnp.array([[False, True]])
    sampled = model.apply(
        {"params": params}, words, jnp.array([[2, 5]]), fed_back, 5, start, memory, method="scheduled_sampling"
    )
    np.testing.assert_array_equal(sampled.inputs, [[2], [6]])
    np.testing.assert_allclose(sampled.logits[0], written.logits[0], atol=1e-6)
    assert np.abs(sampled.logits[1] - written.logits[1]).max() > 0.1


def test_the_most_probable_word():
    logits = jnp.array([[9.0, 1.0, 2.0, 3.0], [0.0, 0.0, -5.0, -5.0], [0.0, -2.0, -1.0, -1.0], [0.0, 7.0, -1.0, 7.0]])
    words = most_probable(logits, 1)
    assert words.dtype == jnp.int32
    assert words.tolist() == [3, 1, 2, 1]  # the lowest among equals, as argmax
