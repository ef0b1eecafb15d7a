"""Shape checks at run time for the whole suite (every annotated function is checked on every call), and results."""

import atexit
import copy
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:  # a program that several tests or processes run is compiled once
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="vatex-jax-compiled-")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "0"
    atexit.register(shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)

from jaxtyping import install_import_hook

install_import_hook("vatex_jax", "beartype.beartype")

from vatex_jax.metrics.bleu import signature  # noqa: E402

RESULT = {
    "experiment": "translation",
    "variant": "attention",
    "seed": 0,
    "dataset": {
        "name": "vatex_sim",
        "version": "1.0.0",
        "split": "test",
        "sizes": {"train": 900, "test": 100},
        "fingerprint": "f00d",
        "simulated": True,
        "stand_in": False,
    },
    "metrics": {"bleu4": 30.0},
    "signature": signature("zh:jieba-0.42.1"),
    "parameters": 47_000_000,
    "timing": {"train_seconds": 61.5},
    "software": {"python": "3.12.1", "jieba": None, "commit": None},
    "config": {"direction": "en2zh", "seed": 0, "model": {"video": "attention"}},
}


@pytest.fixture
def real_data() -> Path:
    """The folder of real data; tests that ask for it are skipped where there is none."""
    folder = os.environ.get("VATEX_JAX_REAL_DATA")
    if not folder:
        pytest.skip("VATEX_JAX_REAL_DATA is not set")
    return Path(folder)


@pytest.fixture(scope="session")
def small_bert():
    """`write(folder)`, `tensors()`, `ids(*pieces)`, `forward(tensors, config, ids)` of models/small_bert.py."""
    for package in ("safetensors", "tokenizers"):
        pytest.importorskip(package, reason=f"{package}, of extra [bert], is not installed")
    spec = importlib.util.spec_from_file_location("small_bert", Path(__file__).parent / "models" / "small_bert.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def make_result():
    """A function from changed fields (`dataset` and `config` are merged, the rest replaced) to a result."""

    def make(**changes):
        result = copy.deepcopy(RESULT)
        for field, value in changes.items():
            if field in ("dataset", "config"):
                result[field].update(value)
            else:
                result[field] = value
        result["config"]["seed"] = result["seed"]
        return result

    return make
