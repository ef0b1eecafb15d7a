"""Small translators of every kind with all their parameters drawn at random, and batches of very unequal rows."""

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def numpy_model():
    """The NumPy reference."""
    return load(HERE.parent / "nn" / "numpy_model.py")


@pytest.fixture(scope="session")
def small():
    """Sizes, `model(kind)`, `parameters(model)` and `batch(kind)` of small_translator.py."""
    return load(HERE / "small_translator.py")


@pytest.fixture(scope="session")
def captions():
    """`model(**fields)`, `parameters(model)`, `batch()` of small_captioner.py, and its NumPy reference."""
    return load(HERE / "small_captioner.py")
