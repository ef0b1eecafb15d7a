"""Are our sets scikit-learn's? `python benchmarks/reference_sets_exact.py` (a quarter of an hour on two cores; `--rows`
for less, `--parts` for a bit at a time).

Clusters 20,000 rows of 99 random numbers of six shapes both ways, by mean shift (M) and agglomeratively (G, 5
clusters), and counts the rows whose best cluster differs (`different`, `different_g`). Where one does, the row is moved
up to `--moves` times by at most 1e-12 a number and clustered anew by scikit-learn: `unstable` counts the rows on which
its own answer changes, `unexplained` those on which it does not. Claimed: under 0.1% differ and none is unexplained.

Rows that differ are printed as they are found; the last line is one JSON object.
"""

import argparse
import functools
import multiprocessing
import pathlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

if __name__ in ("__main__", "__mp_main__"):
    # Run as a script, Python looks for modules in this folder; they are found from the one above.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

import numpy as np
from tqdm import tqdm

from benchmarks import timing
from benchmarks.reference_sets import made_up, require_scikit_learn, scikit_agglomerative, scikit_mean_shift

MOVE = 1e-12
PEERS = {"mean_shift": scikit_mean_shift, "agglomerative": scikit_agglomerative}
MARKS = {"mean_shift": "", "agglomerative": "_g"}


def rows_of_all_shapes(count: int, values: int, seed: int) -> np.ndarray:
    """Rows of continuous numbers (no ties): even, normal, skewed, in two heaps, many heaps, and as correlations are."""
    rng = np.random.default_rng(seed)
    shape = (-(-count // 6), values)
    heaps = rng.uniform(-1, 1, (shape[0], 9))[np.arange(shape[0])[:, None], rng.integers(0, 9, shape)]
    shapes = [
        rng.uniform(-1, 1, shape),
        rng.normal(0.2, 0.3, shape),
        rng.exponential(0.2, shape),
        rng.choice([0.1, 0.8], shape) + rng.normal(0, 0.05, shape),
        heaps + rng.normal(0, 0.02, shape),
        made_up(*shape, rng) + rng.uniform(0, 1e-6, shape),
    ]
    return np.stack(shapes, axis=1).reshape(-1, values)[:count]


def ours(construction: str, rows: np.ndarray) -> np.ndarray:
    """Which numbers of each row are in its best cluster."""
    from vatex_jax.reference_sets import clusters

    return getattr(clusters, construction)(rows, rows.argmax(axis=1), form="max")


def unstable(construction: str, row: np.ndarray, moves: int) -> bool:
    """Whether scikit-learn's own answer changes when the row moves by 1e-12."""
    peer, rng = PEERS[construction], np.random.default_rng(0)
    still = peer(row)
    return any((peer(row + rng.uniform(-MOVE, MOVE, row.shape)) != still).any() for _ in range(moves))


def compare(construction: str, rows: np.ndarray, processes: int, moves: int) -> dict[str, Any]:
    """The keys of the line of results."""
    found, mark, changes = ours(construction, rows), MARKS[construction], []
    with multiprocessing.get_context("spawn").Pool(processes, _make_light) as pool:
        peer = pool.imap(functools.partial(_peer, construction), rows, chunksize=4)
        bar = tqdm(peer, total=len(rows), desc=construction, unit="row")
        for number, theirs in enumerate(bar):
            if (theirs != found[number]).any():
                changes.append(unstable(construction, rows[number], moves))
                own = "changes" if changes[-1] else "stays"
                bar.write(f"{construction}: row {number} differs; scikit-learn's own answer {own}")
    counts = {"rows": len(rows), "different": len(changes)}
    counts |= {"unstable": sum(changes), "unexplained": len(changes) - sum(changes)}
    return {name + mark: value for name, value in counts.items()}


def _peer(construction: str, row: np.ndarray) -> np.ndarray:
    return PEERS[construction](row)


class _Loop:
    """What `joblib.Parallel` does with one job."""

    def __init__(self, *_: Any, **__: Any): ...

    def __call__(self, calls: Iterable[tuple[Callable[..., Any], tuple, dict]]) -> list[Any]:
        return [function(*arguments, **named) for function, arguments, named in calls]


def _make_light() -> None:
    """Takes from scikit-learn what costs four fifths of its time here and decides nothing.

    That is: threads for a hundred numbers, a dispatcher of one job a neighbourhood, and checks of its own arguments.
    """
    import sklearn
    import sklearn.cluster._mean_shift
    import sklearn.neighbors._base
    import threadpoolctl

    threadpoolctl.threadpool_limits(1)
    sklearn.set_config(assume_finite=True, skip_parameter_validation=True)
    for module in (sklearn.cluster._mean_shift, sklearn.neighbors._base):
        module.Parallel = _Loop
        module.delayed = lambda function: lambda *arguments, **named: (function, arguments, named)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rows_g", type=int, default=20_000, help="rows of agglomerative clustering")
    parser.add_argument("--processes", type=int, default=timing.threads())
    parser.add_argument("--moves", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", type=int, default=1, help="cut the rows into so many parts ...")
    parser.add_argument("--part", type=int, default=0, help="... and look at this one, from 0; counts add up")
    wanted = parser.parse_args()
    require_scikit_learn()
    results = {}
    for construction, count in (("agglomerative", wanted.rows_g), ("mean_shift", wanted.rows)):
        rows = np.array_split(rows_of_all_shapes(count, 99, wanted.seed), wanted.parts)[wanted.part]
        results |= compare(construction, rows, wanted.processes, wanted.moves)
    timing.print_line("reference_sets_exact", results)


if __name__ == "__main__":
    main()
