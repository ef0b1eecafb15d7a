"""Runtime shape checks for the whole suite: every annotated function of vatex_jax is checked on every call."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from jaxtyping import install_import_hook

install_import_hook("vatex_jax", "beartype.beartype")
