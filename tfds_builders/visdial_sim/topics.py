"""The world's language as tables: topics with their question strings, classes of answers that say the same.

A topic is a type of question asked of one thing (`color:dog`); a class is a topic and a content (`color:dog/white`)
with the answers that are paraphrases of one another there.

Legend: `S` types (`TYPES`), `T` topics, `C` classes, `P` the most paraphrases of a class, `A` answers.
"""

import dataclasses
import functools

import numpy as np
from jaxtyping import Bool, Float, Int

from tfds_builders.visdial_sim import image_questions, lexicon, thing_questions
from tfds_builders.visdial_sim.answers import split
from tfds_builders.visdial_sim.question_type import Type

TYPES: tuple[Type, ...] = (*image_questions.TYPES, *thing_questions.TYPES)

# Share of a class's most popular answer; the others share the rest by Zipf's law.
_HEAD = {"yes": 0.6, "no": 0.6}
_OTHER_HEAD = 0.4


@dataclasses.dataclass(frozen=True)
class Topic:
    """One type asked of one thing. `subject` is empty where the question is about the image as a whole."""

    name: str
    type: str
    subject: str
    slot: int
    questions: tuple[str, ...]
    by_pronoun: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Tables:
    """Everything that can be said.

    Attributes:
      topics: those of one type are neighbours, in the order of the kinds of its role.
      first_topic: [S] id of each type's first topic.
      class_names: `topic/content`, classes of a topic are neighbours.
      class_topic: [C].
      class_of: [T, values] class of a topic where its attribute has a value; -1 where it cannot have it.
      answers: all answers, none twice.
      paraphrases: [C, P] ids into `answers`, -1 where a class has fewer.
      popularity: [C, P] their shares, each row sums to 1.
      near: [C, C] whether an annotator may take the one content for the other; never so of different topics.
    """

    topics: tuple[Topic, ...]
    first_topic: Int[np.ndarray, "S"]
    class_names: tuple[str, ...]
    class_topic: Int[np.ndarray, "C"]
    class_of: Int[np.ndarray, "T values"]
    answers: tuple[str, ...]
    paraphrases: Int[np.ndarray, "C P"]
    popularity: Float[np.ndarray, "C P"]
    near: Bool[np.ndarray, "C C"]

    def members(self) -> Bool[np.ndarray, "C A"]:
        """Whether an answer is a paraphrase of a class."""
        found = np.zeros((len(self.class_names), len(self.answers)), bool)
        rows, columns = np.nonzero(self.paraphrases >= 0)
        found[rows, self.paraphrases[rows, columns]] = True
        return found


@functools.cache
def tables() -> Tables:
    """The tables of the fixed lexicon and templates."""
    topics: list[Topic] = []
    first, names, class_topic, classes, contents = [], [], [], [], []
    class_of = np.full((_count_topics(), max(len(a.values) for a in lexicon.ATTRIBUTES)), -1)
    for slot, asked in enumerate(TYPES):
        first.append(len(topics))
        for kind in lexicon.ROLES[asked.role] if asked.role else ("",):
            topic = _topic(slot, asked, kind)
            start = {content: len(names) + index for index, content in enumerate(asked.answers)}
            for value, name in enumerate(lexicon.values(asked.attribute)):
                class_of[len(topics), value] = start.get(asked.reading.get(name, name), -1)
            names += [f"{topic.name}/{content}" for content in asked.answers]
            contents += list(asked.answers)
            class_topic += [len(topics)] * len(asked.answers)
            classes += [_fill(phrases, kind) for phrases in asked.answers.values()]
            topics.append(topic)
    answers = tuple(dict.fromkeys(answer for phrases in classes for answer in phrases))
    heads = [_HEAD.get(content, _OTHER_HEAD) for content in contents]
    paraphrases, popularity = _columns(classes, heads, {answer: index for index, answer in enumerate(answers)})
    class_topic = np.array(class_topic)
    near = np.array([[other in lexicon.near(content) for other in contents] for content in contents])
    near &= class_topic[:, None] == class_topic
    return Tables(
        tuple(topics), np.array(first), tuple(names), class_topic, class_of, answers, paraphrases, popularity, near
    )


def _count_topics() -> int:
    return sum(len(lexicon.ROLES[asked.role]) if asked.role else 1 for asked in TYPES)


def _topic(slot: int, asked: Type, kind: str) -> Topic:
    subject = kind or asked.subject
    questions = _fill(split(asked.questions), kind)
    by_pronoun = _fill(split(asked.by_pronoun or asked.questions), kind, pronoun=True) if asked.names_thing else ()
    return Topic(f"{asked.name}:{subject}" if subject else asked.name, asked.name, subject, slot, questions, by_pronoun)


def _fill(texts: tuple[str, ...], kind: str, pronoun: bool = False) -> tuple[str, ...]:
    """The templates about a thing of a kind, without repeats."""
    he, his = pronouns(kind)
    slots = {
        "x": he if pronoun else f"the {kind}",
        "xs": his if pronoun else f"the {kind}'s",
        "k": kind,
        "ks": lexicon.plural(kind),
        "he": he,
        "his": his,
    }
    return tuple(dict.fromkeys(text.format(**slots) for text in texts))


def pronouns(kind: str) -> tuple[str, str]:
    """`he` and `his` as said of a thing of a kind."""
    if kind not in lexicon.ROLES["person"]:
        return "it", "its"
    return ("he", "his") if kind in lexicon.MALE else ("she", "her")


def _columns(classes: list[tuple[str, ...]], heads: list[float], ids: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    paraphrases = np.full((len(classes), max(map(len, classes))), -1)
    popularity = np.zeros(paraphrases.shape)
    for row, phrases in enumerate(classes):
        paraphrases[row, : len(phrases)] = [ids[phrase] for phrase in phrases]
        rest = 1 / np.arange(1, len(phrases))
        popularity[row, : len(phrases)] = [heads[row], *((1 - heads[row]) * rest / rest.sum())]
    return paraphrases, popularity
