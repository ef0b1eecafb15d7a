"""vatex-jax: VaTeX captioning, video-guided translation and the revised evaluation of visual dialogue, in JAX and Flax."""

__version__ = "0.1.0"
