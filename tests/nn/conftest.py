"""`numpy_model` in the tests of this folder: the NumPy reference."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def numpy_model():
    spec = importlib.util.spec_from_file_location("numpy_model", Path(__file__).with_name("numpy_model.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
