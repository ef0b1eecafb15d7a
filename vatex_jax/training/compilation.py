"""Compiling less: the second run of a model does not compile it again, and what runs once is compiled quickly."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

from vatex_jax.files import cache_folder


def enable_compilation_cache(folder: str | os.PathLike | None = None) -> Path:
    """Keeps compiled programs in `folder`; returns the folder.

    By default it is the one named by JAX_COMPILATION_CACHE_DIR, or else one under the user's cache folder.

    JAX keys the programs by their code, its own version and the processor, so one folder serves all runs.
    """
    if folder is None:
        folder = os.environ.get("JAX_COMPILATION_CACHE_DIR") or cache_folder() / "compiled"
    path = Path(folder).absolute()
    path.mkdir(parents=True, exist_ok=True)
    if jax.config.jax_compilation_cache_dir != str(path):
        compilation_cache.reset_cache()  # JAX stays with the folder of its first compilation
    jax.config.update("jax_compilation_cache_dir", str(path))
    # By default only programs that took a second to compile are kept; a run has dozens of smaller ones.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return path


def jit(function: Callable[..., Any], *, cpu_level: int = 1, **options: Any) -> Callable[..., Any]:
    """`jax.jit`, whose programs for the CPU LLVM optimizes at `cpu_level` instead of at 3; elsewhere it is `jax.jit`.

    What takes time in our programs are products, which are not LLVM's: at level 1 a captioner's step of the published
    size takes as long as at level 3 (11 s), and that of a small one too (27 ms), but compiles in two thirds of the
    time. Level 0 is for programs that run once or a few times, such as the one that makes fresh parameters.
    """
    quick = {"xla_backend_optimization_level": cpu_level} if jax.default_backend() == "cpu" else None
    return jax.jit(function, compiler_options=quick, **options)
