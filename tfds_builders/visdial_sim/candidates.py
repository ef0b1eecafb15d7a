"""Candidate lists as VisDial's were made (Das et al., 2017, section 3.3, "Candidate Answers").

The dialogue's answer, the answers of the most similar training questions (here of the same topic first, then of the
same type, then of types of the same family), the most popular answers of the training set, and random answers. No
answer is in a list twice, and its order is random.

Legend: `Q` rounds, `T` topics, `A` answers.
"""

import dataclasses

import numpy as np
from jaxtyping import Int

from tfds_builders.visdial_sim.topics import TYPES, Tables

OPTIONS = 100
SIMILAR = 50  # at most so many answers of similar questions
POPULAR = 30
_DRAWN = (55, 40, 60)  # similar questions looked at: of the topic, the type, the family
_RANDOM = 160  # draws, with repeats, for the rest of a list
_ID = np.int16  # of an answer: sorting many short rows of them is what takes the time


@dataclasses.dataclass(frozen=True)
class Pools:
    """The training answers by likeness of their questions.

    Attributes:
      groups: for each level of likeness (topic, type, family), [T] the group of a topic.
      answers: for each level, the training answers sorted by group.
      starts: for each level, where a group begins among them, and after the last its end.
      popular: the most popular training answers.
      table: size of the answer table.
    """

    groups: tuple[Int[np.ndarray, "T"], ...]
    answers: tuple[Int[np.ndarray, "Q"], ...]
    starts: tuple[Int[np.ndarray, "..."], ...]
    popular: Int[np.ndarray, "popular"]
    table: int


def pools(said: Tables, topics: Int[np.ndarray, "Q"], answers: Int[np.ndarray, "Q"], table: int) -> Pools:
    """Sorts the training answers by topic, type and family.

    Args:
      said: the world's language.
      topics: topic of each training question.
      answers: its answer, an id below `table`.
      table: size of the answer table.
    """
    types = [TYPES[topic.slot] for topic in said.topics]
    groups = [np.arange(len(types))]
    groups += [
        np.unique(names, return_inverse=True)[1] for names in ([t.name for t in types], [t.family for t in types])
    ]
    ordered, starts = [], []
    for group in groups:
        ordered.append(answers[np.argsort(group[topics], kind="stable")].astype(_ID))
        starts.append(np.cumsum([0, *np.bincount(group[topics], minlength=group.max() + 1)]))
    popular = np.argsort(-np.bincount(answers, minlength=table), kind="stable")[:POPULAR].astype(_ID)
    return Pools(tuple(groups), tuple(ordered), tuple(starts), popular, table)


def draw(
    rng: np.random.Generator, pool: Pools, topics: Int[np.ndarray, "Q"], answers: Int[np.ndarray, "Q"]
) -> tuple[Int[np.ndarray, "Q options"], Int[np.ndarray, "Q"]]:
    """Candidate lists for rounds of these topics and answers.

    Returns:
      The ids of the 100 candidates of each round, and the place of its answer among them.
    """
    similar = [_similar(rng, pool, level, topics, drawn) for level, drawn in enumerate(_DRAWN)]
    similar = _distinct(np.column_stack([answers.astype(_ID), *similar]), 1 + SIMILAR)
    popular = np.broadcast_to(pool.popular, (len(topics), len(pool.popular)))
    anything = rng.integers(0, pool.table, (len(topics), _RANDOM), dtype=_ID)
    found = _distinct(np.column_stack([similar, popular, anything]), OPTIONS)
    if not ((found >= 0).sum(1) == OPTIONS).all():
        raise ValueError(f"An answer table of {pool.table} answers is too small for lists of {OPTIONS}.")
    options = rng.permuted(found[found >= 0].reshape(-1, OPTIONS).astype(np.int32), axis=1)
    return options, (options == answers[:, None]).argmax(1)


def _similar(
    rng: np.random.Generator, pool: Pools, level: int, topics: np.ndarray, count: int
) -> Int[np.ndarray, "Q count"]:
    """Answers of random training questions of the same group; -1 where it has none."""
    groups, starts = pool.groups[level][topics], pool.starts[level]
    sizes = (starts[groups + 1] - starts[groups])[:, None]
    places = starts[groups][:, None] + (rng.random((len(topics), count)) * sizes).astype(int)
    return np.where(sizes > 0, pool.answers[level][np.minimum(places, len(pool.answers[level]) - 1)], _ID(-1))


def _distinct(rows: Int[np.ndarray, "Q width"], limit: int) -> Int[np.ndarray, "Q width"]:
    """The first `limit` different answers of each row in their places, -1 in all others."""
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    first = np.ones(rows.shape, bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    kept = np.empty_like(first)
    np.put_along_axis(kept, order, first & (ordered >= 0), axis=1)
    kept &= np.cumsum(kept, axis=1, dtype=_ID) <= limit
    return np.where(kept, rows, rows.dtype.type(-1))
