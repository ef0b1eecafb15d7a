"""The simulated world behind `vatex_sim`: videos of events, their features and captions, with known answers.

A video is one to three events in time order. An event is an agent, a verb, an object, a tool and a place; verbs,
objects and tools are words with two meanings, one of which happens. In most videos two events share such words with
opposite meanings, so that only the segments of the event a caption speaks of settle them. The agent tells which event
that is: no two events of a video have the same.

Legend: `L` segments, `D` = 1024 feature dimensions.
"""

import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float32

from tfds_builders.vatex_sim import lexicon, templates
from tfds_builders.vatex_sim.templates import Filler, Telling

DIMENSIONS = 1024
CAPTIONS = 10
PAIRS = 5
SPLITS = ("train", "validation", "test")
SIZES = {
    "tiny": {"train": 24, "validation": 8, "test": 8},
    "default": {"train": 2000, "validation": 150, "test": 200},
}

# Standard deviation of a feature's noise; with the factors below the whole feature's is near 0.2, as I3D's.
_NOISE = 0.08
# Norms of what one segment adds to the noise. A noun or verb shows which thing it is, and which of two kinds of thing
# (as birds resemble one another and machines do), so that what is learnt of one word helps with the next.
_NORMS = {"agent": 3.0, "colour": 0.5, "place": 0.8, "meaning": 0.8, "kind": 2.8}
_EVENTS_SHARE = (0.10, 0.45, 0.45)  # videos of one, two, three events
_SHARED_WORD = 0.85  # a slot of the two events that contrast holds the same word
_ENGLISH_AMBIGUOUS = 0.7  # nouns and verbs ambiguous in English; the rest are in Chinese
_PRIOR = (0.5, 0.62)  # range of the share of a word's likelier sense where it does not contrast
_DOUBLE = 0.25  # captions of two events, where two events share no word
_COLOURED = 0.25  # agents whose dress is told


@dataclasses.dataclass(frozen=True)
class Event:
    """Agent, dress, place (indices into the lexicon), concepts of verb, object and tool, and segments it lasts."""

    agent: int
    colour: int
    place: int
    verb: int
    noun: int
    tool: int
    length: int

    def concepts(self) -> tuple[int, int, int]:
        return self.verb, self.noun, self.tool


@dataclasses.dataclass(frozen=True)
class Video:
    """One video: its events in time order and its captions. Entry i >= 5 of `en` and `zh` is the same telling."""

    video_id: str
    events: tuple[Event, ...]
    en: tuple[Telling, ...]
    zh: tuple[Telling, ...]

    def parallel(self) -> tuple[Telling, ...]:
        return self.en[-PAIRS:]

    def holds_both(self, concept: int) -> bool:
        """Whether both meanings of the concept's ambiguous word happen in this video."""
        return any(concept ^ 1 in event.concepts() for event in self.events)


class World:
    """All of one simulated world; a pure function of its seed, whatever was asked of it before.

    `likelier[c // 2]` is the more frequent sense (0 or 1) of the word of concept `c`: the best guess without the video.
    """

    def __init__(self, world_seed: int = 0, size: str = "default"):
        self.world_seed, self.size = world_seed, size
        self._videos: dict[str, tuple[Video, ...]] = {}
        rng = np.random.default_rng([world_seed, 0])
        words = len(lexicon.CONCEPTS) // 2
        self.likelier = rng.integers(0, 2, words)
        self._prior = rng.uniform(*_PRIOR, words)
        self._flavour = rng.dirichlet(np.full(len(templates.SINGLE), 20.0))

    @functools.cached_property
    def _directions(self) -> Mapping[str, Float32[np.ndarray, "..."]]:
        """The fixed random directions of every factor, [slot, value, D] for meanings and kinds, [value, D] else."""
        rng = np.random.default_rng([self.world_seed, 1])
        shapes = {
            "agent": (len(lexicon.AGENTS),),
            "colour": (len(lexicon.COLOURS),),
            "place": (len(lexicon.PLACES),),
            "meaning": (3, len(lexicon.CONCEPTS)),
            "kind": (3, 2),
        }
        scale = {name: norm / np.sqrt(DIMENSIONS) for name, norm in _NORMS.items()}
        found = {name: scale[name] * rng.standard_normal((*shape, DIMENSIONS)) for name, shape in shapes.items()}
        # Which sense of a word is of which kind is the world's choice, so that the lexicon's order means nothing.
        first_kind = rng.integers(0, 2, len(lexicon.CONCEPTS) // 2)
        kinds = np.repeat(first_kind, 2) ^ np.tile([0, 1], len(first_kind))
        found["concept"] = found["meaning"] + found["kind"][:, kinds]
        return {name: values.astype(np.float32) for name, values in found.items()}

    def videos(self, split: str) -> tuple[Video, ...]:
        """The videos of a split with their captions; features come from `features`."""
        if split not in self._videos:
            rng = np.random.default_rng([self.world_seed, 2, SPLITS.index(split)])
            names = [f"sim{self.world_seed}_{split}_{index:05d}" for index in range(SIZES[self.size][split])]
            self._videos[split] = tuple(self._video(rng, name) for name in names)
        return self._videos[split]

    def features(self, split: str, index: int) -> Float32[np.ndarray, "L D"]:
        """Features of video `index` of a split: each segment is its event's factors' directions plus noise."""
        rng = np.random.default_rng([self.world_seed, 3, SPLITS.index(split), index])
        events = self.videos(split)[index].events
        signal = np.repeat([self._signal(event) for event in events], [event.length for event in events], axis=0)
        return signal + np.float32(_NOISE) * rng.standard_normal(signal.shape, dtype=np.float32)

    def _signal(self, event: Event) -> Float32[np.ndarray, "D"]:
        directions = self._directions
        scene = directions["agent"][event.agent] + directions["colour"][event.colour] + directions["place"][event.place]
        return scene + sum(directions["concept"][slot, concept] for slot, concept in enumerate(event.concepts()))

    def _video(self, rng: np.random.Generator, video_id: str) -> Video:
        events = self._events(rng)
        parallel = self._tellings(rng, events, PAIRS)
        english, chinese = (self._tellings(rng, events, CAPTIONS - PAIRS, unlike=parallel) for _ in range(2))
        return Video(video_id, events, (*english, *parallel), (*chinese, *parallel))

    def _events(self, rng: np.random.Generator) -> tuple[Event, ...]:
        count = 1 + rng.choice(3, p=_EVENTS_SHARE)
        concepts = self._event_concepts(rng, count)
        agents = rng.permutation(len(lexicon.AGENTS))
        places = rng.permutation(len(lexicon.PLACES))
        lengths = rng.integers(8, 32 // count + 1, count)
        colours = rng.integers(0, len(lexicon.COLOURS), count)
        facts = np.column_stack([agents[:count], colours, places[:count], concepts, lengths])
        return tuple(Event(*map(int, row)) for row in facts)

    def _event_concepts(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """[count, 3] concepts of verb, object, tool: words all distinct, save those that contrast in two events."""
        words: list[list[int]] = []
        taken: set[int] = set()
        for slot in range(3):
            words.append([self._new_word(rng, "verb" if slot == 0 else "noun", taken) for _ in range(count)])
        chosen = np.array(words).T
        bits = rng.random(chosen.shape) < self._prior[chosen]
        senses = np.where(bits, self.likelier[chosen], 1 - self.likelier[chosen])
        if count > 1:
            first, second = rng.permutation(count)[:2]
            shared = rng.random(3) < _SHARED_WORD
            even = rng.integers(0, 2, 3)  # a fair coin: which event holds which sense must tell nothing
            chosen[second, shared] = chosen[first, shared]
            senses[first, shared], senses[second, shared] = even[shared], 1 - even[shared]
        return 2 * chosen + senses

    def _new_word(self, rng: np.random.Generator, part_of_speech: str, taken: set[int]) -> int:
        language = "en" if rng.random() < _ENGLISH_AMBIGUOUS else "zh"
        words = [index // 2 for index in lexicon.ids(part_of_speech, language)[::2] if index // 2 not in taken]
        word = words[rng.integers(len(words))]
        taken.add(word)
        return word

    def _tellings(
        self, rng: np.random.Generator, events: Sequence[Event], count: int, unlike: Sequence[Telling] = ()
    ) -> list[Telling]:
        """`count` different captions, none in `unlike`, that tell every event about equally often."""
        pairs = [
            (i, j)
            for i, j in itertools.combinations(range(len(events)), 2)
            # A caption that told a word in both its senses would give the one away by the other.
            if not {c // 2 for c in events[i].concepts()} & {c // 2 for c in events[j].concepts()}
        ]
        order = np.concatenate([rng.permutation(len(events)) for _ in range(count)])
        found: list[Telling] = []
        while len(found) < count:
            if pairs and rng.random() < _DOUBLE:
                template = len(templates.SINGLE) + int(rng.integers(len(templates.DOUBLE)))
                told = pairs[rng.integers(len(pairs))]
            else:
                template, told = int(rng.choice(len(templates.SINGLE), p=self._flavour)), (order[len(found)],)
            telling = Telling(template, self._fillers(rng, template, [events[index] for index in told]))
            if telling not in found and telling not in unlike:
                found.append(telling)
        return found

    def _fillers(
        self, rng: np.random.Generator, template: int, events: Sequence[Event]
    ) -> tuple[tuple[str, Filler], ...]:
        fillers = []
        for slot in templates.slots(template):
            event = events[int(slot[1]) - 1]
            thing = int(rng.integers(len(lexicon.THING_DETERMINERS)))
            agent = int(rng.integers(len(lexicon.AGENT_DETERMINERS)))
            colour = event.colour if rng.random() < _COLOURED else -1
            filler = {
                "A": (agent, event.agent, colour),
                "V": (event.verb,),
                "N": (thing, event.noun),
                "M": (thing, event.tool),
                "P": (event.place,),
            }
            fillers.append((slot, filler[slot[0]]))
        return tuple(fillers)

    def senses(self, telling: Telling, language: str) -> dict[str, int]:
        """The true sense of each word of a telling that is ambiguous in a language."""
        concepts = [lexicon.CONCEPTS[index] for index in telling.concepts()]
        return {concept.word(language): concept.sense for concept in concepts if concept.ambiguous_in == language}

    def likelier_senses(self, language: str) -> dict[str, int]:
        """The likelier sense of every word ambiguous in a language: what is best guessed without the video."""
        return {
            lexicon.CONCEPTS[2 * word].word(language): int(sense)
            for word, sense in enumerate(self.likelier)
            if lexicon.CONCEPTS[2 * word].ambiguous_in == language
        }

    def ceiling(self, telling: Telling, language: str) -> str:
        """The most probable translation of a telling out of `language`, given the sentence alone."""
        return translate(templates.render(telling, language), language, self.likelier_senses(language))


def translate(sentence: str, source: str, senses: Mapping[str, int]) -> str:
    """The translation of a sentence of the world out of the language `source` into the other.

    Args:
        sentence: any caption of a world.
        source: `en` or `zh`, its language.
        senses: ambiguous word of the source language -> its sense, 0 or 1 (`lexicon`); other words may be in it.

    Raises:
        ValueError: no caption of the world.
        KeyError: an ambiguous word of the sentence is not in `senses`.
    """
    return templates.render(templates.parse(sentence, source, senses), "zh" if source == "en" else "en")


def describe(telling: Telling) -> dict[str, str]:
    """A telling in both languages."""
    return {language: templates.render(telling, language) for language in ("en", "zh")}
