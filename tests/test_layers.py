"""Imports point down only, read from the syntax tree (so that lazy imports count as well)."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "vatex_jax"

NUMPY_ONLY = {"text", "metrics", "cca", "reference_sets", "corpus"}
JAX = {"jax", "jaxlib", "flax", "optax", "orbax"}

# What each room may import of this library, besides itself and the two modules at the bottom (errors, files).
MAY_IMPORT = {
    "text": set(),
    "metrics": {"text"},
    "cca": {"text"},
    "reference_sets": {"text", "cca", "data"},
    "corpus": {"text", "data"},
    "data": {"text"},
    "nn": set(),
    "models": {"nn", "text"},
    "decoding": {"text"},
    "training": set(),
    "reports": {"metrics", "text", "reference_sets", "data"},
    "experiments": {
        "reports", "training", "data", "models", "decoding", "metrics", "text", "nn", "cca", "reference_sets", "corpus",
    },
}  # fmt: skip
BOTTOM = {"errors", "files"}


def imported_names(source: str, package: str) -> set[str]:
    """Dotted names of all imports anywhere in a module of `package`."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join(parts[: len(parts) - node.level + 1] + ([base] if base else []))
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return names


def faults(room: str, names: set[str]) -> set[str]:
    """The imports that `room` may not have."""
    allowed = MAY_IMPORT[room] | BOTTOM | {room}
    ours = {name.split(".")[1] for name in names if name.startswith("vatex_jax.")}
    outside = {name.split(".")[0] for name in names}
    jax = outside & JAX if room in NUMPY_ONLY else set()
    return (ours - allowed) | jax | (outside & {"torch", "tensorflow", "clu"})


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)


def test_every_room_is_known_and_holds_modules():
    rooms = {path.relative_to(PACKAGE).parts[0] for path in modules()}
    assert rooms <= MAY_IMPORT.keys()
    assert len(modules()) > 30


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path):
    room = path.relative_to(PACKAGE).parts[0]
    names = imported_names(
        path.read_text(encoding="utf-8"), ".".join(["vatex_jax", *path.relative_to(PACKAGE).parts[:-1]])
    )
    assert not faults(room, names), f"{path.relative_to(ROOT)} imports {sorted(faults(room, names))}"


@pytest.mark.parametrize(
    ("room", "source", "fault"),
    [
        ("metrics", "import jax.numpy as jnp", "jax"),
        ("training", "from vatex_jax.models import translator", "models"),
        ("decoding", "def f():\n    from vatex_jax.models.translator import Translator", "models"),
        ("text", "from ..data import sources", "data"),
        ("data", "import tensorflow as tf", "tensorflow"),
    ],
)
def test_a_fault_is_found(room, source, fault):
    assert fault in faults(room, imported_names(source, f"vatex_jax.{room}"))


def test_the_command_line_is_short():
    assert len((ROOT / "run_experiment.py").read_text(encoding="utf-8").splitlines()) < 100
