"""Reference sets of VisDial's training questions: `python benchmarks/reference_sets.py`.

What is timed: `sigma`, `mean_shift` and `agglomerative` (5 clusters), from the correlations of 1.23 million questions'
100 candidates in memory (float32, made up) to their sets.

The peers are loops over questions in which scikit-learn's MeanShift and AgglomerativeClustering, as they come, cluster
the correlations of the 99 others; the set is the cluster with the largest centre or mean. They are timed on `sample`
(M) and `sample_g` (G) questions, evenly spread, in turn with ours: their seconds are scaled to all questions, for their
cost a question is the same for all. They run in one process of their own; scikit-learn's nearest neighbours may use
all cores, a loop cannot.

`ours`, `peer`, `speedup` are M's; those of G end in `_g`; `sigma_s` is Sigma's seconds. `different` and `different_g`
count the sample's questions whose set is not the peer's. `tied_share` is the share of correlations that equal another
of their question: candidates of the same words.
"""

import dataclasses
import importlib.util
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

if __name__ in ("__main__", "__mp_main__"):
    # Run as a script, Python looks for modules in this folder; they are found from the one above.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

import numpy as np

from benchmarks import timing

_BLOCK = 20_000  # questions whose correlations are made at once


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is run; the defaults are the benchmark, smaller ones are for tests."""

    questions: int = 1_230_000
    candidates: int = 100
    sample: int = 100
    sample_g: int = 4000
    rounds: int = 2

    def gt_index(self) -> np.ndarray:
        return np.random.default_rng(1).integers(0, self.candidates, self.questions)

    def correlations(self) -> np.ndarray:
        """Correlations with the ground truth, float32; a block at a time, for what they are made from is larger."""
        found = np.empty((self.questions, self.candidates), np.float32)
        for number, first in enumerate(range(0, self.questions, _BLOCK)):
            part = found[first : first + _BLOCK]
            part[:] = made_up(*part.shape, np.random.default_rng([2, number]))
        found[np.arange(self.questions), self.gt_index()] = 1.0
        return found

    def sampled(self, count: int) -> np.ndarray:
        """Numbers of so many questions, evenly spread."""
        return np.linspace(0, self.questions, min(count, self.questions), endpoint=False).astype(np.int64)


def made_up(rows: int, candidates: int, rng: np.random.Generator) -> np.ndarray:
    """Correlations as those of answers are: a crowd near a row's own middle, kinds of answers apart from it.

    Each candidate is of one of six kinds, which are popular as 1 / rank; a kind has a centre and a spread. Of every
    fifty candidates one says what another says and has the same correlation.
    """
    centre = np.clip(rng.normal(0.15, 0.3, (rows, 6)), -0.7, 0.95)
    spread = rng.gamma(2.0, 0.05, (rows, 6))
    share = 1.0 / np.arange(1, 7)
    kind = rng.choice(6, (rows, candidates), p=share / share.sum())
    row = np.arange(rows)[:, None]
    found = np.clip(centre[row, kind] + spread[row, kind] * rng.standard_normal((rows, candidates)), -0.999, 0.999)
    copied = rng.random((rows, candidates)) < 0.02
    other = rng.integers(0, candidates, (rows, candidates))
    return np.where(copied, found[row, other], found)


def scikit_mean_shift(values: np.ndarray) -> np.ndarray:
    """The cluster with the largest centre of some numbers, by scikit-learn: bool."""
    from sklearn.cluster import MeanShift

    fitted = MeanShift().fit(values[:, None])
    return fitted.labels_ == fitted.cluster_centers_[:, 0].argmax()


def scikit_agglomerative(values: np.ndarray, clusters: int = 5) -> np.ndarray:
    """The cluster with the largest mean of some numbers, by scikit-learn: bool."""
    from sklearn.cluster import AgglomerativeClustering

    labels = AgglomerativeClustering(clusters).fit(values[:, None]).labels_
    return labels == np.argmax(np.bincount(labels, values) / np.bincount(labels))


def with_ground_truth(choose: Callable[[np.ndarray], np.ndarray], values: np.ndarray, truth: int) -> np.ndarray:
    """A question's set: what is chosen from the others, and the ground truth."""
    return np.insert(choose(np.delete(values, truth)), truth, True)


class Ours:
    """All questions."""

    def __init__(self, plan: Plan):
        self._plan, self._correlations, self._gt_index = plan, plan.correlations(), plan.gt_index()
        self._found: dict[str, np.ndarray] = {}

    def construct(self, name: str) -> float:
        """Seconds of a construction."""
        from vatex_jax.reference_sets import clusters

        self._found.pop(name, None)
        start = time.perf_counter()
        self._found[name] = getattr(clusters, name)(self._correlations, self._gt_index)
        return time.perf_counter() - start

    def found(self, name: str, rows: np.ndarray) -> np.ndarray:
        return self._found[name][rows]

    def mean_size(self, name: str) -> float:
        return float(self._found[name].sum(axis=1).mean())

    def tied_share(self) -> float:
        ascending = np.sort(self._correlations[self._plan.sampled(20_000)], axis=1)
        return float((ascending[:, 1:] == ascending[:, :-1]).mean())

    def peak_memory_gb(self) -> float:
        return timing.peak_memory_gb()


class Peer:
    """A sample of the questions, one after the other."""

    def __init__(self, plan: Plan):
        self._rows = {"mean_shift": plan.sampled(plan.sample), "agglomerative": plan.sampled(plan.sample_g)}
        correlations, self._gt_index = plan.correlations(), plan.gt_index()
        self._values = {name: correlations[rows].astype(np.float64) for name, rows in self._rows.items()}
        self._found: dict[str, np.ndarray] = {}

    def construct(self, name: str) -> float:
        """Seconds of a construction."""
        choose = {"mean_shift": scikit_mean_shift, "agglomerative": scikit_agglomerative}[name]
        choose(self._values[name][0])  # scikit-learn is imported and has its threads
        truths = self._gt_index[self._rows[name]]
        start = time.perf_counter()
        self._found[name] = np.array(
            [with_ground_truth(choose, *question) for question in zip(self._values[name], truths, strict=True)]
        )
        return time.perf_counter() - start

    def found(self, name: str) -> np.ndarray:
        return self._found[name]


def run(plan: Plan) -> dict[str, Any]:
    """Measures and compares everything; the keys of the line of results."""
    rows = {"mean_shift": plan.sampled(plan.sample), "agglomerative": plan.sampled(plan.sample_g)}
    with timing.Side(Ours, plan) as ours, timing.Side(Peer, plan) as peer:
        sides = {("ours", name): ours for name in ("sigma", *rows)} | {("peer", name): peer for name in rows}
        calls = {key: lambda key=key: sides[key].call("construct", key[1]) for key in sides}
        seconds = {key: min(values) for key, values in timing.in_turn(calls, plan.rounds).items()}
        different = {
            name: int((ours.call("found", name, rows[name]) != peer.call("found", name)).any(axis=1).sum())
            for name in rows
        }
        sizes = {name: ours.call("mean_size", name) for name in ("sigma", *rows)}
        memory, tied = ours.call("peak_memory_gb"), ours.call("tied_share")
    line: dict[str, Any] = {"unit": "seconds (the peers' of a sample, scaled to all questions)"}
    for name, mark in (("mean_shift", ""), ("agglomerative", "_g")):
        taken, loop = seconds["ours", name], seconds["peer", name] * plan.questions / len(rows[name])
        line |= {"ours" + mark: taken, "peer" + mark: loop, "speedup" + mark: loop / taken}
        line |= {"sample" + mark: len(rows[name]), "different" + mark: different[name]}
    return line | {
        "sigma_s": seconds["ours", "sigma"],
        "questions": plan.questions,
        "mean_sizes": {name: round(size, 2) for name, size in sizes.items()},
        "tied_share": tied,
        "peak_memory_gb": memory,
    }


def print_table(found: dict[str, Any]) -> None:
    """The same, to be read."""
    print(f"{'':<24}{'ours':>12}{'scikit-learn':>16}{'times':>9}{'sets differ':>14}")
    print(f"{'Sigma':<24}{found['sigma_s']:>10.2f} s")
    for name, mark in (("M, mean shift", ""), ("G, agglomerative", "_g")):
        ours, peer, times, different, sample = (
            found[key + mark] for key in ("ours", "peer", "speedup", "different", "sample")
        )
        print(f"{name:<24}{ours:>10.2f} s{peer:>14.0f} s{times:>9.0f}{different:>8} of {sample}")


def require_scikit_learn() -> None:
    """Ends the script with a line for the person where scikit-learn, the peer, is not installed."""
    if importlib.util.find_spec("sklearn") is None:
        sys.exit("error: the peer is scikit-learn, which is not installed: pip install -e .[bench]")


if __name__ == "__main__":
    require_scikit_learn()
    results = run(Plan())
    print_table(results)
    timing.print_line("reference_sets", results)
