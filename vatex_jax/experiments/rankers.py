"""How each row of Table 5 scores candidates: CCA, the same vectors without it, nearest training questions.

Dimension legend
    n  test questions      C  candidates, 100      Q, A  distinct questions, answers      k  components
"""

import dataclasses

import ml_collections
import numpy as np
from jaxtyping import Float32

from vatex_jax.cca.cca import CCA, fit, unit_rows
from vatex_jax.cca.covariance import Rows
from vatex_jax.cca.neighbours import nearest_images, neighbours
from vatex_jax.cca.retrieval import correlations, negative_distances, score_candidates
from vatex_jax.experiments.cca_data import CCAData, model_of, without_images
from vatex_jax.experiments.training_pairs import VIEWS, fit_on, fitting, told, training_pairs


@dataclasses.dataclass(frozen=True)
class Directions:
    """Distinct questions and answers as vectors of length 1 whose products are correlations."""

    questions: Float32[np.ndarray, "Q k"]
    answers: Float32[np.ndarray, "A k"]


def fit_cca(config: ml_collections.ConfigDict, data: CCAData) -> tuple[CCA, int | None]:
    """CCA-AQ on the pairs that `config.training` describes; CCA-AQI on one row a training question.

    Views are in the order answer, (image,) question. Returns the model and how many pairs it was fitted on; None for
    CCA-AQI.

    Raises:
        DataError: images are wanted and the data set has none; the vectors do not suffice (`cca.fit`).
    """
    if model_of(config.variant) == "aq":
        pairs = training_pairs(config, data)
        one = config.training
        what = f"CCA-AQ on {told(one.split, one.rounds, one.answers)}"
        return fit_on(config, data, pairs, what), int(pairs.counts.sum())
    settings = {"regularization": config.cca.regularization, "normalization": config.cca.normalization}
    training = data.training
    views = [
        Rows(data.answers, training.answer),
        Rows(_training_images(data), training.dialogue),
        Rows(data.questions, training.question),
    ]
    with fitting("CCA-AQI", (VIEWS[0], "images", VIEWS[1])):
        return fit(views, config.cca.k, **settings), None


def directions(config: ml_collections.ConfigDict, data: CCAData, model: CCA | None) -> Directions:
    """Projections of a model, or for None the centred vectors themselves ("no-CCA", appendix A)."""
    if model is not None:
        last = len(model.means) - 1
        return Directions(
            model.directions(last, data.questions, config.cca.p), model.directions(0, data.answers, config.cca.p)
        )
    training = data.training
    return Directions(_centred(data.questions, training.question), _centred(data.answers, training.answer))


def score(config: ml_collections.ConfigDict, data: CCAData, found: Directions | None) -> Float32[np.ndarray, "n C"]:
    """The scores of all test questions' candidates; with nearest neighbours for `found` None."""
    if found is not None:
        return score_candidates(correlations, found.questions, data.turns.question, found.answers, data.options)
    points, ids = _canonical_answers(config, data)
    return score_candidates(negative_distances, points, ids, data.answers, data.options)


def _canonical_answers(config: ml_collections.ConfigDict, data: CCAData) -> tuple[np.ndarray, np.ndarray]:
    """The mean answer of the nearest training questions: a vector a distinct question, or with images a question."""
    distinct, ids = np.unique(data.turns.question, return_inverse=True)
    training = data.training
    nearest = neighbours(data.questions[distinct], data.questions, training.question, config.neighbours.questions, "l2")
    if config.variant == "nn_aqi":
        images, kept = data.test.images[data.turns.dialogue], config.neighbours.images
        nearest = nearest_images(nearest[ids], images, _training_images(data), training.dialogue, kept)
        ids = np.arange(len(data.turns))
    # A row at a time: all the neighbours' answers together would be 100 times as many numbers.
    points = np.stack([data.answers[training.answer[rows]].mean(axis=0) for rows in nearest])
    return points, ids


def _training_images(data: CCAData) -> np.ndarray:
    """By training dialogue."""
    if not data.train.images.shape[1] or not data.test.images.shape[1]:
        raise without_images(data.source)
    return data.train.images


def _centred(vectors: np.ndarray, ids: np.ndarray) -> np.ndarray:
    mean = np.bincount(ids, minlength=len(vectors)) @ vectors.astype(np.float64) / len(ids)
    return unit_rows(vectors - mean).astype(np.float32)
