"""Parameter counts by module."""

import math
from typing import Any

import jax

from vatex_jax.reports.grid import text_grid


def parameter_table(shapes: Any, depth: int = 2) -> str:
    """A table of parameter counts by module, `depth` levels deep, and their total.

    Args:
        shapes: a parameter tree, of arrays or of shapes.
    """
    counts: dict[str, int] = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(shapes):
        names = [str(entry.key) for entry in path]
        module = "/".join(names[: min(depth, len(names) - 1)])
        counts[module] = counts.get(module, 0) + math.prod(leaf.shape)
    rows = [[module, f"{count:,}"] for module, count in counts.items()]
    return text_grid(["module", "parameters"], [*rows, ["total", f"{sum(counts.values()):,}"]], [False, True])
