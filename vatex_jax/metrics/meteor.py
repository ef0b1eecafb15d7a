"""METEOR 1.5 (Denkowski and Lavie, 2014) by its own Java program, called as the COCO caption evaluation calls it.

The program speaks lines: `SCORE ||| reference ||| ... ||| hypothesis` is answered with the sentence's statistics (23
counts, of the reference that scores best), `EVAL ||| statistics ||| ...` with a score each and one for their sum. It
takes seconds to load its paraphrases, so one start serves a batch, and many lines are on their way at a time.

A line end or a `|||` inside a sentence would cut it in two and shift every later score: they are taken out, and each
reply is checked for being what was asked for.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from pycocoevalcap.meteor import meteor as coco_meteor

from vatex_jax.errors import DataError
from vatex_jax.metrics.java import LineProgram, jar_beside, one_line

OPTIONS = "-l en -norm"
"""The COCO code's options, in every language. `-norm` lower-cases, splits punctuation off, and splits Chinese into
characters, however it was segmented; stems, synonyms and paraphrases are English."""

_STATISTICS = 23
_BLOCK = 500  # statistics a line of EVAL


@dataclasses.dataclass(frozen=True)
class MeteorScores:
    """METEOR of a corpus (of the summed statistics, not the mean of the sentences) and of its sentences, 0-1."""

    corpus: float
    sentences: Float[np.ndarray, "n"]


class Meteor:
    """The running METEOR program, a context manager: `with Meteor() as meteor: meteor.score(...)`.

    The program starts on entry and has ended on exit, whatever happens in between.
    """

    def __init__(self) -> None:
        jar, paraphrases = (
            jar_beside(coco_meteor.__file__, name) for name in (coco_meteor.METEOR_JAR, "data/paraphrase-en.gz")
        )
        arguments = ["-jar", "-Xmx2G", jar, "-", "-", "-stdio", *OPTIONS.split()]
        # It would find these itself, but not in a folder whose name holds a space or an accent.
        self._program = LineProgram("METEOR", [*arguments, "-a", paraphrases])

    def __enter__(self) -> "Meteor":
        self._program.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._program.stop()

    @property
    def pid(self) -> int | None:
        """Process id of the program while it runs."""
        return self._program.pid

    def score(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> MeteorScores:
        """Scores each hypothesis against its references, of which the best counts, and all of them as a corpus.

        An empty hypothesis scores 0, and its reference counts in the corpus; the corpus of no sentence scores 0.

        Args:
          hypotheses: one sentence each, words separated by spaces.
          references: the references of each hypothesis, at least one.

        Raises:
          DataError: a hypothesis without references, or lists of different lengths.
          JavaError: the program is not running, died, or gave an answer that is none.
        """
        statistics = self._statistics(hypotheses, references)
        if not statistics:
            return MeteorScores(0.0, np.zeros(0))
        # The program's own sum is not that of the counts: sentences without a fault are treated apart.
        *sentences, corpus = self._evaluate(statistics)
        return MeteorScores(corpus, np.array(sentences))

    def sentences(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Float[np.ndarray, "n"]:
        """The sentences' scores of `score` alone, for any number of them, as of all (hypothesis, reference) pairs."""
        statistics = self._statistics(hypotheses, references)
        distinct, scores = list(dict.fromkeys(statistics)), {}
        for start in range(0, len(distinct), _BLOCK):
            block = distinct[start : start + _BLOCK]
            scores.update(zip(block, self._evaluate(block)[:-1], strict=True))
        return np.array([scores[reply] for reply in statistics], np.float64)

    def _statistics(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[str]:
        """The program's statistics of each sentence; equal ones are asked for once."""
        if len(hypotheses) != len(references):
            raise DataError(f"METEOR needs references for every hypothesis: {len(hypotheses)} and {len(references)}")
        lines = [_line(row, *pair) for row, pair in enumerate(zip(hypotheses, references, strict=True))]
        distinct = list(dict.fromkeys(lines))
        replies = dict(zip(distinct, self._program.exchange(distinct), strict=True))
        for reply in dict.fromkeys(replies.values()):
            self._numbers(reply, _STATISTICS)
        return [replies[line] for line in lines]

    def _evaluate(self, statistics: list[str]) -> list[float]:
        """The score of each sentence's statistics, and that of them all."""
        replies = self._program.ask(" ||| ".join(["EVAL", *statistics]), len(statistics) + 1)
        return [self._numbers(reply, 1)[0] for reply in replies]

    def _numbers(self, reply: str, count: int) -> list[float]:
        try:
            numbers = [float(word) for word in reply.split()]
        except ValueError:
            numbers = []
        if len(numbers) != count or not all(math.isfinite(number) for number in numbers):
            raise self._program.fail(f"answered {reply[:200]!r} where {count} numbers were asked for")
        return numbers


def _line(row: int, hypothesis: str, references: Sequence[str]) -> str:
    if not references:
        raise DataError(f"caption {row} ({hypothesis!r}) has no reference to score against")
    return " ||| ".join(["SCORE", *map(_sentence, references), _sentence(hypothesis)])


def _sentence(text: str) -> str:
    """The text without separators, which the COCO code takes out of hypotheses the same way, and stray spaces."""
    return " ".join(one_line(text).replace("|||", "").split())
