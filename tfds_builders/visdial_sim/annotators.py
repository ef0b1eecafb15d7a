"""Dense annotations: five simulated annotators say of each candidate of a round whether it would do as an answer.

Annotators accept the paraphrases of the content they see, more readily in clear items than in vague ones, and plain
answers more readily than hedged ones; near-misses they accept sometimes, others rarely. Mostly they see what the image
holds. In some items one or two of them see another content, so that no answer pleases all; in some all of them see
another one than the dialogue's answerer did, whose answer is then mostly rejected.

Legend: `M` items, `K` = 5 annotators, `O` = 100 options, `C` classes, `A` answers.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float32, Int

from tfds_builders.visdial_sim.topics import Tables

ANNOTATORS = 5

_DIVIDED = 0.26  # share of items in which one or two annotators see another content
_MISSEEN = 0.085  # share of items in which all annotators see another content than the answer's
_TWO = 0.3  # of the divided items: two annotators see it, not one
_CLEAR, _VAGUE = 0.97, 0.50  # how often a paraphrase is accepted in the clearest and in the vaguest item
_HEDGED = 0.75  # how much less often a hedged one is
_NEAR = 0.05
_OTHER = 0.002
_NEAREST = 4.0  # how much more often a near content is seen than another one
_HEDGES = ("think", "look", "seem", "maybe", "probably", "believe", "would", "hard", "sure", "about")


@dataclasses.dataclass(frozen=True)
class Annotations:
    """The annotated rounds of a split, one a dialogue.

    Attributes:
      dialogues: [M] their places in the split, ascending.
      rounds: [M] 0-based.
      seen: [M] class of the content that the annotators, or most of them, see.
      relevance: [M, O] mean judgement, a multiple of 1/5; no row is all zero.
    """

    dialogues: Int[np.ndarray, "M"]
    rounds: Int[np.ndarray, "M"]
    seen: Int[np.ndarray, "M"]
    relevance: Float32[np.ndarray, "M O"]


def annotate(
    rng: np.random.Generator,
    said: Tables,
    members: Bool[np.ndarray, "C A"],
    answers: tuple[str, ...],
    contents: Int[np.ndarray, "M"],
    options: Int[np.ndarray, "M O"],
) -> tuple[Int[np.ndarray, "M"], Float32[np.ndarray, "M O"]]:
    """What annotators see and how they judge; items in which all of them reject everything are judged anew.

    Args:
      said: the world's language.
      members: whether an answer of the world's table is a paraphrase of a class.
      answers: the world's table.
      contents: the true content of each item.
      options: ids of its candidates.
    """
    count = len(contents)
    order = rng.permutation(count)
    # Shares are filled exactly: few items are annotated, and a draw for each would let the shares vary by the seed.
    misseen = order < round(_MISSEEN * count)
    divided = ~misseen & (order < round((_MISSEEN + _DIVIDED) * count))
    clarity = _VAGUE + (_CLEAR - _VAGUE) * (rng.permutation(count) + 0.5) / count
    seen = np.where(misseen, _another(rng, said, contents), contents)
    views = np.repeat(seen[:, None], ANNOTATORS, axis=1)
    dissenters = divided * (1 + (rng.random(count) < _TWO))
    views = np.where(np.arange(ANNOTATORS) < dissenters[:, None], _another(rng, said, seen)[:, None], views)
    hedged = np.array([any(hedge in answer for hedge in _HEDGES) for answer in answers])
    near = np.zeros_like(members)
    classes, others = np.nonzero(said.near)
    np.logical_or.at(near, classes, members[others])
    accepted = members[views[:, :, None], options[:, None, :]] * clarity[:, None, None]
    accepted = accepted * np.where(hedged, _HEDGED, 1.0)[options][:, None, :]
    chance = np.maximum(accepted, np.where(near[views[:, :, None], options[:, None, :]], _NEAR, _OTHER))
    relevance = np.zeros(options.shape, np.float32)
    while (empty := ~relevance.any(1)).any():
        judgements = rng.random(chance[empty].shape) < chance[empty]
        relevance[empty] = judgements.mean(1, dtype=np.float32)
    return seen, relevance


def _another(rng: np.random.Generator, said: Tables, contents: Int[np.ndarray, "M"]) -> Int[np.ndarray, "M"]:
    """Another content of the same topic, mostly a near one."""
    same = said.class_topic[contents][:, None] == said.class_topic
    weights = same * np.where(said.near[contents], _NEAREST, 1.0)
    weights[np.arange(len(contents)), contents] = 0
    cumulative = np.cumsum(weights, axis=1)
    return (cumulative <= rng.random((len(contents), 1)) * cumulative[:, -1:]).sum(1)
