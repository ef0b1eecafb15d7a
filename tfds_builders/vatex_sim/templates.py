"""How the simulated world speaks: pairs of English and Chinese sentence patterns, and what fills them.

Patterns, determiners and words are paired one to one, so a sentence of one language, with the senses of its ambiguous
words, determines its sentence in the other. Slots: `A` agent phrase, `V` verb, `N` object, `M` tool or neighbour,
`P` place; a digit tells which of the caption's events a slot belongs to.
"""

import dataclasses
import functools
import itertools
import re
from collections.abc import Mapping

from tfds_builders.vatex_sim import lexicon

# Sentences of one event.
SINGLE = (
    ("{A1} is {V1} {N1} and {M1} .", "{A1}正在{V1}{N1}和{M1}。"),
    ("{A1} keeps {V1} {N1} near {M1} .", "{A1}在{M1}附近不断{V1}{N1}。"),
    ("{A1} is {V1} {N1} in the {P1} .", "{A1}正在{P1}里{V1}{N1}。"),
    ("In the {P1} , {A1} is {V1} {N1} or {M1} .", "在{P1}里，{A1}正在{V1}{N1}或者{M1}。"),
    ("{A1} is {V1} {N1} with {M1} .", "{A1}正在用{M1}{V1}{N1}。"),
    ("{A1} is {V1} {N1} next to {M1} .", "{A1}正在{M1}旁边{V1}{N1}。"),
    ("{A1} starts {V1} {N1} with {M1} in the {P1} .", "{A1}开始在{P1}里用{M1}{V1}{N1}。"),
    ("We see {A1} {V1} {N1} and {M1} .", "我们看到{A1}在{V1}{N1}和{M1}。"),
    ("There is {A1} {V1} {N1} beside {M1} .", "有{A1}在{M1}边上{V1}{N1}。"),
    ("{A1} is busy {V1} {N1} under {M1} .", "{A1}在{M1}下面忙着{V1}{N1}。"),
    ("{A1} enjoys {V1} {N1} for {M1} .", "{A1}喜欢为{M1}{V1}{N1}。"),
    ("With {M1} , {A1} is {V1} {N1} .", "拿着{M1}的{A1}正在{V1}{N1}。"),
    ("This video shows {A1} {V1} {N1} behind {M1} .", "视频显示{A1}在{M1}后面{V1}{N1}。"),
    ("{A1} stands there {V1} {N1} and {M1} .", "{A1}站在那里{V1}{N1}和{M1}。"),
)
# Sentences of two events, told in time order.
DOUBLE = (
    ("{A1} is {V1} {N1} , then {A2} is {V2} {N2} .", "{A1}正在{V1}{N1}，然后{A2}正在{V2}{N2}。"),
    ("{A1} is {V1} {N1} and {A2} is {V2} {N2} .", "{A1}正在{V1}{N1}，而且{A2}正在{V2}{N2}。"),
    ("First {A1} is {V1} {N1} , later {A2} {V2} {N2} .", "首先{A1}在{V1}{N1}，后来{A2}在{V2}{N2}。"),
)
TEMPLATES = SINGLE + DOUBLE
_SLOT = re.compile(r"\{([AVNMP])([12])\}")

# What fills a slot: (determiner, agent, colour or -1) for A, (determiner, concept) for N and M, (concept,) for V,
# (place,) for P; all are indices into the lexicon.
Filler = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Telling:
    """A sentence without its language: a template and what fills its slots."""

    template: int
    fillers: tuple[tuple[str, Filler], ...]

    def concepts(self) -> list[int]:
        """Ids of the noun and verb concepts it tells, in the order of its slots."""
        return [filler[-1] for slot, filler in self.fillers if slot[0] in "VNM"]


def content_words(telling: Telling, language: str) -> list[str]:
    """The nouns, verbs and colours a sentence is made of, in the order of the telling's slots."""
    words = []
    for slot, filler in telling.fillers:
        if slot[0] == "A":
            words.append(lexicon.AGENTS[filler[1]][language == "zh"])
            if filler[2] >= 0:
                words.append(lexicon.COLOURS[filler[2]][language == "zh"])
        else:
            words.append(_phrase("P" if slot[0] == "P" else "V", filler[-1:], language))
    return words


def slots(template: int) -> list[str]:
    """The slots of a template, such as `A1`, in the order of the English sentence."""
    return ["".join(found) for found in _SLOT.findall(TEMPLATES[template][0])]


def render(telling: Telling, language: str) -> str:
    """The sentence of a telling: English with a capital and spaced words, or Chinese without spaces."""
    pattern = TEMPLATES[telling.template][language == "zh"]
    phrases = {slot: _phrase(slot[0], filler, language) for slot, filler in telling.fillers}
    sentence = pattern.format(**phrases)
    if language == "zh":
        return sentence
    return sentence[0].upper() + sentence[1:].replace(" .", ".").replace(" ,", ",")


def parse(sentence: str, language: str, senses: Mapping[str, int]) -> Telling:
    """The telling of a sentence of the world, given the sense (0 or 1) of each of its ambiguous words.

    Raises:
        ValueError: no template, or more than one, gives this sentence.
        KeyError: `senses` lacks an ambiguous word of the sentence.
    """
    found = []
    for template in range(len(TEMPLATES)):
        match = _matcher(template, language).fullmatch(sentence)
        if match:
            fillers = tuple((slot, _meant(slot[0], match[slot], language, senses)) for slot in slots(template))
            found.append(Telling(template, fillers))
    if len(found) != 1:
        raise ValueError(f"{len(found)} templates give {sentence!r}")
    return found[0]


def aligned_words(en: str, zh: str) -> list[tuple[str, str]]:
    """The content words of a pair of sentences, each with its translation, in the order of the English sentence.

    What fills a slot of one fills it in the other, so no senses need be known.

    Raises:
        ValueError: no template, or more than one, gives this pair.
    """
    found = []
    for template in range(len(TEMPLATES)):
        matches = [_matcher(template, language).fullmatch(sentence) for language, sentence in (("en", en), ("zh", zh))]
        if all(matches):
            sides = [{slot: match[slot] for slot in slots(template)} for match in matches]
            phrases = ((slot[0], *(side[slot] for side in sides)) for slot in slots(template))
            found.append([pair for phrase in phrases for pair in _content(*phrase)])
    if len(found) != 1:
        raise ValueError(f"{len(found)} templates give {en!r} with {zh!r}")
    return found[0]


def _content(kind: str, en: str, zh: str) -> list[tuple[str, str]]:
    """The content words of a phrase and of its translation, side by side: one, or of a dressed agent two."""
    if kind in "VP":
        return [(en, zh)]
    readings = [(phrase, _readings(kind, language)) for phrase, language in ((en, "en"), (zh, "zh"))]
    meant = [(found.get(phrase) or found[phrase[0].lower() + phrase[1:]])[0] for phrase, found in readings]
    if kind == "A":
        agent, colour = meant[0][1:]
        pairs = [tuple(lexicon.AGENTS[agent])]
        return pairs + ([tuple(lexicon.COLOURS[colour])] if colour >= 0 else [])
    return [(lexicon.CONCEPTS[meant[0][-1]].word("en"), lexicon.CONCEPTS[meant[1][-1]].word("zh"))]


def _phrase(kind: str, filler: Filler, language: str) -> str:
    zh = language == "zh"
    if kind == "V":
        return lexicon.CONCEPTS[filler[0]].word(language)
    if kind == "P":
        return lexicon.PLACES[filler[0]][zh]
    if kind == "A":
        determiner, agent, colour = filler
        words = lexicon.AGENT_DETERMINERS[determiner][zh], lexicon.AGENTS[agent][zh]
        if colour < 0:
            return "".join(words) if zh else " ".join(words)
        dress = lexicon.COLOURS[colour][zh]
        return f"{words[0]}{dress}{words[1]}" if zh else f"{words[0]} {words[1]} in {dress}"
    determiner, concept = filler
    word, article = lexicon.CONCEPTS[concept].word(language), lexicon.THING_DETERMINERS[determiner][zh]
    if zh:
        return article + word
    return f"{'an' if article == 'a' and word[0] in 'aeiou' else article} {word}"


@functools.cache
def _readings(kind: str, language: str) -> Mapping[str, tuple[Filler, ...]]:
    """Every phrase of a kind of slot -> what it may mean: one filler, or two by sense."""
    things = (*lexicon.ids("noun", "en"), *lexicon.ids("noun", "zh"))
    spans = {
        "V": ((*lexicon.ids("verb", "en"), *lexicon.ids("verb", "zh")),),
        "P": (range(len(lexicon.PLACES)),),
        "A": (range(len(lexicon.AGENT_DETERMINERS)), range(len(lexicon.AGENTS)), range(-1, len(lexicon.COLOURS))),
        "N": (range(len(lexicon.THING_DETERMINERS)), things),
    }
    found: dict[str, tuple[Filler, ...]] = {}
    for filler in itertools.product(*spans["N" if kind == "M" else kind]):
        phrase = _phrase(kind, filler, language)
        found[phrase] = (*found.get(phrase, ()), filler)
    return found


def _meant(kind: str, phrase: str, language: str, senses: Mapping[str, int]) -> Filler:
    # A sentence may begin with its agent, whose article is then a capital.
    readings = _readings(kind, language)
    fillers = readings.get(phrase) or readings[phrase[0].lower() + phrase[1:]]
    if len(fillers) == 1:
        return fillers[0]
    return fillers[senses[lexicon.CONCEPTS[fillers[0][-1]].word(language)]]


@functools.cache
def _matcher(template: int, language: str) -> re.Pattern:
    pattern = TEMPLATES[template][language == "zh"]
    if language == "en":
        pattern = pattern.replace(" .", ".").replace(" ,", ",")
    parts = re.split(r"\{(..)\}", pattern)
    for index in range(1, len(parts), 2):
        phrases = sorted(_readings(parts[index][0], language), key=len, reverse=True)
        parts[index] = f"(?P<{parts[index]}>(?i:{'|'.join(map(re.escape, phrases))}))"
    parts[::2] = map(re.escape, parts[::2])
    return re.compile("".join(parts))
