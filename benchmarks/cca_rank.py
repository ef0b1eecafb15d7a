"""Scoring VisDial's candidates at full scale: `python benchmarks/cca_rank.py`.

What is timed (`ours`): `score_candidates`, from unit vectors of distinct questions and answers in memory to the
correlations of 1.23 million questions with 100 candidates each (300 numbers, float32, 350,000 distinct answers, drawn
as popular answers are: Zipf).

- `peer`: a NumPy loop over questions, the candidates' vectors gathered and multiplied, as one would write it.
- `gather`: gathering every candidate's vector once and doing nothing with it, a question at a time into one buffer:
  what any method that looks at the vectors must at least move. `over_gather` is our time over its.

The peer and the gathering are timed on every tenth question, times ten: their cost a question is the same for all.
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

from benchmarks import timing
from benchmarks.cca_fit import zipf


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is run; the defaults are the benchmark, smaller ones are for tests."""

    questions: int = 1_230_000
    distinct_questions: int = 400_000
    answers: int = 350_000
    candidates: int = 100
    dimension: int = 300
    share: int = 10
    rounds: int = 2


class Candidates:
    """Either side: the same made-up vectors and ids."""

    def __init__(self, plan: Plan):
        rng = np.random.default_rng(0)
        self._plan = plan
        self._questions, self._answers = (
            _unit(rng.standard_normal((count, plan.dimension), np.float32))
            for count in (plan.distinct_questions, plan.answers)
        )
        self._ids = rng.integers(0, plan.distinct_questions, plan.questions)
        drawn = zipf(plan.answers, plan.questions * plan.candidates, rng)
        self._options = drawn.astype(np.int32).reshape(plan.questions, plan.candidates)

    def ours(self) -> float:
        """Seconds of all questions."""
        from vatex_jax.cca.retrieval import correlations, score_candidates

        start = time.perf_counter()
        found = score_candidates(correlations, self._questions, self._ids, self._answers, self._options)
        seconds = time.perf_counter() - start
        self._found = found[:: self._plan.share]
        return seconds

    def loop(self) -> float:
        """Seconds of a share of the questions, one after the other."""
        rows = range(0, self._plan.questions, self._plan.share)
        found = np.empty((len(rows), self._plan.candidates), np.float32)
        start = time.perf_counter()
        for place, row in enumerate(rows):
            found[place] = self._answers[self._options[row]] @ self._questions[self._ids[row]]
        seconds = time.perf_counter() - start
        self._found = found
        return seconds

    def gather(self) -> float:
        """Seconds of moving the vectors of a share of the questions' candidates."""
        buffer = np.empty((self._plan.candidates, self._plan.dimension), np.float32)
        start = time.perf_counter()
        for row in range(0, self._plan.questions, self._plan.share):
            np.take(self._answers, self._options[row], axis=0, out=buffer, mode="clip")
        return time.perf_counter() - start

    def found(self) -> np.ndarray:
        """The scores of a share of the questions."""
        return self._found

    def peak_memory_gb(self) -> float:
        return timing.peak_memory_gb()


def _unit(rows: np.ndarray) -> np.ndarray:
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def run(plan: Plan) -> dict[str, Any]:
    """Measures and compares everything; the keys of the line of results."""
    with timing.Side(Candidates, plan) as ours:
        ours.call("ours")
        memory = ours.call("peak_memory_gb")
        with timing.Side(Candidates, plan) as peer:
            seconds = timing.in_turn(
                {"ours": lambda: ours.call("ours"), "loop": lambda: peer.call("loop"),
                 "gather": lambda: peer.call("gather")},
                plan.rounds,
            )  # fmt: skip
            difference = float(np.abs(ours.call("found") - peer.call("found")).max())
    best = {name: min(values) for name, values in seconds.items()}
    loop, gather = best["loop"] * plan.share, best["gather"] * plan.share
    return {
        "ours": best["ours"],
        "peer": loop,
        "unit": "seconds (the peer's and the gathering's of every tenth question, times ten)",
        "speedup": loop / best["ours"],
        "gather": gather,
        "over_gather": best["ours"] / gather,
        "questions": plan.questions,
        "largest_difference": difference,
        "peak_memory_gb": memory,
    }


if __name__ == "__main__":
    timing.print_line("cca_rank", run(Plan()))
