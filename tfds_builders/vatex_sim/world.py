"""The simulated world behind `vatex_sim`: videos of events, their features and captions, with known answers.

A video is one to three events in time order. An event is an agent, a verb, an object, a tool and a place; verbs,
objects and tools are words with two meanings, one of which happens. Every event is of one of two kinds, which decides
the senses of all its words that are ambiguous in English, and, independently, of one of two others, which decides those
of its words that are ambiguous in Chinese: of each word one meaning is of kind 0, the other of kind 1, by a random map
of the world's own. In all videos of several events two of them share words and are of opposite kinds, so that
only the segments of the event a caption speaks of settle the senses. The agent tells which event that is: no two events
of a video have the same.

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
_NOISE = 0.06
# Norms of what one segment adds to the noise. What is done, and with what, weighs as much as who does it, as it does to
# an action classifier. Were it fainter, a captioner would learn scenes by heart; were the agent fainter, by which a
# sentence says what event it tells, a translator would take long to learn where to look. An event is of one of two
# kinds (of living things, or of made ones), which decides the senses of all its words: what is learnt of one word helps
# with the next.
_NORMS = {"agent": 3.2, "colour": 0.5, "place": 0.6, "meaning": 3.2, "kind": 2.2}
# Whether the word of concepts 2 i and 2 i + 1 is the one that is ambiguous in Chinese.
_CHINESE = np.array([concept.ambiguous_in == "zh" for concept in lexicon.CONCEPTS[::2]], np.int64)
_EVENTS_SHARE = (0.30, 0.45, 0.25)  # videos of one, two, three events
_ENGLISH_AMBIGUOUS = 0.7  # nouns and verbs ambiguous in English; the rest are in Chinese
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

    Both kinds of event are as likely, so without the video one is as good a guess as the other, but all words of an
    event must be guessed of the same: `likelier[c // 2]` is the sense (0 or 1) of the kind that this world's ceiling
    guesses, for the word of concept `c`.
    """

    def __init__(self, world_seed: int = 0, size: str = "default"):
        self.world_seed, self.size = world_seed, size
        self._videos: dict[str, tuple[Video, ...]] = {}
        rng = np.random.default_rng([world_seed, 0])
        words = len(lexicon.CONCEPTS) // 2
        self._guessed_kind = int(rng.integers(0, 2, words)[0])
        # Which sense of a word is of which kind is the world's choice, so that the lexicon's order means nothing.
        self._first_kind = rng.integers(0, 2, words)  # the kind of each word's sense 0
        self.likelier = self._first_kind ^ self._guessed_kind
        self._flavour = rng.dirichlet(np.full(len(templates.SINGLE), 20.0))

    @functools.cached_property
    def _directions(self) -> Mapping[str, Float32[np.ndarray, "..."]]:
        """Fixed random directions: meanings [slot, concept, D], kinds [language, kind, D], the others [value, D]."""
        rng = np.random.default_rng([self.world_seed, 1])
        shapes = {
            "agent": (len(lexicon.AGENTS),),
            "colour": (len(lexicon.COLOURS),),
            "place": (len(lexicon.PLACES),),
            "meaning": (3, len(lexicon.CONCEPTS)),
            "kind": (2, 2),
        }
        scale = {name: norm / np.sqrt(DIMENSIONS) for name, norm in _NORMS.items()}
        found = {name: scale[name] * rng.standard_normal((*shape, DIMENSIONS)) for name, shape in shapes.items()}
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
        meanings = sum(directions["meaning"][slot, concept] for slot, concept in enumerate(event.concepts()))
        kinds = {(_CHINESE[concept // 2], self.kind(concept)) for concept in event.concepts()}
        return scene + meanings + sum(directions["kind"][kind] for kind in sorted(kinds))

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
        # As long as one another: else the mean of the features would show the kind of the longest, and whose it is.
        lengths = np.full(count, rng.integers(8, 32 // count + 1))
        colours = rng.integers(0, len(lexicon.COLOURS), count)
        facts = np.column_stack([agents[:count], colours, places[:count], concepts, lengths])
        return tuple(Event(*map(int, row)) for row in facts)

    def _event_concepts(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """[count, 3] concepts of verb, object, tool: words all distinct, save those that two opposite events share."""
        words: list[list[int]] = []
        taken: set[int] = set()
        for slot in range(3):
            words.append([self._new_word(rng, "verb" if slot == 0 else "noun", taken) for _ in range(count)])
        chosen = np.array(words).T
        kinds = rng.integers(0, 2, (count, 2))
        if count > 1:
            first, second = rng.permutation(count)[:2]
            chosen[second] = chosen[first]
            kinds[second] = 1 - kinds[first]
        # A kind for the words ambiguous in English and another for those in Chinese: one kind for both would let the
        # words that are plain in the sentence's language give away the senses of the others.
        senses = np.take_along_axis(kinds, _CHINESE[chosen], axis=1) ^ self._first_kind[chosen]
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

    def kind(self, concept: int) -> int:
        """The kind (0 or 1), for the language its word is ambiguous in, of the events in which a concept happens."""
        return int(self._first_kind[concept // 2]) ^ concept % 2

    def most_probable_senses(self, telling: Telling, language: str) -> dict[str, int]:
        """The most probable senses, taken together, of the words ambiguous in a language, given the sentence alone.

        All words of an event are of one kind, and both kinds are as likely; events told together are of independent
        kinds, so that this guess is one of several equally probable ones.
        """
        guess = {"1": self._guessed_kind, "2": 1 - self._guessed_kind}
        told = [(guess[slot[1]], filler[-1]) for slot, filler in telling.fillers if slot[0] in "VNM"]
        return {
            lexicon.CONCEPTS[concept].word(language): kind ^ self.kind(concept & ~1)
            for kind, concept in told
            if lexicon.CONCEPTS[concept].ambiguous_in == language
        }

    def ceiling(self, telling: Telling, language: str) -> str:
        """The most probable translation of a telling out of `language`, given the sentence alone."""
        return translate(templates.render(telling, language), language, self.most_probable_senses(telling, language))


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
