"""The simulated world behind `visdial_sim`: images of attributes, and dialogues about them with known answers.

An image has a value for each attribute of `lexicon.ATTRIBUTES` (none for those of a role it lacks) and a feature
vector: the sum of fixed random directions of its values plus noise. In each of ten rounds a topic is asked that was not
asked before; the image's value decides the content of the answer, whose wording is drawn from the content's class. In
part of the rounds the question names its thing by a pronoun, and the round before tells which thing is meant.

Legend: `N` dialogues, `R` = 10 rounds, `A` answers, `V` values of all attributes, `D` = 256 feature dimensions.
"""

import dataclasses
import functools

import numpy as np
from jaxtyping import Bool, Float32, Int

from tfds_builders.visdial_sim import annotators, candidates, lexicon
from tfds_builders.visdial_sim.topics import TYPES, Tables, tables

DIMENSIONS = 256
ROUNDS = 10
SPLITS = ("train", "validation", "test")
SIZES = {
    "tiny": {"train": 24, "validation": 8, "test": 8},
    "default": {"train": 3000, "validation": 300, "test": 300},
}
ANNOTATED = {"tiny": {"train": 24}, "default": {"train": 400}}  # validation and test wholly

_NOISE = 0.2  # standard deviation in each dimension; a value's direction has norm 1
_STAY = 0.75  # rounds that go on about the thing of the round before, where there is more to ask
_PRONOUN = 0.85  # of the rounds about the thing of the round before
_CAPTIONS = ("{things} in {scene}", "{things} , taken in {scene}", "there is {things} in {scene}", "{things}")


@dataclasses.dataclass(frozen=True)
class Dialogues:
    """All dialogues of a split as columns.

    Attributes:
      values: [N, attributes] of the image, index of the value; -1 where it has none.
      topics: [N, R] ids of topics.
      contents: [N, R] ids of classes: what the answers say.
      pronouns: [N, R] whether the question names its thing by a pronoun.
      questions: [N, R] index among the topic's questions, or its questions by pronoun.
      answers: [N, R] ids into `World.answers`.
      captions: one an image.
    """

    values: Int[np.ndarray, "N attributes"]
    topics: Int[np.ndarray, "N R"]
    contents: Int[np.ndarray, "N R"]
    pronouns: Bool[np.ndarray, "N R"]
    questions: Int[np.ndarray, "N R"]
    answers: Int[np.ndarray, "N R"]
    captions: tuple[str, ...]


class World:
    """All of one simulated world; a pure function of its seed, whatever was asked of it before.

    Attributes:
      answers: the answer table: every answer that can be said, in an order of the world's own.
      members: [C, A] whether an answer is a paraphrase of a class.
    """

    def __init__(self, world_seed: int = 0, size: str = "default"):
        self.world_seed, self.size = world_seed, size
        self.tables: Tables = tables()
        order = self._rng(0).permutation(len(self.tables.answers))
        self.answers = tuple(self.tables.answers[index] for index in order)
        self._place = np.argsort(order)  # of an answer of the tables in this world's table
        self.members = self.tables.members()[:, order]
        self._dialogues: dict[str, Dialogues] = {}
        self._options: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self._annotations: dict[str, annotators.Annotations] = {}

    def _rng(self, *stream: int) -> np.random.Generator:
        return np.random.default_rng([self.world_seed, *stream])

    def image_ids(self, split: str) -> Int[np.ndarray, "N"]:
        """Ids of the images: the split's number, then the dialogue's."""
        return (SPLITS.index(split) + 1) * 1_000_000 + np.arange(SIZES[self.size][split])

    def dialogues(self, split: str) -> Dialogues:
        if split not in self._dialogues:
            rng = self._rng(1, SPLITS.index(split))
            values = _images(rng, SIZES[self.size][split])
            slots, pronouns = _asked(rng, values)
            self._dialogues[split] = self._spoken(rng, values, slots, pronouns)
        return self._dialogues[split]

    def _spoken(self, rng: np.random.Generator, values: np.ndarray, slots: np.ndarray, pronouns: np.ndarray):
        said = self.tables
        kinds = np.array([lexicon.INDEX.get(f"{asked.role}.kind", -1) for asked in TYPES])
        attributes = np.array([lexicon.INDEX[asked.attribute] for asked in TYPES])
        rows = np.arange(len(values))[:, None]
        kind = np.where(kinds[slots] >= 0, values[rows, kinds[slots]], 0)
        topics = said.first_topic[slots] + kind
        contents = said.class_of[topics, values[rows, attributes[slots]]]
        drawn = rng.random((*contents.shape, 1)) > np.cumsum(said.popularity, axis=1)[contents]
        last = (said.paraphrases >= 0).sum(1) - 1  # against cumulative sums that stay below 1 by rounding
        answers = self._place[said.paraphrases[contents, np.minimum(drawn.sum(-1), last[contents])]]
        counts = np.array([[len(topic.questions), len(topic.by_pronoun)] for topic in said.topics])
        questions = (rng.random(topics.shape) * counts[topics, pronouns.astype(int)]).astype(int)
        return Dialogues(values, topics, contents, pronouns, questions, answers, _captions(rng, values))

    def question(self, split: str, index: int, turn: int) -> str:
        """The question of round `turn` (0-based) of a dialogue."""
        found = self.dialogues(split)
        topic = self.tables.topics[found.topics[index, turn]]
        return (topic.by_pronoun if found.pronouns[index, turn] else topic.questions)[found.questions[index, turn]]

    @functools.cached_property
    def directions(self) -> Float32[np.ndarray, "V D"]:
        """Orthonormal random directions, one a value: the values of the first attribute, then of the next, ..."""
        count = sum(len(attribute.values) for attribute in lexicon.ATTRIBUTES)
        frame, _ = np.linalg.qr(self._rng(2).standard_normal((DIMENSIONS, count)))
        return frame.T.astype(np.float32)

    def features(self, split: str) -> Float32[np.ndarray, "N D"]:
        """Feature vectors of the images of a split."""
        values = self.dialogues(split).values
        held = np.zeros((len(values), len(self.directions)), np.float32)
        rows, columns = np.nonzero(values >= 0)
        held[rows, _first_values()[columns] + values[rows, columns]] = 1
        noise = self._rng(3, SPLITS.index(split)).standard_normal((len(values), DIMENSIONS), dtype=np.float32)
        return held @ self.directions + np.float32(_NOISE) * noise

    def decode(self, features: Float32[np.ndarray, "N D"]) -> Int[np.ndarray, "N attributes"]:
        """The value of each attribute whose direction a feature vector is nearest to, present or not."""
        likeness = features @ self.directions.T
        blocks = np.split(likeness, _first_values()[1:], axis=1)
        return np.column_stack([block.argmax(1) for block in blocks])

    @functools.cached_property
    def _pools(self) -> candidates.Pools:
        train = self.dialogues("train")
        return candidates.pools(self.tables, train.topics.ravel(), train.answers.ravel(), len(self.answers))

    def options(self, split: str) -> tuple[Int[np.ndarray, "N R options"], Int[np.ndarray, "N R"]]:
        """The 100 candidates of each round, ids into `answers`, and the place of the dialogue's answer among them."""
        if split not in self._options:
            found = self.dialogues(split)
            rng = self._rng(4, SPLITS.index(split))
            options, gt_index = candidates.draw(rng, self._pools, found.topics.ravel(), found.answers.ravel())
            shape = found.topics.shape
            self._options[split] = options.reshape(*shape, -1), gt_index.reshape(shape)
        return self._options[split]

    def annotations(self, split: str) -> annotators.Annotations:
        """The dense annotations of a split, in the order of its dialogues."""
        if split not in self._annotations:
            count = ANNOTATED[self.size].get(split, SIZES[self.size][split])
            rng = self._rng(5, SPLITS.index(split))
            dialogues = np.sort(rng.permutation(SIZES[self.size][split])[:count])
            rounds = rng.integers(0, ROUNDS, count)
            contents = self.dialogues(split).contents[dialogues, rounds]
            options = self.options(split)[0][dialogues, rounds]
            seen, relevance = annotators.annotate(rng, self.tables, self.members, self.answers, contents, options)
            self._annotations[split] = annotators.Annotations(dialogues, rounds, seen, relevance)
        return self._annotations[split]


@functools.cache
def _first_values() -> Int[np.ndarray, "attributes"]:
    """The place of each attribute's first value among all values."""
    sizes = [len(attribute.values) for attribute in lexicon.ATTRIBUTES]
    return np.cumsum([0, *sizes[:-1]])


def _images(rng: np.random.Generator, count: int) -> Int[np.ndarray, "N attributes"]:
    values = np.zeros((count, len(lexicon.ATTRIBUTES)), int)
    for index, attribute in enumerate(lexicon.ATTRIBUTES):
        given = values[:, lexicon.INDEX[attribute.given]] if attribute.given else np.zeros(count, int)
        cumulative = np.cumsum(attribute.priors, axis=1)
        rows = np.minimum(given, len(cumulative) - 1)  # things that are absent lose the value below
        values[:, index] = (rng.random((count, 1)) > cumulative[rows, :-1]).sum(1)
    for index, attribute in enumerate(lexicon.ATTRIBUTES):
        if attribute.role:
            values[~present(values, attribute.role), index] = -1
    return values


def present(values: Int[np.ndarray, "N attributes"], role: str) -> Bool[np.ndarray, "N"]:
    """Whether an image has something of a role."""
    return values[:, lexicon.INDEX[f"{role}.kind"]] < len(lexicon.ROLES[role])


def _asked(rng: np.random.Generator, values: np.ndarray) -> tuple[Int[np.ndarray, "N R"], Bool[np.ndarray, "N R"]]:
    """The type asked in each round, none twice in a dialogue, and whether it is asked by a pronoun."""
    roles = np.array([[asked.role == role for asked in TYPES] for role in lexicon.ROLES])
    absent = np.array([~present(values, role) for role in lexicon.ROLES])
    free = ~(roles[:, None, :] & absent[:, :, None]).any(0)
    weights = np.log([asked.weight for asked in TYPES])
    names = np.array([asked.names_thing for asked in TYPES])
    rows = np.arange(len(values))
    before = np.zeros((len(values), len(TYPES)), bool)  # types about the thing of the round before
    slots, pronouns = [], []
    for _ in range(ROUNDS):
        stays = (free & before).any(1) & (rng.random(len(values)) < _STAY)
        may = np.where(stays[:, None], free & before, free)
        # The largest of Gumbel variables: a draw in proportion to the weights.
        slot = np.where(may, weights + rng.gumbel(size=may.shape), -np.inf).argmax(1)
        pronouns.append(before[rows, slot] & names[slot] & (rng.random(len(values)) < _PRONOUN))
        before = (roles[:, slot, None] & roles[:, None, :]).any(0) & names[slot, None]
        free[rows, slot] = False
        slots.append(slot)
    return np.array(slots).T, np.array(pronouns).T


def _captions(rng: np.random.Generator, values: np.ndarray) -> tuple[str, ...]:
    """A caption names the things of the image, and mostly its scene."""
    scenes = lexicon.values("scene")
    captions = []
    for row, template in zip(values, rng.choice(len(_CAPTIONS), len(values), p=(0.4, 0.1, 0.2, 0.3)), strict=True):
        kinds = [(*kinds, "")[row[lexicon.INDEX[f"{role}.kind"]]] for role, kinds in lexicon.ROLES.items()]
        things = " and ".join(f"a {kind}" for kind in kinds if kind) or "a picture"
        scene = f"a {scenes[row[lexicon.INDEX['scene']]]}"
        captions.append(lexicon.with_articles(_CAPTIONS[template].format(things=things, scene=scene)))
    return tuple(captions)
