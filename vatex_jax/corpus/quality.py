"""The rules by which VaTeX's captions were accepted (section 3.1), as a report and as a filter.

A caption is rejected where it is
- short: English of fewer than 8 words; Chinese that describes the video directly (all but the parallel captions) of
  fewer than 15 Chinese characters; translations may be as short as they are;
- repeated: the same as an earlier caption that was not rejected, of this video or another (`statistics.text_key` says
  what is the same);
- sensitive: it holds a word of a list that the user supplies;
- in another language: most of its words are of another script, or, in English of some length, another European
  language's commonest words are by two more than English's.

The last is a rule of thumb that needs no model: it knows Spanish, French, German, Italian and Portuguese, and says
nothing of captions of fewer than five words.
"""

import dataclasses
import functools
import pathlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from vatex_jax.corpus.readers import LANGUAGES, CorpusVideo
from vatex_jax.corpus.statistics import is_word, text_key
from vatex_jax.data.captions import PARALLEL_CAPTIONS
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.text.tokenization import HAN, make_tokenizer

RULES = ("short", "repeated", "sensitive", "language")

# Words that are English too (son, die, no, a) are left out of the other languages' lists.
_COMMON = {
    "en": "the a an is are of and to in on with his her their while then at it as by from for that this who into up",
    "es": "el la los las un una es de y con en su mientras luego del al por para que se unos lo está están hombre",
    "fr": "le la les un une des et avec dans sur ses puis du au aux qui se il elle pendant homme cette deux leur",
    "de": "der das ein eine einen ist sind und mit auf seine ihre dann dem zu von sich er sie während mann einem",
    "it": "il lo la gli le un una è sono di e con su suo sua poi del della al che si mentre nel uomo da dei delle",
    "pt": "os um uma é são de e com em na seu sua depois da ao que se enquanto para homem está dos das pelo",
}
_FEWEST_WORDS = 5  # of a caption whose commonest words tell its language
_MARGIN = 2  # by so many common words another language must lead


class Rejection(NamedTuple):
    """A caption that a rule rejects: where it stands (from 0), by which rule, and why in words."""

    split: str
    video_id: str
    language: str
    number: int
    caption: str
    rule: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Rules:
    """What is asked of captions.

    Attributes:
        min_english_words: of an English caption.
        min_chinese_characters: of a direct Chinese caption.
        sensitive: words and phrases that no caption may hold.

    Raises:
        ConfigError: a number below 0.
    """

    min_english_words: int = 8
    min_chinese_characters: int = 15
    sensitive: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("min_english_words", "min_chinese_characters"):
            if getattr(self, name) < 0:
                raise ConfigError(f"config.quality.{name} is {getattr(self, name)}: it cannot be negative.")


class Checker:
    """Applies rules to a corpus, video by video, and counts."""

    def __init__(self, rules: Rules):
        self._rules, self._tokenize = rules, make_tokenizer("en").tokenize
        self._met: dict[tuple[str, int], str] = {}
        self.checked: Counter[str] = Counter()
        self.rejected: dict[str, Counter[str]] = {language: Counter() for language in LANGUAGES}

    def check(self, video: CorpusVideo) -> list[Rejection]:
        """The video's rejected captions, each by the first rule of `RULES` that rejects it."""
        found = []
        for language in LANGUAGES:
            captions = video.captions(language)
            direct = len(captions) - video.pairs
            for number, caption in enumerate(captions):
                self.checked[language] += 1
                fault = self._fault(language, caption, number < direct, video.video_id)
                if fault is not None:
                    self.rejected[language][fault[0]] += 1
                    found.append(Rejection(video.split, video.video_id, language, number, caption, *fault))
        return found

    def withdraw(self, video: CorpusVideo) -> None:
        """Forgets the captions of a video that is left out, so that they can be told of another."""
        for language in LANGUAGES:
            for caption in video.captions(language):
                key = language, text_key(caption)
                if self._met.get(key) == video.video_id:
                    del self._met[key]

    def _fault(self, language: str, caption: str, direct: bool, video_id: str) -> tuple[str, str] | None:
        key = language, text_key(caption)
        earlier, fault = self._met.get(key), self._own_fault(language, caption, direct)
        if earlier is not None and (fault is None or fault[0] != "short"):
            return "repeated", f"the same as a caption of {'this video' if earlier == video_id else earlier}"
        if fault is None:
            self._met[key] = video_id
        return fault

    def _own_fault(self, language: str, caption: str, direct: bool) -> tuple[str, str] | None:
        """What is wrong with a caption, whatever others there are."""
        # Of `he's` one word is counted: what follows the apostrophe makes no sentence longer.
        words = [token for token in self._tokenize(caption) if is_word(token) and not token.startswith("'")]
        rules = self._rules
        if language == "en" and len(words) < rules.min_english_words:
            return "short", f"{len(words)} words, at least {rules.min_english_words} are wanted"
        characters = sum(map(_is_chinese, caption))
        if language == "zh" and direct and characters < rules.min_chinese_characters:
            return "short", f"{characters} Chinese characters, at least {rules.min_chinese_characters} are wanted"
        held = next((phrase for phrase in rules.sensitive if _holds(caption, phrase)), None)
        if held is not None:
            return "sensitive", f"holds {held!r}"
        foreign = _other_language(language, caption, words)
        return None if foreign is None else ("language", foreign)


def read_sensitive(path: str | pathlib.Path) -> tuple[str, ...]:
    """A list of sensitive words: one word or phrase a line, in UTF-8; lines that begin with # are remarks.

    Raises:
        ConfigError: the file cannot be read, or holds no word.
    """
    try:
        lines = pathlib.Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"config.quality.sensitive_words={path}: cannot be read ({error}).") from error
    words = tuple(line for line in map(str.strip, lines) if line and not line.startswith("#"))
    if not words:
        raise ConfigError(f"config.quality.sensitive_words={path}: holds no word; write one a line.")
    signs = next((word for word in words if not is_word(word)), None)
    if signs is not None:
        raise ConfigError(f"config.quality.sensitive_words={path}: {signs!r} holds no letter or digit; remove it.")
    return words


def keep(video: CorpusVideo, rejections: Sequence[Rejection]) -> CorpusVideo | None:
    """The video without its rejected captions; None where it cannot be kept.

    Files say which captions are parallel by their places at the end of both lists. A rejected direct caption can
    therefore be left out, but a rejected parallel one would make its neighbours translate the wrong sentences: such a
    video is left out whole, and so is one with no caption left.
    """
    out = {(rejection.language, rejection.number) for rejection in rejections}
    kept = {}
    for language in LANGUAGES:
        captions = video.captions(language)
        if any((language, number) in out for number in range(len(captions) - video.pairs, len(captions))):
            return None
        kept[language] = tuple(text for number, text in enumerate(captions) if (language, number) not in out)
    if not any(kept.values()):
        return None
    return dataclasses.replace(video, **kept)


def _holds(caption: str, phrase: str) -> bool:
    """Whether a caption holds a phrase: Chinese anywhere, others as whole words, also between Chinese characters."""
    return _pattern(phrase).search(" ".join(caption.casefold().split())) is not None


@functools.lru_cache(maxsize=10_000)
def _pattern(phrase: str) -> re.Pattern[str]:
    plain = " ".join(phrase.casefold().split())
    before, after = (rf"(?<!{_LETTER})", rf"(?!{_LETTER})")
    return re.compile(
        ("" if _is_chinese(plain[0]) else before) + re.escape(plain) + ("" if _is_chinese(plain[-1]) else after)
    )


def _other_language(language: str, caption: str, words: Sequence[str]) -> str | None:
    """What a caption is written in instead of its language; None where nothing speaks against it."""
    parts = _PARTS.findall(caption)  # a Chinese character says as much as a word of letters
    own = sum(_is_chinese(part) if language == "zh" else _is_latin(part[0]) for part in parts)
    script = {"en": "in Latin letters", "zh": "Chinese"}[language]
    if 2 * own < len(parts) or not parts:
        return f"{own} of {len(parts)} words and characters are {script}"
    if language == "zh" or len(words) < _FEWEST_WORDS:
        return None
    counts = {name: sum(word in common for word in words) for name, common in _common_words().items()}
    best = max(counts, key=counts.__getitem__)
    if counts[best] < counts["en"] + _MARGIN:
        return None
    return f"{counts[best]} of {len(words)} words are common in {best}, {counts['en']} in en"


@functools.cache
def _common_words() -> dict[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in _COMMON.items()}


_CHINESE = re.compile(HAN)
_LETTER = rf"(?:(?!{HAN})[^\W_])"  # or digit, of any script but Chinese
_PARTS = re.compile(rf"{HAN}|(?:(?!{HAN})[^\W\d_])+")


def _is_chinese(character: str) -> bool:
    return bool(_CHINESE.match(character))


def _is_latin(character: str) -> bool:
    return unicodedata.name(character, "").startswith("LATIN")


def vatex_record(video: CorpusVideo) -> dict[str, object]:
    """The video in VaTeX's layout.

    Raises:
        DataError: the layout would have other captions translate each other than do.
    """
    told = min(PARALLEL_CAPTIONS, len(video.en), len(video.zh))
    if video.pairs != told:
        raise DataError(
            f"{video.video_id} has {video.pairs} parallel captions, and in VaTeX's layout it would have {told}, the "
            "last of both lists: this corpus cannot be filtered into files. Leave config.quality.filter False."
        )
    return {"videoID": video.video_id, "enCap": list(video.en), "chCap": list(video.zh)}
