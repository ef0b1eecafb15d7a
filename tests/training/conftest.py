"""The toy run, for tests in this process (`toy`) and in processes of their own (`start_toy`)."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from vatex_jax.training.compilation import enable_compilation_cache

SCRIPT = Path(__file__).with_name("toy_run.py")
ROOT = SCRIPT.parents[2]


@pytest.fixture(scope="session")
def toy():
    spec = importlib.util.spec_from_file_location("toy_run", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """A compilation cache for all runs in this folder; the settings found before are put back."""
    options = (
        "jax_compilation_cache_dir",
        "jax_persistent_cache_min_compile_time_secs",
        "jax_persistent_cache_min_entry_size_bytes",
    )
    before = {name: getattr(jax.config, name) for name in options}
    yield enable_compilation_cache(tmp_path_factory.mktemp("compiled"))
    for name, value in before.items():
        jax.config.update(name, value)


@pytest.fixture(scope="session")
def start_toy(cache):
    """start_toy(workdir, *arguments, devices=1, **environment) starts the command; all share a compilation cache."""
    started = []

    def start(workdir, *arguments, devices=1, **environment):
        workdir.mkdir(parents=True, exist_ok=True)
        variables = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), **environment}
        variables["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
        process = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(workdir), f"--cache={cache}", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=variables,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()


@pytest.fixture(scope="session")
def run_toy(start_toy):
    """Runs the command to its end, which must be a good one; returns its output."""

    def run(workdir, *arguments, **options):
        process = start_toy(workdir, *arguments, **options)
        output, _ = process.communicate()
        assert process.returncode == 0, output
        return output

    return run
