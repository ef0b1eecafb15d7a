"""Adam against NumPy and PyTorch; clipping; parameters that stay."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from vatex_jax.errors import ConfigError
from vatex_jax.training.loop import make_train_step
from vatex_jax.training.optimizers import make_optimizer
from vatex_jax.training.sharding import make_mesh
from vatex_jax.training.state import new_state

GRADIENTS = np.random.default_rng(0).normal(0, 12, (6, 5)).astype(np.float32)  # half of them beyond the clamp at 10
START = np.array([0.5, -2.0, 0.0, 30.0, 1e-3], np.float32)


def optimised(config, rate=1e-2):
    optimizer = make_optimizer(config, optax.constant_schedule(rate))
    params, state = {"x": jnp.array(START)}, None
    state = optimizer.init(params)
    for gradient in GRADIENTS:
        updates, state = optimizer.update({"x": jnp.array(gradient)}, state, params)
        params = optax.apply_updates(params, updates)
    return np.asarray(params["x"])


def test_adam_with_clamp_and_l2_by_hand(toy):
    x, m, v = START.astype(np.float64), np.zeros(5), np.zeros(5)
    for t, gradient in enumerate(GRADIENTS.astype(np.float64), start=1):
        g = np.clip(gradient, -10, 10) + 0.1 * x
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x = x - 1e-2 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    ours = optimised(toy.make_config(clip="value", clip_at=10.0, weight_decay=0.1))
    np.testing.assert_allclose(ours, x, rtol=2e-6, atol=2e-7)


def test_adam_as_torch(toy):
    torch = pytest.importorskip("torch")
    x = torch.nn.Parameter(torch.tensor(START))
    adam = torch.optim.Adam([x], lr=1e-2, weight_decay=0.1)
    for gradient in GRADIENTS:
        x.grad = torch.tensor(gradient)
        torch.nn.utils.clip_grad_value_([x], 10.0)
        adam.step()
    ours = optimised(toy.make_config(clip="value", clip_at=10.0, weight_decay=0.1))
    np.testing.assert_allclose(ours, x.detach().numpy(), rtol=2e-6, atol=2e-7)


def test_global_norm_spans_all_parameters(toy):
    optimizer = make_optimizer(toy.make_config(clip="global_norm", clip_at=1.0, weight_decay=0.0), lambda _: 1.0)
    params = {"a": jnp.zeros(1), "b": jnp.zeros(1)}
    state = optimizer.init(params)
    _, state = optimizer.update({"a": jnp.array([3.0]), "b": jnp.array([4.0])}, state, params)
    adam = next(part for part in jax.tree.leaves(state, is_leaf=lambda s: hasattr(s, "mu")) if hasattr(part, "mu"))
    np.testing.assert_allclose([adam.mu["a"][0], adam.mu["b"][0]], [0.06, 0.08], rtol=1e-6)


@pytest.mark.parametrize("field", [{"clip": "norm"}, {"clip_at": 0.0}, {"weight_decay": -1.0}])
def test_unusable_fields_are_named(toy, field):
    with pytest.raises(ConfigError, match=f"train.{next(iter(field))}"):
        make_optimizer(toy.make_config(**field), lambda _: 1.0)


class Quadratic:
    """Loss sum of squares: every parameter has a gradient unless something stops it."""

    def init(self, key):
        return {"shared": {"w": jnp.array([1.0, -0.0, 3.0])}, "private": {"w": jnp.array([1.0, 2.0])}}

    def loss(self, params, batch, key, step):
        total = sum(jnp.sum((leaf + 1) ** 2) for leaf in jax.tree.leaves(params))
        return total, {"tokens": batch["n"].sum()}


def test_frozen_parameters_stay_bit_for_bit_and_have_no_part_in_the_norm(toy):
    config = toy.make_config(weight_decay=0.5, clip="global_norm", clip_at=1.0)

    def frozen(path):
        return path[0] == "shared"

    optimizer = make_optimizer(config, lambda _: 0.1, frozen)
    mesh = make_mesh()
    step = make_train_step(Quadratic(), optimizer, mesh, jax.random.key(0), frozen)
    state = new_state(Quadratic().init(None), optimizer)
    before = jax.device_get(state.params)
    for _ in range(3):
        state, measured = step(state, {"n": jnp.ones(mesh.size)})
        if state.step == 1:
            np.testing.assert_allclose(float(measured[2]), np.sqrt(4.0**2 + 6.0**2), rtol=1e-6)
    after = jax.device_get(state.params)
    assert after["shared"]["w"].tobytes() == before["shared"]["w"].tobytes()
    assert (after["private"]["w"] != before["private"]["w"]).all()
    moments = sum(leaf.size for leaf in jax.tree.leaves(state.opt_state) if leaf.ndim)
    assert moments == 2 * 2
