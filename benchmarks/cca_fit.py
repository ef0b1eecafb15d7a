"""CCA of ten million question-answer pairs, against the plain dense computation: `python benchmarks/cca_fit.py`.

What is timed (`ours`): `fit_pairs`, from distinct vectors and a list of pairs in memory to projections: 10.4 million
pairs (their two items Zipf-distributed) over 400,000 distinct questions and 350,000 distinct answers, 300 numbers each,
k = 300. The paper's largest CCA trains on 10,419,489 pairs (table 3).

The peer expands: both views' rows gathered, the joint covariance as a product of centred rows, then the same
eigenproblem. 10.4 million rows of 600 float64 numbers are 50 GB, so it is timed on `sample` pairs, the first of the
list, and `peer` is its seconds without the eigenproblem, times pairs / sample, plus the eigenproblem's: its cost a pair
is the same for all. `speedup` is of the cost a pair. `largest_difference` compares the projections of both fitted on
the sample, up to sign.
"""

import dataclasses
import pathlib
import sys
import time
from typing import Any

if __name__ in ("__main__", "__mp_main__"):
    # Run as a script, Python looks for modules in this folder; they are found from the one above.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

import numpy as np
import scipy.linalg

from benchmarks import timing

REGULARIZATION = 1e-12


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is run; the defaults are the benchmark, smaller ones are for tests."""

    pairs: int = 10_400_000
    questions: int = 400_000
    answers: int = 350_000
    dimension: int = 300
    k: int = 300
    sample: int = 400_000
    rounds: int = 3

    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """Distinct answers and questions, float32; they share some directions, as real ones do."""
        rng = np.random.default_rng(0)
        mixing = rng.standard_normal((self.dimension, self.dimension), np.float32) / np.sqrt(np.float32(self.dimension))
        return tuple(
            (rng.standard_normal((count, self.dimension), np.float32) @ mixing + 0.1).astype(np.float32)
            for count in (self.answers, self.questions)
        )

    def indices(self) -> tuple[np.ndarray, np.ndarray]:
        """The answer and the question of each pair."""
        rng = np.random.default_rng(1)
        return tuple(zipf(count, self.pairs, rng) for count in (self.answers, self.questions))


def zipf(count: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers below `count`, number r as often as 1 / (r + 1), and each once first as long as draws last."""
    edges = np.cumsum(1.0 / np.arange(1, count + 1))
    drawn = np.searchsorted(edges / edges[-1], rng.random(draws), side="right").astype(np.int64)
    first = min(count, draws)
    drawn[:first] = np.arange(first)
    return rng.permutation(drawn)


class OurFit:
    """Our side."""

    def __init__(self, plan: Plan):
        self._plan, self._vectors, self._indices = plan, plan.vectors(), plan.indices()

    def fit(self) -> float:
        """Seconds of the whole."""
        start = time.perf_counter()
        self._fit(self._plan.pairs)
        return time.perf_counter() - start

    def projections(self) -> np.ndarray:
        """Of the first answers, fitted on the sample."""
        return self._fit(self._plan.sample).project(0, self._vectors[0][:100])

    def _fit(self, pairs: int):
        from vatex_jax.cca.cca import fit_pairs

        rows, columns = (index[:pairs] for index in self._indices)
        return fit_pairs(*self._vectors, rows, columns, np.ones(pairs), self._plan.k, regularization=REGULARIZATION)

    def peak_memory_gb(self) -> float:
        return timing.peak_memory_gb()


class DenseFit:
    """The peer's side."""

    def __init__(self, plan: Plan):
        self._plan, self._vectors, self._indices = plan, plan.vectors(), plan.indices()

    def covariance(self) -> float:
        """Seconds of gathering the sample's rows and of their covariance."""
        start = time.perf_counter()
        self._joint = self._covariance()
        return time.perf_counter() - start

    def eigenproblem(self) -> float:
        """Seconds, after `covariance`."""
        start = time.perf_counter()
        self._values, self._weights = self._solve(self._joint)
        return time.perf_counter() - start

    def projections(self) -> np.ndarray:
        d = self._plan.dimension
        return self._vectors[0][:100].astype(np.float64) @ self._weights[:d] * self._values

    def _covariance(self) -> np.ndarray:
        views = [
            vectors[index[: self._plan.sample]] for vectors, index in zip(self._vectors, self._indices, strict=True)
        ]
        rows = np.concatenate(views, axis=1).astype(np.float64)
        rows -= rows.mean(axis=0)
        return rows.T @ rows / (len(rows) - 1)

    def _solve(self, joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d, size = self._plan.dimension, len(joint)
        joint = joint + REGULARIZATION * np.eye(size)
        blocks = scipy.linalg.block_diag(joint[:d, :d], joint[d:, d:])
        values, vectors = scipy.linalg.eigh(joint, blocks, subset_by_index=[size - self._plan.k, size - 1])
        return values[::-1], (vectors / np.linalg.norm(vectors, axis=0))[:, ::-1]


def run(plan: Plan) -> dict[str, Any]:
    """Measures and compares everything; the keys of the line of results."""
    with timing.Side(OurFit, plan) as ours, timing.Side(DenseFit, plan) as peer:
        seconds = timing.in_turn(
            {"ours": lambda: ours.call("fit"), "covariance": lambda: peer.call("covariance"),
             "eigenproblem": lambda: peer.call("eigenproblem")},
            plan.rounds,
        )  # fmt: skip
        best = {name: min(values) for name, values in seconds.items()}
        one, other = ours.call("projections"), peer.call("projections")
        memory = ours.call("peak_memory_gb")
    expanded = best["covariance"] * plan.pairs / plan.sample + best["eigenproblem"]
    signs = np.sign((one * other).sum(axis=0))
    return {
        "ours": best["ours"],
        "peer": expanded,
        "unit": "seconds (the peer's scaled from its sample)",
        "speedup": expanded / best["ours"],
        "pairs": plan.pairs,
        "sample": plan.sample,
        "largest_difference": float(np.abs(one - other * signs).max()),
        "peak_memory_gb": memory,
    }


if __name__ == "__main__":
    timing.print_line("cca_fit", run(Plan()))
