"""The COCO caption metrics, BLEU-1 to BLEU-4, METEOR, ROUGE-L and CIDEr, by `pycocoevalcap`, scorer by scorer.

English passes the COCO code's PTB tokeniser. Chinese is cut into words or characters by the library's own tokenizer,
and punctuation is removed from hypotheses and references alike: the same sentences score very differently under
another segmenter, so no number goes without its `signature`.

All values are 0-100 as the VaTeX tables print them: `pycocoevalcap`'s own times 100. Its CIDEr is CIDEr-D (Vedantam et
al., 2015), ten times the mean similarity, so that a perfect CIDEr is 1000.
"""

import contextlib
import dataclasses
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from importlib.metadata import version

import numpy as np
from jaxtyping import Float
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

from vatex_jax.errors import DataError
from vatex_jax.metrics import meteor, ptb
from vatex_jax.metrics.java import one_line
from vatex_jax.text.tokenization import make_tokenizer

METRICS = ("bleu1", "bleu2", "bleu3", "bleu4", "meteor", "rouge_l", "cider")

_ASCII_SIGNS = frozenset("$+<=>^`|~")  # what people call punctuation besides Unicode's categories P


@dataclasses.dataclass(frozen=True)
class CocoScores:
    """Scores of a set of captions.

    Attributes:
      corpus: a value for each of `METRICS`, 0-100. BLEU and METEOR are of the corpus' summed counts, ROUGE-L and CIDEr
        means over the captions.
      captions: the same names, a value a caption, in the order given.
      missing: hypotheses that were None.
      empty: other hypotheses without a word left, for example of punctuation alone.
      signature: of these scores, as `signature` returns it.
    """

    corpus: dict[str, float]
    captions: dict[str, Float[np.ndarray, "n"]]
    missing: int
    empty: int
    signature: dict[str, str]


def coco_scores(
    hypotheses: Sequence[str | None],
    references: Sequence[Sequence[str]],
    language: str,
    chinese: str = "words",
    running: meteor.Meteor | None = None,
) -> CocoScores:
    """Scores captions against their references.

    A missing or empty hypothesis takes part as the empty sentence that it is: worth 0 in every metric, with its
    references in the corpus' lengths, document frequencies and means. One warning tells how many there were.

    Args:
      hypotheses: one caption a video, as text; None where there is none.
      references: of each video, as text; at least one that is not empty.
      language: `en` or `zh`.
      chinese: how Chinese is cut, `words` or `characters`.
      running: a running METEOR program to use, so that several calls share its start; by default one is started.

    Returns:
      The scores; all 0 where there is no caption to score.

    Raises:
      DataError: a caption has no reference, or the lists differ in length.
      ConfigError: an unknown language or unit.
      JavaError: a Java program (METEOR, the PTB tokeniser) fails.
    """
    return coco_scores_of_sets([hypotheses], references, language, chinese, running)[0]


def coco_scores_of_sets(
    sets: Sequence[Sequence[str | None]],
    references: Sequence[Sequence[str]],
    language: str,
    chinese: str = "words",
    running: meteor.Meteor | None = None,
) -> list[CocoScores]:
    """`coco_scores` of several sets of captions of the same videos, whose references are tokenised once."""
    for hypotheses in sets:
        _check(hypotheses, references)
    signed = signature(language, chinese, _counts(references))
    if not references:
        nothing = {name: np.zeros(0) for name in METRICS}
        return [CocoScores(dict.fromkeys(METRICS, 0.0), nothing, 0, 0, signed) for _ in sets]
    with meteor.Meteor() if running is None else contextlib.nullcontext(running) as program:  # loads while others count
        lines, several = _tokenized(sets, references, language, chinese)
        return [_of_set(hypotheses, cut, several, program, signed) for hypotheses, cut in zip(sets, lines, strict=True)]


def _of_set(
    hypotheses: Sequence[str | None],
    lines: list[str],
    several: list[list[str]],
    program: meteor.Meteor,
    signed: dict[str, str],
) -> CocoScores:
    corpus, captions = _all_metrics(lines, several, program)
    wordless = np.array([not line.split() for line in lines])
    missing = sum(hypothesis is None for hypothesis in hypotheses)
    empty = int(wordless.sum()) - missing
    if missing or empty:
        told = [f"{count} {what}" for count, what in ((missing, "missing"), (empty, "empty")) if count]
        warnings.warn(f"Of {len(lines)} captions {' and '.join(told)}: worth 0.", stacklevel=4)
    scored = {name: np.where(wordless, 0.0, 100.0 * values) for name, values in captions.items()}
    percent = {name: 100.0 * value for name, value in corpus.items()}
    # ROUGE-L takes two empty sentences for equal ones; its mean must not.
    percent["rouge_l"] = float(scored["rouge_l"].mean())
    return CocoScores(percent, scored, missing, empty, signed)


def cider(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
) -> tuple[float, Float[np.ndarray, "n"]]:
    """CIDEr (0-100 scale) of captions that are tokens already, such as validation's: no Java.

    On the tokens that `coco_scores` makes it is its CIDEr; on others, such as our English tokens with their
    punctuation, it is a measure to choose checkpoints by, not one to report. The document frequencies are those of
    these references; with a single caption every n-gram is in all documents, and CIDEr is 0 whatever it says.

    Args:
      hypotheses: the tokens of a caption each; may be empty, and scores 0 then.
      references: the references' tokens of each caption, at least one reference a caption.

    Returns:
      The mean over captions, and the value of each. 0 where there is no caption.

    Raises:
      DataError: a caption has no reference, or the lists differ in length.
    """
    lines = [" ".join(tokens) for tokens in hypotheses]
    several = [[" ".join(tokens) for tokens in tokens_of_all] for tokens_of_all in references]
    _check(lines, several)
    if not lines:
        return 0.0, np.zeros(0)
    corpus, captions = Cider().compute_score(*_dictionaries(lines, several))
    return 100.0 * float(corpus), 100.0 * captions


def without_punctuation(tokens: Iterable[str]) -> list[str]:
    """Returns the tokens that hold more than punctuation, ASCII or full-width or of Unicode's categories P."""
    return [token for token in tokens if not all(map(_is_punctuation, token))]


def signature(language: str, chinese: str = "words", references: str = "var") -> dict[str, str]:
    """Returns what a reader must know to compare scores, in the form of `bleu.signature`.

    Args:
      language: `en` or `zh`.
      chinese: how Chinese is cut, `words` or `characters`.
      references: references a caption, for example `10`, or `var` where the number varies.

    Returns:
      `tokeniser`, `segmenter` (the rule and its version), and a line for `bleu`, `meteor`, `rouge_l` and `cider`.

    Raises:
      ConfigError: an unknown language or unit.
    """
    tokenizer = make_tokenizer(language, chinese)
    tokeniser = ptb.SIGNATURE if language == "en" else f"{tokenizer.signature}-nopunct"
    engine = f"version:pycocoevalcap-{version('pycocoevalcap')}"
    units = "|units:characters" if language == "zh" else ""  # -norm splits Chinese, however it was segmented
    common = f"nrefs:{references}|tok:ours"
    return {
        "tokeniser": tokeniser,
        "segmenter": tokeniser.partition(":")[2],
        "bleu": f"{common}|smooth:1e-15/1e-9|reflen:closest|{engine}",
        "meteor": f"{common}|meteor-1.5 {meteor.OPTIONS}{units}|{engine}",
        "rouge_l": f"{common}|beta:1.2|{engine}",
        "cider": f"{common}|cider-d|n:4|sigma:6|df:these-references|{engine}",
    }


def _all_metrics(
    lines: list[str], several: list[list[str]], running: meteor.Meteor
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Every metric of the corpus and of each caption, as pycocoevalcap scales them."""
    truths, results = _dictionaries(lines, several)
    bleu, bleu_captions = Bleu(4).compute_score(truths, results, verbose=0)
    both = {f"bleu{n}": (bleu[n - 1], bleu_captions[n - 1]) for n in range(1, 5)}
    both["rouge_l"] = Rouge().compute_score(truths, results)
    both["cider"] = Cider().compute_score(truths, results)
    scores = running.score(lines, several)
    both["meteor"] = (scores.corpus, scores.sentences)
    corpus = {name: float(both[name][0]) for name in METRICS}
    return corpus, {name: np.asarray(both[name][1], np.float64) for name in METRICS}


def _dictionaries(lines: list[str], several: list[list[str]]) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """References and hypotheses as pycocoevalcap's scorers take them."""
    return dict(enumerate(several)), {row: [line] for row, line in enumerate(lines)}


def _tokenized(
    sets: Sequence[Sequence[str | None]], references: Sequence[Sequence[str]], language: str, chinese: str
) -> tuple[list[list[str]], list[list[str]]]:
    """Each set and the references as tokens joined by spaces, without punctuation."""
    sides = [[reference for several in references for reference in several]]
    sides += [[hypothesis or "" for hypothesis in hypotheses] for hypotheses in sets]
    if language == "en":
        # The tokeniser looks ahead past a line's end; an empty caption keeps the sides apart.
        cut = iter(ptb.ptb_tokenize([text for side in sides for text in (*side, "")]))
        sides = [[next(cut) for _ in (*side, "")][:-1] for side in sides]
    else:
        tokenizer = make_tokenizer(language, chinese)
        sides = [[" ".join(without_punctuation(tokenizer.tokenize(one_line(text)))) for text in side] for side in sides]
    rest = iter(sides[0])
    lines = [[next(rest) for _ in several] for several in references]
    for row, several in enumerate(lines):
        if not any(line.split() for line in several):
            raise DataError(f"caption {row}: no reference holds a word, but {list(references[row])!r}")
    return sides[1:], lines


def _check(hypotheses: Sequence[object], references: Sequence[Sequence[str]]) -> None:
    if len(hypotheses) != len(references):
        raise DataError(f"captions need references each: {len(hypotheses)} captions, {len(references)} references")
    for row, several in enumerate(references):
        if not several:
            raise DataError(f"caption {row} ({hypotheses[row]!r}) has no reference to score against")


def _counts(references: Sequence[Sequence[str]]) -> str:
    """References a caption, for the signature."""
    counts = {len(several) for several in references}
    return str(*counts) if len(counts) == 1 else "var"


def _is_punctuation(character: str) -> bool:
    return all(
        unicodedata.category(part).startswith("P") or part in _ASCII_SIGNS
        for part in unicodedata.normalize("NFKC", character)
    )
