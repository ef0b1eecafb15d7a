"""The attending decoder: which state queries, hand-worked; stepping equals teacher forcing.

Dimension legend
    B  batch      T  target words      M  memory positions      D  memory size      E  embedding      H  hidden
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vatex_jax.nn.decoders import AttentionDecoder, AttentionLSTM, Memory, OutputLayer


def one(*values):
    return jnp.array([values], jnp.float32)


def test_hand_worked_steps():
    """All sizes 1; the memory holds +1 and -1 and the query weight is 2, so the weights are sigmoid(+-4 h).

    The second layer starts from other numbers than the first, and h_1 is far from h_0: any other query shows.
    """
    params = {
        "words": {"table": jnp.array([[0.0], [0.0], [0.0], [0.0], [0.0], [1.0]])},
        "attending": {
            "word_kernel": one(0.0, 0.0, 0.5, 0.0),
            "source_kernel": one(1.0, 0.0, 2.0, 0.0),
            "source_query": jnp.array([[2.0]]),
            "recurrent_kernel": one(0.0, 0.0, 0.0, -3.0),
            "bias": one(0.0, 1.0, 0.0, 0.0)[0],
        },
        "upper_0": {
            "input_kernel": one(0.0, 0.0, 1.0, 0.0),
            "recurrent_kernel": one(0.0, 0.0, 0.0, 0.0),
            "bias": jnp.zeros(4),
        },
    }
    memories = {"source": Memory(jnp.array([[[1.0], [-1.0]]]), jnp.ones((1, 2), bool))}
    start = [(one(0.5), one(-2.0)), (one(-0.9), one(0.4))]
    model = AttentionDecoder(6, 1, 1, 2, 0.0, ("source",))
    outputs, weights = model.apply({"params": params}, jnp.array([[2, 5]]), jnp.ones((1, 2), bool), start, memories)

    # Step 1 reads <bos>, embedded as 0. Query h_0 = 0.5: scores +-1, weights 0.880797 and 0.119203, context 0.761594.
    # i = sigmoid(0.761594) = 0.681700, f = sigmoid(1) = 0.731059, g = tanh(1.523188) = 0.909252,
    # o = sigmoid(-1.5) = 0.182426; c = -2 f + i g = -0.842281; h = o tanh(c) = -0.125329.
    # Second layer: i = f = o = 1/2, g = tanh(h) = -0.124677; c = 0.2 - 0.062338 = 0.137662; h = 0.068399.
    np.testing.assert_allclose(weights["source"][0, 0], [0.880797, 0.119203], atol=2e-6)
    np.testing.assert_allclose(outputs[0, 0], [0.068399], atol=2e-6)
    # Step 2: query h_1 = -0.125329 of the first layer: weights sigmoid(-+0.501316).
    np.testing.assert_allclose(weights["source"][0, 1], [0.377231, 0.622769], atol=2e-6)


def setting(layers=2, seed=0):
    """A decoder with two memories (rows of very unequal lengths), all its parameters drawn at random."""
    rng = np.random.default_rng(seed)
    batch, steps, hidden, vocabulary = 3, 5, 4, 9
    draw = lambda *shape: jnp.asarray(rng.normal(size=shape), jnp.float32)  # noqa: E731
    memories = {
        "source": Memory(draw(batch, 6, 3), jnp.arange(6) < jnp.array([[6], [2], [1]])),
        "video": Memory(draw(batch, 4, 5), jnp.arange(4) < jnp.array([[1], [4], [0]])),
    }
    start = [(draw(batch, hidden), draw(batch, hidden)) for _ in range(layers)]
    model = AttentionDecoder(vocabulary, 2, hidden, layers, 0.0, ("source", "video"))
    words = jnp.asarray(rng.integers(2, vocabulary, (batch, steps)), jnp.int32)
    mask = jnp.ones((batch, steps), bool)
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), words, mask, start, memories))["params"]
    return model, jax.tree.map(lambda s: draw(*s.shape), shapes), words, mask, start, memories


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_teacher_forcing_equals_stepping_and_numpy(numpy_model, layers):
    model, params, words, mask, start, memories = setting(layers)
    outputs, weights = jax.jit(model.apply)({"params": params}, words, mask, start, memories)
    step = jax.jit(partial(model.apply, method="step"))
    state = jax.tree.map(lambda x: x[:, None], start)
    for t in range(words.shape[1]):
        h, state, now = step({"params": params}, words[:, t : t + 1], state, memories)
        np.testing.assert_allclose(h[:, 0], outputs[:, t], atol=1e-5)
        for name in memories:
            np.testing.assert_allclose(now[name][:, 0], weights[name][:, t], atol=1e-5)
    p = jax.tree.map(lambda x: np.asarray(x, np.float64), params)
    for row in range(words.shape[0]):
        real = {name: np.asarray(m.values[row][m.mask[row]], np.float64) for name, m in memories.items()}
        states = [(np.asarray(h[row], np.float64), np.asarray(c[row], np.float64)) for h, c in start]
        for t, word in enumerate(np.asarray(words[row])):
            h, states, shares = numpy_model.decoder_step(p, word, states, real)
            np.testing.assert_allclose(outputs[row, t], h, atol=1e-5)
            for name, share in shares.items():
                np.testing.assert_allclose(weights[name][row, t, : len(share)], share, atol=1e-5)


def test_weights_sum_to_one_over_real_positions():
    model, params, words, mask, start, memories = setting()
    _, weights = model.apply({"params": params}, words, mask, start, memories)
    for name, memory in memories.items():
        assert weights[name].shape == (*words.shape, memory.values.shape[1])
        np.testing.assert_array_equal(jnp.where(memory.mask[:, None], 0, weights[name]), 0)
        seen = np.broadcast_to(memory.mask.any(1)[:, None], words.shape)
        np.testing.assert_allclose(weights[name].sum(-1), seen, atol=1e-6)


def test_hypotheses_do_not_mix():
    """Three different words and states a sentence, each as it would fare alone."""
    model, params, words, _, start, memories = setting()
    rng = np.random.default_rng(5)
    state = jax.tree.map(lambda x: jnp.asarray(rng.normal(size=(x.shape[0], 3, x.shape[1])), jnp.float32), start)
    tokens = words[:, :3]
    step = jax.jit(partial(model.apply, method="step"))
    h, new, weights = step({"params": params}, tokens, state, memories)
    for k in range(3):
        alone = jax.tree.map(lambda x, k=k: x[:, k : k + 1], state)
        h_k, new_k, weights_k = step({"params": params}, tokens[:, k : k + 1], alone, memories)
        expected = jax.tree.map(lambda x, k=k: x[:, k : k + 1], (h, new, weights))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), expected, (h_k, new_k, weights_k))


def test_no_step_sees_a_later_word():
    model, params, words, mask, start, memories = setting()
    apply = jax.jit(model.apply)
    before, _ = apply({"params": params}, words, mask, start, memories)
    after, _ = apply({"params": params}, words.at[:, 3].add(-1), mask, start, memories)
    np.testing.assert_array_equal(before[:, :3], after[:, :3])
    assert (np.abs(before[:, 3:] - after[:, 3:]).max(-1) > 1e-4).all()


def test_attention_gradients_reach_everything():
    """Queries, both memories, the start and the words all learn from a late step."""
    _, params, _, _, start, memories = setting()
    attending = AttentionLSTM(4, ("source", "video"))
    inputs = jnp.asarray(np.random.default_rng(1).normal(size=(3, 5, 2)), jnp.float32)

    def loss(p, inputs, start, values):
        memory = {name: Memory(values[name], memories[name].mask) for name in memories}
        return attending.apply({"params": p}, inputs, start, memory)[0][:, -1].sum()

    values = {name: memory.values for name, memory in memories.items()}
    gradients = jax.jit(jax.grad(loss, argnums=(0, 1, 2, 3)))(params["attending"], inputs, start[0], values)
    assert all(np.isfinite(g).all() and np.abs(g).max() > 1e-6 for g in jax.tree.leaves(gradients))
    for name, memory in memories.items():
        np.testing.assert_array_equal(jnp.where(memory.mask[:, :, None], 0, gradients[3][name]), 0)


def test_output_layer(numpy_model):
    model = OutputLayer(7, 3, 0.5)
    h = jnp.asarray(np.random.default_rng(0).normal(size=(2, 4, 5)), jnp.float32)
    params = model.init(jax.random.key(0), h)["params"]
    params = jax.tree.map(lambda x: x + 0.1, params)
    p = jax.tree.map(lambda x: np.asarray(x, np.float64), params)
    expected = numpy_model.output_layer(p, np.asarray(h, np.float64))
    np.testing.assert_allclose(model.apply({"params": params}, h), expected, atol=1e-5)
