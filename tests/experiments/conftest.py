"""`small_bert` in the tests of this folder: a BERT's files."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def small_bert():
    for package in ("safetensors", "tokenizers"):
        pytest.importorskip(package, reason=f"{package}, of extra [bert], is not installed")
    path = Path(__file__).parent.parent / "models" / "small_bert.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
