"""Which answers each training question is paired with: its ground truth, people's set H, or a set of CCA-AQ*'s.

Tables 3, 8 and 9 (section 4.2.2, appendix D). Pairs are counted, never listed: VisDial's Sigma has ten million.

Dimension legend
    n  rounds      C  candidates, 100      Q, A  distinct questions, answers      k  components
"""

import contextlib
import dataclasses
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

import ml_collections
import numpy as np
from jaxtyping import Bool, Float, Float32, Int
from tqdm import tqdm

from vatex_jax.cca.cca import CCA, fit_pairs
from vatex_jax.cca.retrieval import correlations, score_candidates
from vatex_jax.data.dialogues import Dialogues
from vatex_jax.errors import DataError
from vatex_jax.experiments.cca_data import CCAData, Turns, joined, rounds_of
from vatex_jax.reference_sets.clusters import agglomerative, human, mean_shift, sigma

CONSTRUCTIONS = ("S", "M", "G")
ANSWERS = ("gt", "H", *CONSTRUCTIONS)
SPLITS = ("train", "trainval")
VIEWS = ("answers", "questions")
_PIECE = 100_000  # rounds whose candidates are looked at at once

Construct = Callable[..., Bool[np.ndarray, "n C"]]

Rounds = list[tuple[Dialogues, Turns]]
"""Some rounds of some splits. Their candidates are gathered a piece at a time: a second copy of all takes 500 MB."""


@dataclasses.dataclass(frozen=True)
class Pairs:
    """Distinct pairs of answer and question, and how often each counts."""

    answers: Int[np.ndarray, "pairs"]
    questions: Int[np.ndarray, "pairs"]
    counts: Int[np.ndarray, "pairs"]


@dataclasses.dataclass(frozen=True)
class Candidates:
    """Rounds with their candidates and a known ground truth; `relevance` is 0 throughout where nobody was asked."""

    turns: Turns
    options: Int[np.ndarray, "n C"]
    gt_index: Int[np.ndarray, "n"]
    relevance: Float32[np.ndarray, "n C"]

    def __len__(self) -> int:
        return len(self.turns)


def training_pairs(config: ml_collections.ConfigDict, data: CCAData) -> Pairs:
    """The pairs that `config.training` describes.

    Raises:
        DataError: the splits have no such rounds.
    """
    wanted = config.training
    if wanted.answers == "gt" and wanted.rounds == "all":
        return count_pairs(data.training.answer, data.training.question)
    rounds = (annotated if wanted.rounds == "annotated" else judged)(data, wanted.split)
    if wanted.answers == "gt":
        turns = joined(turns for _, turns in rounds)
        return count_pairs(turns.answer, turns.question)
    if wanted.answers == "H":
        return _human_pairs(rounds)
    answers = fit_star(config, data).directions(0, data.answers, config.cca.p)
    construct = constructions(wanted.clusters)[wanted.answers]
    return summed(
        _pairs_of_sets(piece, sets)
        for part, turns in rounds
        for piece, sets in sets_of(answers, part, turns, construct)
    )


def constructions(clusters: int) -> dict[str, Construct]:
    """Sigma, M and G by their letters, the last with so many clusters."""
    return {"S": sigma, "M": mean_shift, "G": functools.partial(agglomerative, clusters=clusters)}


def annotated(data: CCAData, split: str) -> Rounds:
    """The rounds with relevances of `train` or `trainval`.

    Raises:
        DataError: one of the splits has none, so that the model would not be what its name says; or none was drawn.
    """
    return _rounds(
        data,
        split,
        lambda part: part.annotated,
        "annotated round",
        "CCA-AQ* and H need them: build it with the dense annotations, or choose another row or variant",
    )


def judged(data: CCAData, split: str) -> Rounds:
    """All rounds of `train` or `trainval` with candidates and a known ground truth.

    Raises:
        DataError: as `annotated`.
    """
    return _rounds(
        data, split, lambda part: part.judged, "round with candidates and a known answer", "sets are made of these"
    )


def candidates_of(part: Dialogues, turns: Turns) -> Candidates:
    """Rounds of a split with what they choose from."""
    relevance = np.zeros((len(turns), part.options.shape[2]), np.float32)
    rated = part.relevance_round[turns.dialogue] == turns.round
    relevance[rated] = part.relevance[turns.dialogue[rated]]
    options, gt_index = part.options[turns.dialogue, turns.round], part.gt_index[turns.dialogue, turns.round]
    return Candidates(turns, options, gt_index, relevance)


def fit_star(config: ml_collections.ConfigDict, data: CCAData) -> CCA:
    """CCA-AQ*: each question that `config.training.annotations` names with all answers of its H (section 4.2.2).

    Raises:
        DataError: the splits have no annotated round.
    """
    split = config.training.annotations
    return fit_on(config, data, _human_pairs(annotated(data, split)), f"CCA-AQ* on {told(split, 'annotated', 'H')}")


def fit_on(config: ml_collections.ConfigDict, data: CCAData, pairs: Pairs, what: str) -> CCA:
    """CCA of answers and questions, views in this order.

    Raises:
        DataError: the pairs do not suffice (`cca.fit_pairs`), with `what` the model is and the fields to change.
    """
    settings = {"regularization": config.cca.regularization, "normalization": config.cca.normalization}
    with fitting(what, VIEWS):
        return fit_pairs(
            data.answers, data.questions, pairs.answers, pairs.questions, pairs.counts, config.cca.k, **settings
        )


@contextlib.contextmanager
def fitting(what: str, views: Sequence[str]) -> Iterator[None]:
    """Says of what CCA refuses which model it was for, what its views are, and by which fields it can be helped."""
    try:
        yield
    except DataError as error:
        numbered = ", ".join(f"{number} {name}" for number, name in enumerate(views))
        raise DataError(
            f"{what}: {error} Views: {numbered}; fields: config.cca.k, config.cca.regularization."
        ) from error


def told(split: str, rounds: str, answers: str) -> str:
    """What a model is trained on, by the fields of `config.training`, in words."""
    where = {"train": "train", "trainval": "train and validation"}[split]
    what = {"gt": "its ground truth", "H": "people's set H", "S": "the set Sigma of CCA-AQ*"}
    return f"{rounds} rounds of {where}, each question with {what.get(answers, f'the set {answers} of CCA-AQ*')}"


def count_pairs(answers: Int[np.ndarray, "m"], questions: Int[np.ndarray, "m"]) -> Pairs:
    """Distinct pairs of aligned ids."""
    size = int(questions.max(initial=0)) + 1
    return _counted(answers.astype(np.int64) * size + questions, np.ones(len(answers), np.int64), size)


def summed(several: Iterable[Pairs]) -> Pairs:
    """Pairs counted in parts, together."""
    parts = list(several)
    size = max(int(pairs.questions.max(initial=0)) for pairs in parts) + 1
    keys = np.concatenate([pairs.answers * size + pairs.questions for pairs in parts])
    counts = np.concatenate([pairs.counts for pairs in parts])
    del parts  # as large as what follows
    return _counted(keys, counts, size)


def sets_of(
    answers: Float32[np.ndarray, "A k"], part: Dialogues, turns: Turns, construct: Construct
) -> Iterator[tuple[Candidates, Bool[np.ndarray, "piece C"]]]:
    """Sets by the correlations of each candidate with the ground truth, some rounds at a time, with a progress bar.

    Args:
        answers: their directions (`CCA.directions`).
        part, turns: a split and some of its rounds, whose ground truths are known.
        construct: one of `constructions`.
    """
    bar = tqdm(total=len(turns), desc="reference sets", unit="question", leave=False, disable=not sys.stderr.isatty())
    with bar:
        for first in range(0, len(turns), _PIECE):
            piece = candidates_of(part, turns.part(slice(first, first + _PIECE)))
            yield piece, construct(with_truth(answers, piece), piece.gt_index)
            bar.update(len(piece))


def with_truth(answers: Float32[np.ndarray, "A k"], rounds: Candidates) -> Float[np.ndarray, "n C"]:
    """phi(A_gt, A) of every candidate, from answers' directions."""
    return score_candidates(correlations, answers, rounds.turns.answer, answers, rounds.options)


def _rounds(data: CCAData, split: str, chosen: Callable[[Dialogues], np.ndarray], what: str, wanted_for: str) -> Rounds:
    """Rounds of every split of `split`; `what` names one, `wanted_for` ends the error where a split has none."""
    found = []
    for part in data.parts(split):
        rounds = chosen(part)
        if not rounds.any():  # with the others alone the model would not be what its name says
            where = split if split == part.name else f"{part.name}, which is in {split}"
            raise DataError(f"{data.source.name} has no {what} in {where}; {wanted_for}.")
        found.append((part, rounds_of(part, rounds, data.asked[part.name], data.copies[part.name])))
    if not any(len(turns) for _, turns in found):
        raise DataError(f"{data.source.name}: the dialogues drawn from {split} have no {what}. Set another seed.")
    return found


def _human_pairs(rounds: Rounds) -> Pairs:
    """Each question with every answer of its H."""
    found = (candidates_of(part, turns) for part, turns in rounds)
    return summed(_pairs_of_sets(one, human(one.relevance, one.gt_index)) for one in found)


def _pairs_of_sets(rounds: Candidates, sets: Bool[np.ndarray, "n C"]) -> Pairs:
    return count_pairs(rounds.options[sets], np.repeat(rounds.turns.question, sets.sum(axis=1)))


def _counted(keys: Int[np.ndarray, "m"], counts: Int[np.ndarray, "m"], size: int) -> Pairs:
    """Sorted and summed in place of `np.unique` with its inverse, which takes twice the memory of the pairs."""
    order = np.argsort(keys)
    keys = keys[order]
    new = np.ones(len(keys), bool)
    new[1:] = keys[1:] != keys[:-1]
    first = np.flatnonzero(new)
    return Pairs(*np.divmod(keys[first], size), np.add.reduceat(counts[order], first))
