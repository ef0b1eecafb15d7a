"""Adam as the published implementations use it, and which parameters it may touch."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import ml_collections
import optax

from vatex_jax.errors import ConfigError

# Says of a parameter's path, the keys from the root, whether it stays as it is.
Frozen = Callable[[tuple[str, ...]], bool]

CLIPPINGS = ("none", "value", "global_norm")


def make_optimizer(
    config: ml_collections.ConfigDict, schedule: optax.Schedule, frozen: Frozen | None = None
) -> optax.GradientTransformation:
    """Adam with L2 weight decay, the order of torch.optim.Adam after gradient clamping.

    With gradient g, parameter x, weight decay d, rate r(t): g <- clip(g); g <- g + d x; Adam's moments (0.9, 0.999) of
    g; x <- x - r(t) m_hat / (sqrt(v_hat) + 1e-8). The decay passes through the moments: this is not AdamW.

    Args:
      config: fields `clip` (`none`, `value`: each element to [-clip_at, clip_at], `global_norm`: the whole gradient to
        length clip_at at most), `clip_at`, `weight_decay`.
      schedule: learning rate by step.
      frozen: parameters left alone; they take no part in the clipping norm and have no moments.

    Returns:
      A transformation whose `update` needs the parameters.
    """
    if config.clip not in CLIPPINGS:
        raise ConfigError(f"train.clip is {config.clip!r}: set one of {', '.join(CLIPPINGS)}.")
    if config.clip != "none" and not config.clip_at > 0:
        raise ConfigError(f"train.clip_at is {config.clip_at}: set a positive number, or train.clip='none'.")
    if config.weight_decay < 0:
        raise ConfigError(f"train.weight_decay is {config.weight_decay}: set 0 or a positive number.")
    parts = []
    if config.clip == "value":
        parts.append(optax.clip(config.clip_at))
    elif config.clip == "global_norm":
        parts.append(optax.clip_by_global_norm(config.clip_at))
    if config.weight_decay:
        parts.append(optax.add_decayed_weights(config.weight_decay))
    adam = optax.chain(*parts, optax.scale_by_adam(), optax.scale_by_learning_rate(schedule))
    if frozen is None:
        return adam
    return optax.multi_transform(
        {"trained": adam, "frozen": optax.set_to_zero()},
        lambda params: jax.tree.map(lambda leaf: "frozen" if leaf else "trained", frozen_leaves(params, frozen)),
    )


def frozen_leaves(params: Any, frozen: Frozen | None) -> Any:
    """A tree like `params` with True where the parameter is frozen."""
    if frozen is None:
        return jax.tree.map(lambda _: False, params)
    return jax.tree_util.tree_map_with_path(lambda path, _: bool(frozen(_names(path))), params)


def stop_frozen_gradients(params: Any, leaves: Any) -> Any:
    """`params` with no gradient into the frozen ones, so that the compiler drops the work of computing it."""
    return jax.tree.map(lambda leaf, stop: jax.lax.stop_gradient(leaf) if stop else leaf, params, leaves)


def apply_updates(params: Any, updates: Any, scale: jax.Array, leaves: Any) -> Any:
    """params + scale * updates; the frozen ones pass through untouched (adding 0 would turn -0.0 into 0.0)."""
    return jax.tree.map(lambda x, u, stop: x if stop else x + scale * u, params, updates, leaves)


def length(tree: Any) -> jax.Array:
    """Euclidean length of all the tree's numbers as one vector, float32 scalar."""
    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)))


def _names(path: Sequence[Any]) -> tuple[str, ...]:
    """A tree path as plain strings."""
    return tuple(str(getattr(entry, "key", getattr(entry, "name", getattr(entry, "idx", entry)))) for entry in path)
