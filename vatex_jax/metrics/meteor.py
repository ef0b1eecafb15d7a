"""METEOR 1.5 (Denkowski and Lavie, 2014) by its own Java program, called as the COCO caption evaluation calls it.

The program speaks lines: `SCORE ||| reference ||| ... ||| hypothesis` is answered with the sentence's statistics (23
counts, of the reference that scores best), `EVAL ||| statistics ||| ...` with a score each and one for their sum. It
takes seconds to load its paraphrases, so one start serves a batch, and many lines are on their way at a time.

A line end or a `|||` inside a sentence would cut it in two and shift every later score: they are taken out, and each
reply is checked for being what was asked for.
"""

import contextlib
import dataclasses
import functools
import math
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from jaxtyping import Float
from pycocoevalcap.meteor import meteor as coco_meteor

from vatex_jax.errors import DataError
from vatex_jax.metrics.java import LineProgram, jar_beside, one_line

OPTIONS = "-l en -norm"
"""The COCO code's options, in every language. `-norm` lower-cases, splits punctuation off, and splits Chinese into
characters, however it was segmented; stems, synonyms and paraphrases are English."""

MOST_PROGRAMS = 4
"""Side by side; each may take two gigabytes of memory, and takes about one."""

_STATISTICS = 23
_BLOCK = 500  # lines asked for at once, and statistics a line of EVAL
_WORTH = 50_000  # lines that take much longer than the start of another program

Answer = TypeVar("Answer")


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
        arguments = ["-XX:+UseSerialGC", "-jar", "-Xmx2G", jar, "-", "-", "-stdio", *OPTIONS.split()]
        # It would find these itself, but not in a folder whose name holds a space or an accent.
        self._arguments = [*arguments, "-a", paraphrases]
        self._programs = [LineProgram("METEOR", self._arguments)]

    def __enter__(self) -> "Meteor":
        self._programs[0].start()
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.ExitStack() as stack:  # an interruption of one stop leaves none running
            for program in self._programs:
                stack.callback(program.stop)
        del self._programs[1:]

    @property
    def pid(self) -> int | None:
        """Process id of the program while it runs; of several, the first's."""
        return self._programs[0].pid

    def expect(self, lines: int) -> None:
        """Starts more programs where `sentences` will be given so many lines, and there are processors for them."""
        wanted = min(MOST_PROGRAMS, _processors(), 1 + lines // _WORTH)
        while self.pid is not None and len(self._programs) < wanted:
            program = LineProgram("METEOR", self._arguments)
            program.start()
            self._programs.append(program)

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
        *sentences, corpus = self._evaluate(self._programs[0], statistics)
        return MeteorScores(corpus, np.array(sentences))

    def sentences(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Float[np.ndarray, "n"]:
        """The sentences' scores of `score` alone, for any number of them, as of all (hypothesis, reference) pairs."""
        lines = _lines(hypotheses, references)
        distinct = list(dict.fromkeys(lines))
        blocks = [distinct[start : start + _BLOCK] for start in range(0, len(distinct), _BLOCK)]
        found = self._side_by_side(self._scores, blocks)
        scores = {line: score for block, own in zip(blocks, found, strict=True)
                  for line, score in zip(block, own, strict=True)}  # fmt: skip
        return np.array([scores[line] for line in lines], np.float64)

    def _statistics(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[str]:
        """The program's statistics of each sentence; equal ones are asked for once."""
        lines = _lines(hypotheses, references)
        distinct = list(dict.fromkeys(lines))
        replies = dict(zip(distinct, self._asked(self._programs[0], distinct), strict=True))
        return [replies[line] for line in lines]

    def _asked(self, program: LineProgram, lines: list[str]) -> list[str]:
        """The checked statistics of each line."""
        replies = program.exchange(lines)
        for reply in dict.fromkeys(replies):
            self._numbers(program, reply, _STATISTICS)
        return replies

    def _scores(self, program: LineProgram, lines: list[str]) -> list[float]:
        """The score of each line's sentence."""
        replies = self._asked(program, lines)
        distinct = list(dict.fromkeys(replies))
        scores = dict(zip(distinct, self._evaluate(program, distinct)[:-1], strict=True))
        return [scores[reply] for reply in replies]

    def _evaluate(self, program: LineProgram, statistics: list[str]) -> list[float]:
        """The score of each sentence's statistics, and that of them all."""
        replies = program.ask(" ||| ".join(["EVAL", *statistics]), len(statistics) + 1)
        return [self._numbers(program, reply, 1)[0] for reply in replies]

    def _numbers(self, program: LineProgram, reply: str, count: int) -> list[float]:
        try:
            numbers = [float(word) for word in reply.split()]
        except ValueError:
            numbers = []
        if len(numbers) != count or not all(math.isfinite(number) for number in numbers):
            raise program.fail(f"answered {reply[:200]!r} where {count} numbers were asked for")
        return numbers

    def _side_by_side(
        self, act: Callable[[LineProgram, list[str]], Answer], blocks: Sequence[list[str]]
    ) -> list[Answer]:
        """`act` on each block, by whichever program is free; a failure or an interruption ends them all."""
        if len(self._programs) == 1 or len(blocks) == 1:
            return [act(self._programs[0], block) for block in blocks]
        found: list[Answer | None] = [None] * len(blocks)
        waiting = deque(enumerate(blocks))

        def work(program: LineProgram) -> None:
            while True:
                try:
                    number, block = waiting.popleft()
                except IndexError:
                    return
                try:
                    found[number] = act(program, block)
                except BaseException:
                    waiting.clear()
                    raise

        with ThreadPoolExecutor(len(self._programs)) as pool:
            try:
                for done in [pool.submit(work, program) for program in self._programs]:
                    done.result()
            except BaseException:
                for program in self._programs:  # threads that wait for one find that it has ended
                    program.kill()
                raise
        return found


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _lines(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[str]:
    if len(hypotheses) != len(references):
        raise DataError(f"METEOR needs references for every hypothesis: {len(hypotheses)} and {len(references)}")
    return [_line(row, *pair) for row, pair in enumerate(zip(hypotheses, references, strict=True))]


def _line(row: int, hypothesis: str, references: Sequence[str]) -> str:
    if not references:
        raise DataError(f"caption {row} ({hypothesis!r}) has no reference to score against")
    return " ||| ".join(["SCORE", *map(_sentence, references), _sentence(hypothesis)])


@functools.lru_cache(maxsize=100_000)
def _sentence(text: str) -> str:
    """The text without separators, which the COCO code takes out of hypotheses the same way, and stray spaces."""
    return " ".join(one_line(text).replace("|||", "").split())
