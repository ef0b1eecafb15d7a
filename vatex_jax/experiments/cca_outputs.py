"""What is measured of ranked candidates, and what a run leaves behind.

Dimension legend
    n  test questions      C  candidates, 100      g  generations a question
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_collections
import numpy as np
from jaxtyping import Float, Float32, Int

from vatex_jax.cca.generation import draw, probabilities
from vatex_jax.cca.neighbours import neighbours
from vatex_jax.cca.retrieval import correlations, score_candidates
from vatex_jax.data.dialogues import Dialogues
from vatex_jax.data.submissions import write_generations, write_ranks
from vatex_jax.experiments.cca_data import CCAData, model_of
from vatex_jax.experiments.rankers import Directions
from vatex_jax.experiments.training_pairs import told
from vatex_jax.files import write_json_lines_whole, write_text_whole
from vatex_jax.metrics import ranking
from vatex_jax.metrics.significance import bootstrap_interval
from vatex_jax.reference_sets.clusters import Described, describe_sets, sigma
from vatex_jax.reports import item_statistics
from vatex_jax.reports.cells import origin
from vatex_jax.reports.plots import rank_histogram

SHOWN = 5


@dataclasses.dataclass(frozen=True)
class Output:
    """Ranked candidates.

    Attributes:
        data: what was ranked.
        scores: of each question's candidates.
        directions: of questions and answers; None for nearest neighbours.
        generations: answer ids [n, g]; None where nothing was generated.
    """

    data: CCAData
    scores: Float32[np.ndarray, "n C"]
    directions: Directions | None
    generations: Int[np.ndarray, "n g"] | None

    @functools.cached_property
    def positions(self) -> tuple[np.ndarray, np.ndarray]:
        """How many candidates score above the ground truth, and as much as it."""
        return ranking.positions(self.scores, self.data.gt_index)

    @functools.cached_property
    def annotated(self) -> np.ndarray:
        """Numbers of the questions that have relevances."""
        turns = self.data.turns
        return np.flatnonzero(self.data.test.relevance_round[turns.dialogue] == turns.round)

    @functools.cached_property
    def ndcg(self) -> Float[np.ndarray, "annotated"]:
        """Of the annotated questions; NaN where no candidate is relevant."""
        relevance = self.data.test.relevance[self.data.turns.dialogue[self.annotated]]
        return ranking.ndcg(self.scores[self.annotated], relevance)

    @functools.cached_property
    def statistics(self) -> Float[np.ndarray, "dialogues sums"]:
        """The metrics' sums by dialogue: the rounds of one are about the same image, so they are drawn together."""
        ndcg = np.full(len(self.data.turns), np.nan)
        ndcg[self.annotated] = self.ndcg
        return ranking.statistics(self.data.turns.dialogue, ranking.expected_metrics(*self.positions), ndcg)


def metrics(config: ml_collections.ConfigDict, output: Output) -> dict[str, float]:
    """All metrics, with 95% bootstrap intervals over dialogues."""
    data = output.data
    found = ranking.retrieval_metrics(output.scores, data.gt_index)
    defined = ~np.isnan(output.ndcg)
    if len(output.annotated):
        found["annotated"], found["undefined_ndcg"] = float(len(defined)), float((~defined).sum())
    if defined.any():
        found["ndcg"] = ranking.mean_ndcg(output.ndcg)[0]
    for name in (name for name in ranking.METRICS if name in found):
        found[f"{name}_low"], found[f"{name}_high"] = _interval(output.statistics, name, config)
    found["questions"] = float(len(data.turns))
    found["questions/out_of_vocabulary"] = 100.0 * data.question_gaps
    found["answers/out_of_vocabulary"] = 100.0 * data.answer_gaps
    for prefix, split in (("train/", data.train), ("", data.test)):
        found |= {f"{prefix}{name}": value for name, value in annotation_faults(split).items()}
    if output.directions is not None:
        sets = candidate_sets(data, output.directions)
        found["cluster_correlation"] = float(sets.correlation.mean())
        if not np.isnan(sets.spread).all():
            found["cluster_spread"] = float(np.nanmean(sets.spread))
        found["size"] = float(sets.size.mean())
    return found


def annotation_faults(split: Dialogues) -> dict[str, float]:
    """Percent of the annotated questions without a candidate of relevance 1.0, and with a rejected ground truth.

    Section 3.2.1, "quirks"; {} where nothing is annotated.
    """
    rows = np.flatnonzero(split.relevance_round >= 0)
    truth = split.gt_index[rows, split.relevance_round[rows]]
    rows, truth = rows[truth >= 0], truth[truth >= 0]
    if not len(rows):
        return {}
    relevance = split.relevance[rows]
    return {
        "no_full_relevance": 100.0 * float((relevance.max(axis=1) < 1.0).mean()),
        "rejected_ground_truth": 100.0 * float((relevance[np.arange(len(rows)), truth] == 0.0).mean()),
    }


def candidate_sets(data: CCAData, found: Directions) -> Described:
    """The answers around each ground truth, within a standard deviation of the most correlated (section 3.2.1)."""
    correlation = score_candidates(correlations, found.answers, data.turns.answer, found.answers, data.options)
    return describe_sets(correlation, sigma(correlation, data.gt_index), data.gt_index)


def generate(config: ml_collections.ConfigDict, data: CCAData, found: Directions) -> Int[np.ndarray, "n g"]:
    """CCA-AQ-G: answers of the most correlated training questions, drawn in proportion to their own correlation."""
    wanted = config.generation
    distinct, ids = np.unique(data.turns.question, return_inverse=True)
    nearest = neighbours(
        found.questions[distinct], found.questions, data.training.question, wanted.neighbours, "correlation"
    )
    pool = data.training.answer[nearest]  # with repetitions
    correlation = score_candidates(correlations, found.questions, distinct, found.answers, pool)
    chances = probabilities(correlation, wanted.negative)[ids]
    drawn = draw(chances, wanted.generations, replacement=wanted.replacement, seed=config.seed)
    return np.take_along_axis(pool[ids], drawn, axis=1)


def signature(config: ml_collections.ConfigDict, data: CCAData, components: int) -> dict[str, str]:
    """How scores become metrics, the same for every row of a table; under `model/`, what the scores come from.

    `components` are those of the fitted CCA, which may be fewer than were asked for.
    """
    wanted = config.vectors
    found = {
        "ties": "expectation over their orders",
        "ndcg": "linear gain, log2(rank + 1), cut at the number of relevances above 0",
        "model/vectors": data.words.name,
        "model/sentences": f"nltk words, {wanted.max_tokens} tokens with the end's, min count {wanted.min_count}",
    }
    if model_of(config.variant) in ("aq", "aqi"):
        if model_of(config.variant) == "aq":
            one = config.training
            found["model/trained on"] = told(one.split, one.rounds, one.answers)
        one = config.cca
        found["model/cca"] = f"k {components}, p {one.p:g}, regularization {one.regularization:g}, {one.normalization}"
    elif config.variant != "none":
        images = f", the {config.neighbours.images} with the most similar images" if config.variant == "nn_aqi" else ""
        found["model/neighbours"] = f"{config.neighbours.questions} questions{images}"
    if config.generation.generations:
        one = config.generation
        drawn = "with" if one.replacement else "without"
        found["model/generations"] = f"of {one.neighbours} neighbours, {drawn} replacement, negative: {one.negative}"
    return found


def write_files(folder: Path, config: ml_collections.ConfigDict, output: Output, ranks: bool) -> Sequence[str]:
    """predictions.jsonl, generations.json where there are any, and ranks.json; returns their names.

    Where all answers are known also the statistics that paired tests against other runs need.
    """
    data, names = output.data, ["predictions.jsonl"]
    write_json_lines_whole(folder / names[0], predictions(output, range(len(data.turns))))
    image_ids = data.test.image_ids[data.turns.dialogue]
    if output.generations is not None:
        texts = [[data.answer_texts[answer] for answer in row] for row in output.generations]
        write_generations(folder / "generations.json", image_ids, data.turns.round, texts)
        names.append("generations.json")
    if (data.gt_index >= 0).all():
        item_statistics.RANKING.write(folder, output.statistics)
    if ranks:
        permutations = ranking.rank_permutations(output.scores, config.seed)
        write_ranks(folder / "ranks.json", image_ids, data.turns.round, permutations)
        names.append("ranks.json")
    return names


def predictions(output: Output, rows: Sequence[int]) -> Iterator[dict[str, Any]]:
    """A record a question: its best candidates, the ground truth and its expected rank, the generations."""
    data = output.data
    for row in rows:
        best = np.argsort(-output.scores[row], kind="stable")[:SHOWN]
        record: dict[str, Any] = {
            "image_id": int(data.test.image_ids[data.turns.dialogue[row]]),
            "round_id": int(data.turns.round[row]),
            "question": data.question_texts[data.turns.question[row]],
            "best": [
                {"answer": data.answer_texts[data.options[row, place]], "score": round(float(score), 6)}
                for place, score in zip(best, output.scores[row, best], strict=True)
            ],
        }
        if data.gt_index[row] >= 0:
            rank = ranking.ranks(output.scores[row : row + 1])[0, data.gt_index[row]]
            record |= {"answer": data.answer_texts[data.turns.answer[row]], "rank": float(rank)}
        if output.generations is not None:
            record["generations"] = [data.answer_texts[answer] for answer in output.generations[row]]
        yield record


def examples(output: Output, count: int = 3) -> list[Mapping[str, Any]]:
    """Some predictions, spread over the split."""
    several = len(output.data.turns)
    return list(predictions(output, np.linspace(0, several - 1, min(count, several)).astype(int).tolist()))


def draw_figures(figures: Path, output: Output, result: dict[str, Any]) -> None:
    """The distribution of the ground truth's ranks (figure 2), as numbers and as a picture."""
    figures.mkdir(exist_ok=True)
    shares = ranking.rank_distribution(*output.positions, output.scores.shape[1])
    lines = [f"{rank},{share:.6g}" for rank, share in enumerate(shares.tolist(), start=1)]
    write_text_whole(figures / "ranks.csv", "\n".join(["rank,share", *lines]) + "\n")
    note = f"{origin(result['dataset'])}, {result['dataset']['split']} split, {result['variant']}"
    rank_histogram(shares, figures / "ranks.png", note)


def _interval(statistics: np.ndarray, metric: str, config: ml_collections.ConfigDict) -> tuple[float, float]:
    sums = ranking.sums_of(statistics, metric)
    asked = sums[:, 1] > 0  # few dialogues are annotated
    return bootstrap_interval(sums[asked], ranking.mean_of_sums, config.eval.bootstrap_samples, config.seed)
