"""Corpus BLEU and chrF of tokenised text, with sacrebleu as the engine.

BLEU (Papineni et al., 2002) is counted on the tokens given, in order 1 to 4, without smoothing and without any second
tokenisation: what a token is depends on the tokeniser alone, so a score means nothing without its `signature`.

A sentence's sufficient statistics are ten counts, in sacrebleu's order: hypothesis length, length of the reference
closest in length (the shorter at a tie), matched n-grams of order 1-4, hypothesis n-grams of order 1-4. Corpus BLEU is
a function of their sums, which is what makes the bootstrap of `significance` cheap.
"""

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np
from jaxtyping import Float, Int, Real
from sacrebleu.metrics import BLEU, CHRF

from vatex_jax.errors import DataError

ORDERS = (1, 2, 3, 4)
STATISTICS = 2 + 2 * len(ORDERS)

Tokens = Sequence[str]


def corpus_scores(hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> dict[str, float]:
    """Returns BLEU-1 to BLEU-4, n-gram precisions, chrF and lengths of a corpus.

    `bleuN` is cumulative: the brevity penalty times the geometric mean of the precisions of order 1 to N; it is 0 where
    any of these has no match. `chrf` is sacrebleu's chrF2 (characters of order 1-6, no words) of the tokens joined by
    spaces; chrF drops white space, so it equals the chrF of the detokenised text, English or Chinese. Both sides have
    passed the tokeniser, hence share its case. With several references BLEU clips counts over all of them, chrF takes
    the best. An empty hypothesis is scored as such: no match, and its reference counts towards the brevity penalty.

    Args:
      hypotheses: one list of tokens a sentence; may be empty.
      references: the references of each sentence, at least one, of any number.

    Returns:
      `bleu1`-`bleu4`, `ngram_precision1`-`4` and `chrf` (0-100), `brevity_penalty` (0-1), `hypothesis_length` and
      `reference_length` (tokens of the corpus), `empty_hypotheses` and `sentences` (counts). All 0, with a brevity
      penalty of 1, for a corpus of no sentences.

    Raises:
      DataError: for a token holding white space, or a sentence without references.
    """
    statistics = sufficient_statistics(hypotheses, references)
    return {
        **scores_from_statistics(statistics),
        "chrf": _corpus_chrf(hypotheses, references),
        "empty_hypotheses": float(np.sum(statistics[:, 0] == 0)),
        "sentences": float(len(statistics)),
    }


def scores_from_statistics(statistics: Int[np.ndarray, "n 10"]) -> dict[str, float]:
    """Returns what `corpus_scores` can say from the counts alone: BLEU, precisions, brevity penalty and lengths."""
    total = [int(count) for count in statistics.sum(axis=0)]
    lengths = {"sys_len": total[0], "ref_len": total[1]}
    matched, counted = total[2:6], total[6:]
    by_order = {
        n: BLEU.compute_bleu(matched[:n], counted[:n], **lengths, smooth_method="none", max_ngram_order=n)
        for n in ORDERS
    }
    return {
        **{f"bleu{n}": float(by_order[n].score) for n in ORDERS},
        **{f"ngram_precision{n}": float(by_order[4].precisions[n - 1]) for n in ORDERS},
        "brevity_penalty": float(by_order[4].bp),
        "hypothesis_length": float(total[0]),
        "reference_length": float(total[1]),
    }


def sufficient_statistics(
    hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]
) -> Int[np.ndarray, "n 10"]:
    """Returns the ten counts of each sentence (see the head of this file).

    Raises:
      DataError: for a token holding white space, a sentence without references, or lists of different lengths.
    """
    if len(hypotheses) != len(references):
        raise DataError(f"BLEU needs references for every hypothesis: {len(hypotheses)} hypotheses, {len(references)}")
    engine = BLEU(tokenize="none", smooth_method="none", effective_order=True)  # effective_order: counts do not use it
    statistics = np.zeros((len(hypotheses), STATISTICS), np.int64)
    for row, (hypothesis, several) in enumerate(zip(hypotheses, references, strict=True)):
        if not several:
            raise DataError(f"sentence {row} has no reference to score against")
        lines = [_line(reference, f"reference of sentence {row}") for reference in several]
        score = engine.sentence_score(_line(hypothesis, f"hypothesis {row}"), lines)
        statistics[row] = [score.sys_len, score.ref_len, *score.counts, *score.totals]
    return statistics


def bleu_from_statistics(summed: Real[np.ndarray, "*batch 10"], order: int = 4) -> Float[np.ndarray, "*batch"]:
    """Returns BLEU (0-100, no smoothing) for statistics already summed over the sentences of a corpus.

    One vectorised pass for many corpora, such as bootstrap samples; `bleu_from_statistics(statistics.sum(axis=0))` is
    the BLEU of one.
    """
    hypothesis, reference = summed[..., 0].astype(np.float64), summed[..., 1].astype(np.float64)
    matched, counted = summed[..., 2 : 2 + order], summed[..., 6 : 6 + order]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_penalty = np.where(hypothesis < reference, 1.0 - reference / hypothesis, 0.0)
        log_precision = np.log(matched / counted).mean(axis=-1)
    # Without a match at some order (which covers empty corpora) BLEU is 0, whatever the logarithms above came to.
    return np.asarray(np.where(np.all(matched > 0, axis=-1), 100.0 * np.exp(log_penalty + log_precision), 0.0))


def signature(tokeniser: str, references: str = "1") -> dict[str, str]:
    """Returns what a reader must know to compare scores.

    Args:
      tokeniser: the target tokeniser's signature, for example `zh:jieba-0.42.1` or `en:vatex-jax-1-lower`.
      references: references a sentence, for example `1`, or `var` where the number varies.

    Returns:
      `tokeniser` (language and rule), `segmenter` (the rule with its version, what follows the language), `bleu` and
      `chrf` (settings and versions as sacrebleu writes them).
    """
    engine = f"version:{version('sacrebleu')}"
    return {
        "tokeniser": tokeniser,
        "segmenter": tokeniser.partition(":")[2] or tokeniser,
        "bleu": f"nrefs:{references}|case:as-tokenised|eff:no|tok:ours|smooth:none|{engine}",
        "chrf": f"nrefs:{references}|case:as-tokenised|eff:yes|nc:6|nw:0|space:no|{engine}",
    }


def format_signature(signature: dict[str, str], metric: str = "bleu4") -> str:
    """Returns one line to print beside a score: the metric's settings, if it is BLEU or chrF, and the tokeniser.

    Args:
      signature: what `signature` returns; entries may be missing, as in another project's results.
      metric: the score's name, for example `bleu4` or `en/chrf`.
    """
    tokeniser = f"tok:{signature.get('tokeniser', 'unknown')}"
    settings = signature.get(metric.rpartition("/")[2].rstrip("0123456789"), "")
    return settings.replace("tok:ours", tokeniser) if "tok:ours" in settings else f"{settings}|{tokeniser}".lstrip("|")


def _corpus_chrf(hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> float:
    if not hypotheses:
        return 0.0
    lines = [[" ".join(reference) for reference in several] for several in references]
    most = max(len(several) for several in lines)
    # sacrebleu takes one stream a reference; None stands where a sentence has fewer.
    streams = [[several[i] if i < len(several) else None for several in lines] for i in range(most)]
    return float(CHRF().corpus_score([" ".join(hypothesis) for hypothesis in hypotheses], streams).score)


def _line(tokens: Tokens, where: str) -> str:
    """Joins tokens for sacrebleu, which splits at white space: a token must survive the round trip."""
    line = " ".join(tokens)
    if line.split() != list(tokens):
        culprit = next(token for token in tokens if token.split() != [token])
        raise DataError(f"{where}: the token {culprit!r} is empty or holds white space; give the scorer single words")
    return line
