"""Overlap of generated answers with sets of references: CIDEr, sentence BLEU, METEOR (section 4.1, appendix C).

What each is follows the published code where there is some (CIDEr, METEOR) and the printed figures where not (BLEU):

- CIDEr_n is the original's (Vedantam et al., 2015), not CIDEr-D: no clipping, no length penalty, no factor 10. Texts
  are cut at white space, case kept. An order's score is the mean over references of the cosine of tf-idf vectors, and
  CIDEr_n the mean of the first n orders' scores. idf = log(number of sets) - log(sets that hold the n-gram), over the
  reference sets of the file, an unseen n-gram as if one held it. In a file of one set all n-grams are in every set,
  and all scores 0.
- BLEU-n of a sentence: cumulative, unsmoothed (so 0 for a text of fewer than n words), counts clipped at the reference
  that has most, the brevity penalty towards the reference of the closest length, the shorter at a tie.
- METEOR 1.5 with the reference that scores best.

A pair that occurs often is scored once. Every function's scores are fractions, [n K], NaN where a generation is empty
or a question has fewer; references are taken as they stand, duplicates as often as they do.

Dimension legend
    n  questions      K  the most generations of a question      p  distinct (question, generation) pairs
    m  distinct texts      g  distinct n-grams of an order
"""

import contextlib
import re
import sys
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse
from jaxtyping import Float64, Int64
from tqdm import tqdm

from vatex_jax.errors import ConfigError
from vatex_jax.metrics import meteor as meteor_program
from vatex_jax.metrics.answers import NONE, Answers, blocks, code_answers
from vatex_jax.metrics.bleu import bleu_from_statistics
from vatex_jax.metrics.overlap_counts import closest_lengths, ngram_counts

METRICS = ("cider", "sbleu", "meteor")
ORDERS = (1, 2, 3, 4)

_SENTENCES = 10_000  # that METEOR is sent between two steps of the progress bar

# METEOR's search for an alignment needs minutes and gigabytes for a thousand repeated words against as many. It cuts a
# text into words, single signs and single Chinese characters: so many of these are sent.
METEOR_WORDS = 200
_METEOR_PIECE = re.compile(r"[^\W\u3040-\uffff]+|\S")

Scores = dict[str, Float64[np.ndarray, "n K"]]


def overlap_scores(
    generations: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    metrics: Sequence[str] = METRICS,
    running: meteor_program.Meteor | None = None,
) -> Scores:
    """Scores each generation against its question's references.

    Args:
        generations: a list of texts a question, of any number; those without a word are empty.
        references: a list of texts a question, at least one.
        metrics: which of `METRICS`.
        running: a running METEOR program to use, so that several calls share its start; by default one is started.

    Returns:
        `cider1`-`cider4`, `sbleu1`-`sbleu4`, `meteor1`, as far as asked for.

    Raises:
        ConfigError: an unknown metric.
        DataError: there is no question, the lists differ in length, or a question has no reference.
        JavaError: METEOR fails.
    """
    unknown = [name for name in metrics if name not in METRICS]
    if unknown:
        raise ConfigError(f"unknown overlap metric {unknown[0]!r}: choose from {', '.join(METRICS)}.")
    answers = code_answers(generations, references)
    found: Scores = {}
    needs_program = "meteor" in metrics and len(answers.text) > 0 and running is None
    # The program loads while the others count.
    with meteor_program.Meteor() if needs_program else contextlib.nullcontext(running) as program:
        if {"cider", "sbleu"} & set(metrics):
            counts = ngram_counts(answers.texts, len(ORDERS))
            found |= cider(answers, counts) if "cider" in metrics else {}
            found |= sentence_bleu(answers, counts) if "sbleu" in metrics else {}
        if "meteor" in metrics:
            found |= meteor(answers, program)
    return found


def cider(answers: Answers, counts: Sequence[scipy.sparse.csr_array]) -> Scores:
    """CIDEr of order 1 to as many as there are counts (the paper's variant: see the head of this file).

    The mean of cosines is one product: that of the generation's unit vector and the mean of the references'.
    """
    total, found = np.zeros(len(answers.text)), {}
    for order, tally in enumerate(counts, start=1):
        total += _order_cider(answers, tally)
        found[f"cider{order}"] = answers.table(total / order)
    return found


def sentence_bleu(answers: Answers, counts: Sequence[scipy.sparse.csr_array]) -> Scores:
    """Sentence BLEU of order 1 to 4: cumulative, unsmoothed, with the closest reference's length."""
    lengths = counts[0].sum(axis=1).astype(np.int64)
    own = lengths[answers.text]
    matched = [_matched(answers, tally) for tally in counts]
    possible = [np.maximum(own - order, 0) for order in range(len(counts))]
    statistics = np.stack([own, closest_lengths(answers, lengths), *matched, *possible], axis=1).astype(np.float64)
    return {f"sbleu{n}": answers.table(bleu_from_statistics(statistics, n) / 100.0) for n in ORDERS}


def meteor(answers: Answers, program: meteor_program.Meteor | None) -> Scores:
    """METEOR of the best reference; each distinct (generation, reference) pair is scored at most once.

    A generation that is one of its references needs no other if that scores 1, than which nothing is better. (A text
    of signs that METEOR drops does not.) Of the others, pairs that are met again are scored by themselves; a
    generation's other references are sent with it in one line, which takes the program half the time. Texts are cut
    after `METEOR_WORDS` words and signs, with a warning.

    Args:
        answers: the file.
        program: the running program; may be None where there is nothing to score.
    """
    best = np.zeros(len(answers.text))
    if not len(best):
        return {"meteor1": answers.table(best)}
    texts = _for_meteor(answers)
    itself = np.flatnonzero(_is_reference(answers))
    best[itself] = _best_meteor(program, texts, answers.text[itself], answers.text[itself], np.arange(len(itself)))
    rest = np.flatnonzero(best < 1.0)
    often = _repeated(answers, rest)
    program.expect(len(often) + len(rest))
    scores = _best_meteor(program, texts, *np.divmod(often, len(texts)), np.arange(len(often)))
    for part, references, begins in answers.comparisons(rest):
        pairs = np.repeat(rest[part], np.diff(np.append(begins, len(references))))
        keys = answers.keys(rest[part], references, begins)
        at = np.searchsorted(often, keys)
        known = np.append(often, NONE)[at] == keys
        np.maximum.at(best, pairs[known], scores[at[known]])
        alone, first = np.unique(pairs[~known], return_index=True)
        found = _best_meteor(program, texts, answers.text[alone], references[~known], first)
        best[alone] = np.maximum(best[alone], found)
    return {"meteor1": answers.table(best)}


def signature() -> dict[str, str]:
    """What a reader must know to compare scores: an entry for each of `METRICS`."""
    return {
        "cider": "original (no clipping, no length penalty, no factor 10), white space, case kept, mean of references",
        "sbleu": "sentence, cumulative, no smoothing, white space, case kept, closest reference length",
        "meteor": f"meteor-1.5 {meteor_program.OPTIONS}, best reference, {METEOR_WORDS} words and signs at most",
    }


def _order_cider(answers: Answers, counts: scipy.sparse.csr_array) -> Float64[np.ndarray, "p"]:
    """The mean over references of the cosines of one order's tf-idf vectors."""
    sizes = np.diff(answers.starts)
    shares = scipy.sparse.csr_array(
        (np.repeat(1.0 / sizes, sizes), answers.references, answers.starts), shape=(len(answers), len(answers.texts))
    )
    held = np.bincount((shares @ counts).indices, minlength=counts.shape[1])  # sets with the n-gram
    idf = np.log(len(answers)) - np.log(np.maximum(1, held))
    weighted = counts.copy()
    weighted.data *= idf[counts.indices]
    norms = np.sqrt((weighted * weighted).sum(axis=1))
    weighted.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(counts.indptr))
    means = shares @ weighted
    return _by_pair(answers, weighted, means, lambda text, references: text.multiply(references))


def _matched(answers: Answers, counts: scipy.sparse.csr_array) -> Float64[np.ndarray, "p"]:
    """How many of a pair's n-grams its references hold, each counted as often as the reference that has most has it."""
    question = np.repeat(np.arange(len(answers)), np.diff(answers.starts))
    keys, found = [], []
    sizes = np.diff(counts.indptr)[answers.references]
    for part in blocks(sizes):
        rows = counts[answers.references[part]]
        keys.append(np.repeat(question[part], sizes[part]) * counts.shape[1] + rows.indices)
        found.append(rows.data)
    key, values = np.concatenate([*keys, np.zeros(0, np.int64)]), np.concatenate([*found, np.zeros(0)])
    order = np.argsort(key)
    distinct, first = np.unique(key[order], return_index=True)
    most = np.maximum.reduceat(values[order], first) if len(first) else values
    at = np.divmod(distinct, max(1, counts.shape[1]))
    clip = scipy.sparse.coo_array((most, at), shape=(len(answers), counts.shape[1])).tocsr()
    return _by_pair(answers, counts, clip, lambda text, references: text.minimum(references))


def _by_pair(
    answers: Answers,
    by_text: scipy.sparse.csr_array,
    by_question: scipy.sparse.csr_array,
    combine: Callable[[scipy.sparse.csr_array, scipy.sparse.csr_array], scipy.sparse.csr_array],
) -> Float64[np.ndarray, "p"]:
    """The sum, for each pair, of what is made of its text's row and its question's."""
    found = np.zeros(len(answers.text))
    sizes = np.diff(by_text.indptr)[answers.text] + np.diff(by_question.indptr)[answers.question]
    for part in blocks(sizes):
        combined = combine(by_text[answers.text[part]], by_question[answers.question[part]])
        found[part] = combined.sum(axis=1)
    return found


def _is_reference(answers: Answers) -> np.ndarray:
    """Which pairs' texts are among their references."""
    question = np.repeat(np.arange(len(answers)), np.diff(answers.starts))
    several = len(answers.texts)
    return np.isin(answers.question * several + answers.text, question * several + answers.references)


def _for_meteor(answers: Answers) -> list[str]:
    """The texts, long ones cut, and a warning where there are such."""
    cut = {}
    for row, text in enumerate(answers.texts):
        if len(text) > METEOR_WORDS:
            ends = [piece.end() for piece, _ in zip(_METEOR_PIECE.finditer(text), range(METEOR_WORDS), strict=False)]
            if ends and text[ends[-1] :].strip():
                cut[row] = text[: ends[-1]]
    if not cut:
        return answers.texts
    first = answers.texts[next(iter(cut))]
    warnings.warn(
        f"METEOR: {len(cut)} texts of more than {METEOR_WORDS} words and signs are cut there, such as {first[:60]!r}.",
        stacklevel=4,
    )
    return [cut.get(row, text) for row, text in enumerate(answers.texts)]


def _repeated(answers: Answers, pairs: Int64[np.ndarray, "_"]) -> Int64[np.ndarray, "_"]:
    """The keys (`Answers.keys`), in order, of what is to be compared more than once."""
    each = [
        np.unique(answers.keys(pairs[part], references, begins), return_counts=True)
        for part, references, begins in answers.comparisons(pairs)
    ]
    keys = np.concatenate([*(key for key, _ in each), np.zeros(0, np.int64)])
    distinct, at = np.unique(keys, return_inverse=True)
    times = np.bincount(at, np.concatenate([*(counts for _, counts in each), np.zeros(0, np.int64)]), len(distinct))
    return distinct[times > 1]


def _best_meteor(
    program: meteor_program.Meteor | None,
    texts: Sequence[str],
    generations: Int64[np.ndarray, "_"],
    references: Int64[np.ndarray, "_"],
    begins: Int64[np.ndarray, "_"],
) -> Float64[np.ndarray, "_"]:
    """METEOR of each generation with the best of its references, which stand one after the other from `begins` on."""
    found = np.zeros(len(generations))
    ends = np.append(begins[1:], len(references))
    starts = tqdm(
        range(0, len(generations), _SENTENCES), "METEOR", unit=f"{_SENTENCES} answers", leave=False,
        disable=not sys.stderr.isatty(),
    )  # fmt: skip
    for start in starts:
        part = slice(start, start + _SENTENCES)
        several = [
            [texts[row] for row in references[begin:end]]
            for begin, end in zip(begins[part].tolist(), ends[part].tolist(), strict=True)
        ]
        found[part] = program.sentences([texts[row] for row in generations[part]], several)
    return found
