"""Writing 1.23 million reference sets: `python benchmarks/release.py`.

What is timed: `reference_sets.release.write` of Sigma's sets of made-up correlations (as in reference_sets.py), with
answers of one to seven words out of 350,000 and questions of six, streamed into one gzipped file in the folder for
temporary files (`ours`, seconds) and into a plain one (`plain`); then `release.read` of the gzipped one (`read`), whose
hash and every record are checked. The peer (`peer`) is the standard library's `json.dump` of a list of all records, as
a script would write them, through `gzip.open` at the same level; it is timed on a sample and scaled.
"""

import collections
import dataclasses
import gzip
import json
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

if __name__ in ("__main__", "__mp_main__"):
    # Run as a script, Python looks for modules in this folder; they are found from the one above.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

import numpy as np

from benchmarks import reference_sets, timing
from vatex_jax.reference_sets import clusters, release

WORDS = 8_000


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is run; the defaults are the benchmark, smaller ones are for tests."""

    questions: int = 1_230_000
    answers: int = 350_000
    sample: int = 40_000


class Sets:
    """Made-up questions with their candidates and Sigma's sets."""

    def __init__(self, plan: Plan):
        made = reference_sets.Plan(questions=plan.questions)
        rng = np.random.default_rng(3)
        self._gt_index = made.gt_index()
        self._members = clusters.sigma(made.correlations(), self._gt_index)
        self._options = rng.integers(0, plan.answers, self._members.shape, dtype=np.int32)
        words = np.array([f"word{number}" for number in range(WORDS)])
        lengths = rng.integers(1, 8, plan.answers)
        cut = np.split(words[rng.integers(0, WORDS, lengths.sum())], np.cumsum(lengths)[:-1])
        self._answers = np.array([" ".join(part) for part in cut], object)
        self._questions = words[rng.integers(0, WORDS, (plan.questions, 6))]

    def first(self, count: int) -> Iterator[release.ReferenceSet]:
        """The sets of the first so many questions, ten a dialogue."""
        for number in range(count):
            members, options = self._members[number], self._options[number]
            yield release.ReferenceSet(
                image_id=number // 10,
                round=number % 10,
                members=members,
                references=tuple(self._answers[options[members]]),
                question=" ".join(self._questions[number]),
                answer=self._answers[options[self._gt_index[number]]],
            )


def as_a_script_would(path: pathlib.Path, sets: Iterator[release.ReferenceSet]) -> None:
    """Writes all records by one `json.dump`."""
    records = [
        {
            "image_id": one.image_id,
            "round_id": one.round,
            "in_cluster_idxs": one.members.astype(int).tolist(),
            "refs": list(one.references),
            "question": one.question,
            "gt_answer": one.answer,
        }
        for one in sets
    ]
    with gzip.open(path, "wt", compresslevel=6, encoding="utf-8") as file:
        json.dump(records, file)


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def run(plan: Plan) -> dict[str, Any]:
    """Measures everything; the keys of the line of results."""
    sets, sample = Sets(plan), min(plan.sample, plan.questions)
    with tempfile.TemporaryDirectory() as folder:
        packed, plain = pathlib.Path(folder, "sets.json.gz"), pathlib.Path(folder, "sets.json")
        seconds = {"ours": _seconds(lambda: release.write(packed, sets.first(plan.questions), {}))}
        memory = timing.peak_memory_gb()
        seconds["plain"] = _seconds(lambda: release.write(plain, sets.first(plan.questions), {}))
        sizes = {"gigabytes": packed.stat().st_size / 1e9, "plain_gigabytes": plain.stat().st_size / 1e9}
        plain.unlink()
        seconds["read"] = _seconds(lambda: collections.deque(release.read(packed), maxlen=0))  # counted by its manifest
        peer = _seconds(lambda: as_a_script_would(pathlib.Path(folder, "peer.json.gz"), sets.first(sample)))
    seconds["peer"] = peer * plan.questions / sample
    return {
        "unit": "s (the peer's of a sample, scaled to all questions)",
        **seconds,
        "speedup": seconds["peer"] / seconds["ours"],
        "questions": plan.questions,
        "sample": sample,
        **sizes,
        "peak_memory_gb": memory,
    }


def main() -> None:
    results = run(Plan())
    print(
        f"{results['questions']:,} reference sets: gzipped {results['ours']:.0f} s (json.dump {results['peer']:.0f}), "
        f"plain {results['plain']:.0f} s, read back {results['read']:.0f} s; {results['gigabytes']:.2f} GB gzipped, "
        f"{results['plain_gigabytes']:.2f} GB plain"
    )
    timing.print_line("release", results)


if __name__ == "__main__":
    main()
