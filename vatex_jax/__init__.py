"""vatex-jax: VaTeX captioning, video-guided translation and a revised evaluation of visual dialogue, in JAX."""

__version__ = "0.1.0"
