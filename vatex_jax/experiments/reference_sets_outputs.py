"""What is measured of reference sets, and what a run leaves behind.

Dimension legend
    n  judged questions      C  candidates, 100
"""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import ml_collections
import numpy as np
from jaxtyping import Bool, Float

from vatex_jax.cca.cca import CCA
from vatex_jax.cca.retrieval import correlations, score_candidates
from vatex_jax.data.dialogues import Dialogues
from vatex_jax.experiments.cca_data import CCAData
from vatex_jax.experiments.training_pairs import Candidates, Construct, with_truth
from vatex_jax.files import write_json_lines_whole
from vatex_jax.metrics.significance import bootstrap_interval
from vatex_jax.reference_sets.agreement import MEASURES, measures
from vatex_jax.reference_sets.clusters import agglomerative, human, mean_shift, sigma
from vatex_jax.reference_sets.release import ReferenceSet
from vatex_jax.reports.cells import origin
from vatex_jax.reports.set_pictures import draw_sets

MAIN = "S.aq_star.gt_others"
"""Whose figures stand without a prefix: the paper's Sigma (Table 1)."""

CORRELATIONS = {"q_gt": ("question", "gt"), "q_max": ("question", "max"), "gt_all": ("answer", "gt"),
                "gt_others": ("answer", "others")}  # fmt: skip
"""Table 10's third column: what candidates are correlated with, and the form of `reference_sets.clusters`."""

CLUSTERS = (3, 4, 5)
_CLAIMS = {
    "star_over_aq": (MAIN, "S.aq.gt_others"),  # Sigma's precision: CCA-AQ* above CCA-AQ
    "sigma_over_m": (MAIN, "M.aq_star.gt_others"),  # and Sigma's above M's
}
_SHOWN = 6


@dataclasses.dataclass(frozen=True)
class Output:
    """Judged sets.

    Attributes:
        data, rounds: the questions.
        human: H.
        sets: by construction, model and correlations (`MAIN`); found: `measures` of each, H's too.
    """

    data: CCAData
    rounds: Candidates
    human: Bool[np.ndarray, "n C"]
    sets: dict[str, Bool[np.ndarray, "n C"]]
    found: dict[str, dict[str, Float[np.ndarray, "n"]]]


def judge(config: ml_collections.ConfigDict, data: CCAData, models: dict[str, CCA], rounds: Candidates) -> Output:
    """All rows of Table 10 on the annotated rounds."""
    people = human(rounds.relevance, rounds.gt_index)
    sets, found = {}, {}
    for name, model in models.items():
        with_what = _correlations(data, model, config.cca.p, rounds)
        for method, construct in _methods(config).items():
            for label, (what, form) in CORRELATIONS.items():
                key, values = f"{method}.{name}.{label}", with_what[what]
                sets[key] = construct(values, rounds.gt_index, form=form)
                found[key] = measures(sets[key], people, rounds.gt_index, values, what == "answer")
        found["H"] = measures(people, people, rounds.gt_index, with_what["answer"])  # the last model's: CCA-AQ*
    return Output(data, rounds, people, sets, found)


def metrics(config: ml_collections.ConfigDict, output: Output) -> dict[str, float]:
    """`MEASURES` of every row, with the standard deviation over questions (divisor n - 1) and 95% bootstrap intervals.

    Sigma's of CCA-AQ*, by the ground truth's correlations with the others, stand bare; a prefix names every other row.
    """
    metrics: dict[str, float] = {"questions": float(len(output.rounds))}
    for key, row in output.found.items():
        prefix = "" if key == MAIN else f"{key}/"
        for name in MEASURES:
            metrics |= {f"{prefix}{name}{end}": value for end, value in _summary(row[name], config).items()}
    for name, (ours, other) in _CLAIMS.items():
        gap = output.found[ours]["precision"] - output.found[other]["precision"]
        metrics |= {f"{name}/precision_gap{end}": value for end, value in _summary(gap, config).items()}
    return metrics


def signature(config: ml_collections.ConfigDict, data: CCAData, components: dict[str, int]) -> dict[str, str]:
    """How sets come about, the same for every row of a table."""
    one = config.cca
    fitted = f"p {one.p:g}, regularization {one.regularization:g}, {one.normalization}"
    annotations = config.training.annotations
    return {
        "sets": "H, M, G, Sigma: reference_sets.clusters; standard deviations with divisor n - 1",
        "model/vectors": data.words.name,
        "model/aq": f"all answered rounds of train, k {components['aq']}, {fitted}",
        "model/aq_star": f"H of the annotated rounds of {annotations}, k {components['aq_star']}, {fitted}",
    }


def records(
    data: CCAData, split: Dialogues, found: Iterable[tuple[Candidates, Bool[np.ndarray, "piece C"]]]
) -> Iterator[ReferenceSet]:
    """Sets as they are released."""
    for rounds, sets in found:
        turns = rounds.turns
        image_ids = split.image_ids[turns.dialogue].tolist()
        for row, (image, turn, question, answer) in enumerate(
            zip(image_ids, turns.round.tolist(), turns.question.tolist(), turns.answer.tolist(), strict=True)
        ):
            texts = tuple(data.answer_texts[option] for option in rounds.options[row, sets[row]].tolist())
            yield ReferenceSet(image, turn, sets[row], texts, data.question_texts[question], data.answer_texts[answer])


def write_predictions(folder: Path, output: Output) -> None:
    """predictions.jsonl: a judged question a line, with H and Sigma."""
    write_json_lines_whole(folder / "predictions.jsonl", predictions(output, range(len(output.rounds))))


def predictions(output: Output, rows: Sequence[int]) -> Iterator[dict[str, Any]]:
    """A record a question: the ground truth, H, and the answers of Sigma of CCA-AQ*."""
    data, turns = output.data, output.rounds.turns
    for row in rows:
        options = output.rounds.options[row]
        yield {
            "image_id": int(data.test.image_ids[turns.dialogue[row]]),
            "round_id": int(turns.round[row]),
            "question": data.question_texts[turns.question[row]],
            "answer": data.answer_texts[turns.answer[row]],
            "human": [data.answer_texts[option] for option in options[output.human[row]]],
            "sigma": [data.answer_texts[option] for option in options[output.sets[MAIN][row]]],
        }


def examples(output: Output, count: int = _SHOWN) -> list[dict[str, Any]]:
    """Some predictions, spread over the split."""
    several = len(output.rounds)
    return list(predictions(output, np.linspace(0, several - 1, min(count, several)).astype(int).tolist()))


def draw_figures(figures: Path, output: Output, result: dict[str, Any]) -> None:
    """A few questions with their sets (figure 5)."""
    figures.mkdir(exist_ok=True)
    note = f"{origin(result['dataset'])}, {result['dataset']['split']} split, Sigma of CCA-AQ*"
    draw_sets(examples(output), figures / "sets.png", note)


def _methods(config: ml_collections.ConfigDict) -> dict[str, Construct]:
    """Sigma, M, and G with each number of clusters of Table 10 and the configured one."""
    several = sorted({*CLUSTERS, config.training.clusters})
    return {"S": sigma, "M": mean_shift, **{f"G{n}": functools.partial(agglomerative, clusters=n) for n in several}}


def _correlations(data: CCAData, model: CCA, p: float, rounds: Candidates) -> dict[str, Float[np.ndarray, "n C"]]:
    answers, questions = model.directions(0, data.answers, p), model.directions(1, data.questions, p)
    return {
        "answer": with_truth(answers, rounds),
        "question": score_candidates(correlations, questions, rounds.turns.question, answers, rounds.options),
    }


def _summary(values: Float[np.ndarray, "n"], config: ml_collections.ConfigDict) -> dict[str, float]:
    """Mean, standard deviation and interval over the questions that have a value; {} where none has."""
    values = values[~np.isnan(values)]
    if not len(values):
        return {}
    spread = {"_std": float(values.std(ddof=1))} if len(values) > 1 else {}
    low, high = bootstrap_interval(
        np.stack([values, np.ones(len(values))], axis=1),
        lambda summed: summed[:, 0] / summed[:, 1],
        config.eval.bootstrap_samples,
        config.seed,
    )
    return {"": float(values.mean()), **spread, "_low": low, "_high": high}
