"""LSTMs against NumPy, step by step over each row's real steps.

Dimension legend
    B  batch      T  time steps      D  input size      H  hidden
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn

from vatex_jax.nn.lstm import LSTM, BiLSTM, lstm_cell

T, D, H = 6, 4, 3
LENGTHS = [6, 3, 1, 0]
B = len(LENGTHS)
MASK = jnp.asarray(np.arange(T) < np.array(LENGTHS)[:, None])


def inputs(seed=0):
    """Padding holds large numbers: whoever reads it shows."""
    rng = np.random.default_rng(seed)
    x = np.where(np.asarray(MASK)[:, :, None], rng.normal(size=(B, T, D)), 50.0)
    return jnp.asarray(x, jnp.float32)


def float64(tree):
    return jax.tree.map(lambda x: np.asarray(x, np.float64), tree)


def shaken(params, seed=0):
    """Biases and kernels all nonzero and all different."""
    leaves, shape = jax.tree.flatten(params)
    rng = np.random.default_rng(seed)
    return jax.tree.unflatten(shape, [x + jnp.asarray(0.3 * rng.normal(size=x.shape), jnp.float32) for x in leaves])


def test_gate_order_and_equations():
    """i = 1/2, f = 3/4, g = 0.6, o = 9/10 from c = 2."""
    gates = jnp.array([0.0, np.log(3), np.arctanh(0.6), np.log(9)])
    h, c = lstm_cell(gates, jnp.array([2.0]))
    np.testing.assert_allclose(c, [0.75 * 2 + 0.5 * 0.6], rtol=1e-6)
    np.testing.assert_allclose(h, [0.9 * np.tanh(1.8)], rtol=1e-6)


def test_parameters_at_the_start():
    params = LSTM(H).init(jax.random.key(0), inputs(), MASK)["params"]
    np.testing.assert_array_equal(params["bias"], [0] * H + [1] * H + [0] * 2 * H)
    assert params["input_kernel"].shape == (D, 4 * H)
    bound = np.sqrt(6 / (D + H))
    assert bound * 0.8 < np.abs(params["input_kernel"]).max() <= bound
    for block in np.split(np.asarray(params["recurrent_kernel"]), 4, axis=1):
        np.testing.assert_allclose(block @ block.T, np.eye(H), atol=1e-5)


def test_a_wide_part_of_the_input_does_not_shrink_a_narrow_one():
    """Xavier's bound sqrt(6 / (rows + H)) goes by each part's own rows: 4 and 1,000 here."""
    x = jnp.zeros((1, 1, 1004))
    params = LSTM(H, parts=(4, 1000)).init(jax.random.key(0), x, jnp.ones((1, 1), bool))["params"]
    narrow, wide = jnp.split(params["input_kernel"], [4])
    assert 0.8 * np.sqrt(6 / 7) < np.abs(narrow).max() <= np.sqrt(6 / 7)
    assert 0.8 * np.sqrt(6 / 1003) < np.abs(wide).max() <= np.sqrt(6 / 1003)


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_each_row_as_if_alone_and_unpadded(numpy_model, reverse, started):
    x, rng = inputs(), np.random.default_rng(1)
    start = tuple(jnp.asarray(rng.normal(size=(B, H)), jnp.float32) for _ in range(2)) if started else None
    model = LSTM(H, reverse=reverse)
    params = shaken(jax.jit(model.init)(jax.random.key(1), x, MASK)["params"])
    outputs, (h, c) = jax.jit(model.apply)({"params": params}, x, MASK, start)
    for row, length in enumerate(LENGTHS):
        real = np.asarray(x[row, :length], np.float64)
        state = None if start is None else float64((start[0][row], start[1][row]))
        expected, (last_h, last_c) = numpy_model.lstm(float64(params), real[::-1] if reverse else real, state)
        np.testing.assert_allclose(outputs[row, :length], expected[::-1] if reverse else expected, atol=1e-5)
        np.testing.assert_array_equal(outputs[row, length:], 0)
        np.testing.assert_allclose(h[row], last_h, atol=1e-5)
        np.testing.assert_allclose(c[row], last_c, atol=1e-5)


def test_a_row_without_steps_keeps_its_start():
    x = inputs()
    start = (jnp.full((B, H), 0.3), jnp.full((B, H), -0.7))
    model = LSTM(H)
    params = jax.jit(model.init)(jax.random.key(1), x, MASK)["params"]
    _, (h, c) = model.apply({"params": params}, x, MASK, start)
    assert LENGTHS[3] == 0
    np.testing.assert_array_equal(h[3], start[0][3])
    np.testing.assert_array_equal(c[3], start[1][3])


def test_as_flax_computes_it():
    x, mask = inputs()[:1], MASK[:1]
    model = LSTM(H)
    params = shaken(jax.jit(model.init)(jax.random.key(2), x, mask)["params"])
    ours, (h, c) = model.apply({"params": params}, x, mask)
    theirs = {}
    for n, gate in enumerate("ifgo"):
        block = slice(n * H, (n + 1) * H)
        theirs[f"i{gate}"] = {"kernel": params["input_kernel"][:, block]}
        theirs[f"h{gate}"] = {"kernel": params["recurrent_kernel"][:, block], "bias": params["bias"][block]}
    rnn = nn.RNN(nn.OptimizedLSTMCell(H, name="cell"), return_carry=True)
    (their_c, their_h), outputs = rnn.apply({"params": {"cell": theirs}}, x)
    for a, b in ((ours, outputs), (h, their_h), (c, their_c)):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_bilstm_layers_and_final_states(numpy_model):
    x = inputs(3)
    model = BiLSTM(H, layers=2)
    params = shaken(jax.jit(model.init)(jax.random.key(3), x, MASK)["params"])
    outputs, finals = jax.jit(model.apply)({"params": params}, x, MASK)
    assert outputs.shape == (B, T, 2 * H)
    assert len(finals) == 2
    for row, length in enumerate(LENGTHS):
        expected, states = numpy_model.bilstm(float64(params), np.asarray(x[row, :length], np.float64))
        np.testing.assert_allclose(outputs[row, :length], expected, atol=1e-5)
        np.testing.assert_array_equal(outputs[row, length:], 0)
        for ours, reference in zip(finals, states, strict=True):
            np.testing.assert_allclose(ours[0][row], reference[0], atol=1e-5)
            np.testing.assert_allclose(ours[1][row], reference[1], atol=1e-5)


def test_bilstm_without_steps():
    model = BiLSTM(H, layers=2)
    params = jax.jit(model.init)(jax.random.key(3), inputs(), MASK)["params"]

    def loss(params):
        outputs, finals = model.apply({"params": params}, jnp.zeros((B, 0, D)), jnp.zeros((B, 0), bool))
        assert outputs.shape == (B, 0, 2 * H)
        return sum(jnp.sum(x) for state in finals for x in state)

    value, gradient = jax.jit(jax.value_and_grad(loss))(params)
    assert value == 0
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(gradient))


def test_dropout_stands_between_layers_only():
    x, key = inputs(), jax.random.key(5)
    for layers, changes in ((1, False), (2, True)):
        model = BiLSTM(H, layers=layers, dropout=0.5)
        params = jax.jit(model.init)(jax.random.key(4), x, MASK)["params"]
        still, _ = model.apply({"params": params}, x, MASK)
        moved, _ = model.apply({"params": params}, x, MASK, deterministic=False, rngs={"dropout": key})
        assert (np.abs(moved - still).max() > 1e-3) == changes
