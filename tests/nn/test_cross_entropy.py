"""The words' negative log-likelihood and its gradient, by hand and against JAX's own."""

import jax
import jax.numpy as jnp
import numpy as np

from vatex_jax.nn.cross_entropy import surprises


def test_by_hand():
    """Logits log 1, log 2, log 5 are odds: probabilities 1/8, 2/8, 5/8; a shift too large for exp changes nothing."""
    logits = jnp.log(jnp.array([[1.0, 2.0, 5.0]]))
    words = jnp.array([1])
    np.testing.assert_allclose(surprises(logits, words), [np.log(4)], rtol=1e-6)
    np.testing.assert_allclose(surprises(jnp.array([[512.0, 515.0]]), words), [np.log1p(np.exp(-3))], rtol=1e-3)
    gradient = jax.grad(lambda x: 3 * surprises(x, words)[0])(logits)
    np.testing.assert_allclose(gradient, 3 * np.array([[1 / 8, 2 / 8 - 1, 5 / 8]]), rtol=1e-6)


def test_gradient_equals_jaxs_own():
    rng = np.random.default_rng(0)
    logits = jnp.asarray(3 * rng.normal(size=(4, 2, 9)), jnp.float32)
    words, weights = jnp.asarray(rng.integers(0, 9, (4, 2))), jnp.asarray(rng.normal(size=(4, 2)), jnp.float32)

    def plain(x):
        return -(jnp.take_along_axis(jax.nn.log_softmax(x), words[..., None], -1)[..., 0] * weights).sum()

    ours, reference = (jax.value_and_grad(f)(logits) for f in (lambda x: (surprises(x, words) * weights).sum(), plain))
    np.testing.assert_allclose(ours[0], reference[0], rtol=1e-5)
    np.testing.assert_allclose(ours[1], reference[1], atol=1e-6)
