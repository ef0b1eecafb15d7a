"""Corpus analysis at VaTeX's size: `python benchmarks/corpus.py`.

What is timed:

- The analysis of 412,690 captions in a language, ten a video, from a file in VaTeX's layout to the figures, as
  `configs/corpus.py` makes it without tags: reading, cutting into words, lengths, duplicates, 1- to 4-grams, the
  quality rules (`whole_en`, `whole_zh`; `whole` is the longer of the two).
- n-grams alone (`ours`): `DistinctNgrams` over the English captions' words, in chunks. The peer (`peer`) is the plain
  recount: a `Counter` a length, every n-gram a tuple. Both count all lengths; `memory` and `peer_memory` are what their
  processes grew by meanwhile, in GB.
- Tags (`tag_words_per_second`): our tagger with its file of what was tagged, empty, over 8,000 captions; the peer
  (`tagger_words_per_second`) is the same spaCy pipeline over the same texts, `pipe` of the texts alone.

Captions are made up: words drawn in proportion to 1 / (rank + 4) from 35,589 (English) and from jieba's dictionary
(Chinese), lengths as VaTeX's, 15.2 and 14.0 words on average. `limit` names the largest part of a profile of `whole_en`
on a twentieth: what to make faster first.
"""

import cProfile
import dataclasses
import json
import os
import pathlib
import pstats
import resource
import sys
import tempfile
import time
from collections import Counter
from typing import Any

if __name__ in ("__main__", "__mp_main__"):
    # Run as a script, Python looks for modules in this folder; they are found from the one above.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

import numpy as np

from benchmarks import timing
from benchmarks.caption_metrics import chinese_words, english_words

OFFSET = 4.0
MEAN_WORDS = {"en": 15.2, "zh": 14.0}
CHUNK = 10_000  # captions that n-grams are counted of at once


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is run; the defaults are the benchmark, smaller ones are for tests."""

    captions: int = 412_690
    a_video: int = 10
    vocabulary: int = 35_589
    tagged: int = 8_000
    rounds: int = 2

    def texts(self, language: str, count: int | None = None) -> list[str]:
        """Made-up captions."""
        rng = np.random.default_rng(0 if language == "en" else 1)
        words = np.array({"en": english_words, "zh": chinese_words}[language](self.vocabulary), object)
        count = count or self.captions
        lengths = np.maximum(3, rng.poisson(MEAN_WORDS[language], count))
        weights = 1 / (np.arange(len(words)) + OFFSET)
        drawn = words[rng.choice(len(words), lengths.sum(), p=weights / weights.sum())]
        ends = np.cumsum(lengths)
        glue, stop = (" ", ".") if language == "en" else ("", "。")
        return [glue.join(drawn[end - length : end]) + stop for end, length in zip(ends, lengths, strict=True)]


class Ours:
    """Our analysis."""

    def __init__(self, plan: Plan):
        self._plan = plan

    def whole(self, language: str, profiled: bool = False) -> tuple[float, str]:
        """Seconds from the file to the figures, and the function of ours that takes longest."""
        from configs import corpus as corpus_config
        from vatex_jax.experiments import corpus

        config = corpus_config.get_config()
        config.tags = False
        config.eval.figures = False
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "made_up.json")
            self._write(path, language, self._plan.captions // (20 if profiled else 1))
            config.corpora = f"made_up={path}"
            profile = cProfile.Profile()
            start = time.perf_counter()
            with open(os.devnull, "w") as nowhere:
                said, sys.stdout = sys.stdout, nowhere
                try:
                    if profiled:
                        profile.enable()
                    corpus.run(config, pathlib.Path(folder, "run"), "train_and_evaluate")
                    profile.disable()
                finally:
                    sys.stdout = said
            seconds = time.perf_counter() - start
        return seconds, _slowest(profile) if profiled else ""

    def ngrams(self) -> tuple[float, float, list[int]]:
        """Seconds, GB and counts of n-grams alone."""
        from vatex_jax.corpus.ngrams import ORDERS, DistinctNgrams

        tokens = [text.split() for text in self._plan.texts("en")]
        before, start, found = _memory(), time.perf_counter(), DistinctNgrams()
        for first in range(0, len(tokens), CHUNK):
            found.add(tokens[first : first + CHUNK])
        counts = [found.count(n) for n in ORDERS]
        return time.perf_counter() - start, _memory() - before, counts

    def tags(self) -> float:
        """Words a second, nothing of them known."""
        from vatex_jax.text.tagging import open_tagger
        from vatex_jax.text.tokenization import make_tokenizer

        texts, tokenizer = self._plan.texts("en", self._plan.tagged), make_tokenizer("en")
        with tempfile.TemporaryDirectory() as folder:
            tagger = open_tagger("en", cache=folder)
            list(tagger.tag([["warm"]]))
            start = time.perf_counter()
            words = sum(map(len, tagger.tag([tokenizer.cased(text) for text in texts])))
            return words / (time.perf_counter() - start)

    def _write(self, path: pathlib.Path, language: str, count: int) -> None:
        texts, step = self._plan.texts(language, count), self._plan.a_video
        field = {"en": "enCap", "zh": "chCap"}[language]
        records = [{"videoID": f"v{at}", field: texts[at : at + step]} for at in range(0, len(texts), step)]
        path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")


class Peer:
    """The plain recount, and the tagger by itself."""

    def __init__(self, plan: Plan):
        self._plan = plan

    def ngrams(self) -> tuple[float, float, list[int]]:
        """Seconds, GB and counts."""
        tokens = [text.split() for text in self._plan.texts("en")]
        before, start = _memory(), time.perf_counter()
        counters: list[Counter] = [Counter() for _ in range(4)]
        for words in tokens:
            for n, counter in enumerate(counters, 1):
                counter.update(tuple(words[at : at + n]) for at in range(len(words) - n + 1))
        return time.perf_counter() - start, _memory() - before, [len(counter) for counter in counters]

    def tags(self) -> float:
        """Words a second."""
        import spacy

        from vatex_jax.text.tagging import ENGLISH_PIPELINES

        name = next(name for name in ENGLISH_PIPELINES if spacy.util.is_package(name))
        pipeline = spacy.load(name, exclude=["parser", "ner", "senter"])
        texts = self._plan.texts("en", self._plan.tagged)
        list(pipeline.pipe(["warm"]))
        start = time.perf_counter()
        words = sum(map(len, pipeline.pipe(texts, batch_size=256)))
        return words / (time.perf_counter() - start)


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def _slowest(profile: cProfile.Profile) -> str:
    """The function of ours, but for those that frame the whole, that takes longest with its calls."""
    stats = pstats.Stats(profile).stats
    whole = max(cumulative for _, _, _, cumulative, _ in stats.values())
    parts = {
        f"{pathlib.Path(file).name}:{name}": cumulative
        for (file, _, name), (_, _, _, cumulative, _) in stats.items()
        if "vatex_jax" in file and cumulative < 0.6 * whole
    }
    name = max(parts, key=parts.__getitem__)
    return f"{name}, {100 * parts[name] / whole:.0f}%"


def run(plan: Plan) -> dict[str, Any]:
    """Measures everything; the keys of the line of results."""
    with timing.Side(Ours, plan) as ours, timing.Side(Peer, plan) as peer:
        counted = [(ours.call("ngrams"), peer.call("ngrams")) for _ in range(plan.rounds)]
        if any(mine[2] != theirs[2] for mine, theirs in counted):
            raise RuntimeError(f"The sides count differently: {counted[0][0][2]} and {counted[0][1][2]}.")
        rates = [(ours.call("tags"), peer.call("tags")) for _ in range(plan.rounds)]
        whole = {language: ours.call("whole", language)[0] for language in MEAN_WORDS}
        limit = ours.call("whole", "en", True)[1]
    mine, theirs = (min(pair[side][0] for pair in counted) for side in (0, 1))
    tag, tagger = (max(pair[side] for pair in rates) for side in (0, 1))
    return {
        "unit": "seconds",
        "ours": mine,
        "peer": theirs,
        "speedup": theirs / mine,
        "memory": counted[0][0][1],  # later rounds find the memory there
        "peer_memory": counted[0][1][1],
        "whole": max(whole.values()),
        **{f"whole_{language}": seconds for language, seconds in whole.items()},
        "tag_words_per_second": tag,
        "tagger_words_per_second": tagger,
        "tag_share": tag / tagger,
        "captions": plan.captions,
        "fourgrams": counted[0][0][2][3],
        "limit": limit,
    }


def table(found: dict[str, Any]) -> str:
    """The same, to be read."""
    return "\n".join(
        [
            f"{found['captions']:,} captions without tags: English {found['whole_en']:.0f} s, "
            f"Chinese {found['whole_zh']:.0f} s; most in {found['limit']}",
            f"n-grams: {found['ours']:.1f} s and {found['memory']:.2f} GB, plain Counter {found['peer']:.1f} s and "
            f"{found['peer_memory']:.2f} GB: {found['speedup']:.1f}x",
            f"tags: {found['tag_words_per_second']:,.0f} words/s, the tagger alone "
            f"{found['tagger_words_per_second']:,.0f}: {found['tag_share']:.2f}",
        ]
    )


if __name__ == "__main__":
    results = run(Plan())
    print(table(results))
    timing.print_line("corpus", results)
