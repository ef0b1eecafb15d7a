"""The revised generative evaluation of any model: generations against reference sets (sections 4.1 and 5, appendix C).

In a notebook:

    from vatex_jax.experiments.generative_eval import evaluate
    scores = evaluate([["yes", "i think so"], ["red"]], [["yes", "yes it is"], ["it is red", "red", "dark red"]])
    print(scores["summary"]["k1/cider1/mean"], scores["per_question"]["meteor1"])

A model's answers may be any texts, a different number a question; nothing but this file's functions is needed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from vatex_jax.metrics import generations as reduction
from vatex_jax.metrics.answers import check_lists
from vatex_jax.metrics.consensus import METRICS, Scores, overlap_scores
from vatex_jax.metrics.embedding import Encode, l2_and_cosine
from vatex_jax.metrics.meteor import Meteor
from vatex_jax.text.treebank import detokenized


def evaluate(
    generations: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    metrics: Sequence[str] = METRICS,
    *,
    encoders: Mapping[str, Encode] | None = None,
    ks: Sequence[int] | None = None,
    detokenize: bool = True,
    running: Meteor | None = None,
) -> dict[str, dict[str, Any]]:
    """Scores a model's answers against sets of right answers.

    CIDEr's document frequencies are those of the reference sets given: only scores of the same sets compare.

    Args:
        generations: a list of answers a question, the best or first drawn first; of any number, also 0. Answers
            without a word are empty: they are left out of all metrics, and counted.
        references: a list of right answers a question, at least one, in the same order; duplicates count as often as
            they stand.
        metrics: overlap metrics: `cider`, `sbleu`, `meteor` (needs no Java but takes seconds to start); may be empty.
        encoders: for embedding metrics, such as `{"fasttext": encode}`: gives `fasttext_l2` and `fasttext_cs`.
        ks: numbers of generations to report; by default 1, 5, 10, 15 as far as there are so many, and the most.
        detokenize: pass generations through NLTK's word tokenizer and detokenizer first, as the paper does; references
            stay as they are. False where that has been done, or is not wanted.
        running: a running METEOR program, so that several calls share its start.

    Returns:
        `per_question`: a table [n, K] a metric, NaN where a question has fewer generations or one is empty: `cider1`
        to `cider4`, `sbleu1` to `sbleu4`, `meteor1`, `NAME_l2`, `NAME_cs`.
        `summary`: for each k and metric `k5/cider1/mean`, `/k_std`, `/best`, `/data_std` (see `metrics.generations`;
        NaN where no question has a score); `k5/scored`, `k5/empty` (generations), `k5/unscored`, `k5/fewer`
        (questions); and `questions`.

    Raises:
        ConfigError: an unknown metric, or a k that cannot be.
        DataError: there is no question, the lists differ in length, an entry is no list of texts, a question has no
            reference.
        JavaError: METEOR fails.
    """
    check_lists(generations, references)
    chosen = reduction.choose_ks(max(map(len, generations)), ks)
    said = _detokenized(generations) if detokenize else generations
    scores = _scores(said, references, metrics, encoders, running)
    summary = {"questions": float(len(references))}
    for k in chosen:
        found = reduction.summarise(scores, k) | reduction.count(said, k)
        summary |= {f"k{k}/{name}": value for name, value in found.items()}
    return {"per_question": scores, "summary": summary}


def baselines(
    ground_truths: Sequence[str],
    references: Sequence[Sequence[str]],
    metrics: Sequence[str] = METRICS,
    *,
    encoders: Mapping[str, Encode] | None = None,
    running: Meteor | None = None,
) -> dict[str, dict[str, float]]:
    """What answers known to be right score against the sets: the first rows of Tables 6 and 7.

    `A_gt` is the ground truth as the one generation: it passes the tokenizer as any does, which is why the paper's
    BLEU-1 and METEOR of it are a little below 1. Gamma is each reference in turn as a generation, scored against its
    whole set, itself included; as it stands, since the paper's are 1.0000 with no deviation. Gamma's `best` is the
    baseline of Table 4.

    Args:
        ground_truths: the answer of each question; an empty one is left out.
        references, metrics, encoders, running: as in `evaluate`.

    Returns:
        `A_gt` and `Gamma`, each with `NAME/mean`, `NAME/k_std`, `NAME/best`, `NAME/data_std` a metric.

    Raises:
        ConfigError, DataError, JavaError: as `evaluate`.
    """
    said = [[text] for text in ground_truths]
    check_lists(said, references)
    lists = {"A_gt": _detokenized(said), "Gamma": references}
    return {
        name: reduction.summarise(_scores(texts, references, metrics, encoders, running))
        for name, texts in lists.items()
    }


def _scores(
    generations: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    metrics: Sequence[str],
    encoders: Mapping[str, Encode] | None,
    running: Meteor | None,
) -> Scores:
    found = overlap_scores(generations, references, metrics, running)
    for name, encode in (encoders or {}).items():
        found |= {f"{name}_{kind}": table for kind, table in l2_and_cosine(generations, references, encode).items()}
    return found


def _detokenized(generations: Sequence[Sequence[str]]) -> list[list[str]]:
    rest = iter(detokenized(text for texts in generations for text in texts))
    return [[next(rest) for _ in texts] for texts in generations]
