"""The rules by which VaTeX's captions were accepted (section 3.1), as a report and as a filter.

A caption is rejected where it is
- short: English of fewer than 8 words; Chinese that describes the video directly (all but the parallel captions) of
  fewer than 15 Chinese characters; translations may be as short as they are;
- repeated: the same as an earlier caption, of this video or another (`statistics.text_key` says what is the same);
- sensitive: it holds a word of a list that the user supplies;
- in another language: most of its letters are of another script, or, in English of some length, another European
  language's commonest words are more than English's.

The last is a rule of thumb that needs no model: it knows Spanish, French, German, Italian and Portuguese, and says
nothing of captions of fewer than five words.
"""

import dataclasses
import functools
import pathlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vatex_jax.corpus.readers import LANGUAGES, CorpusVideo
from vatex_jax.corpus.statistics import is_word, text_key
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.text.tokenization import make_tokenizer

RULES = ("short", "repeated", "sensitive", "language")

_COMMON = {
    "en": "the a an is are of and to in on with his her their while then at it as by from for that this who into up",
    "es": "el la los las un una es son de y con en su mientras luego del al por para que se unos lo está están hombre",
    "fr": "le la les un une est sont de des et avec dans sur son sa ses puis du au aux qui se il elle en pendant homme",
    "de": "der die das ein eine einen ist sind und mit auf seine ihre dann dem den im zu von sich er sie während mann",
    "it": "il lo la i gli le un una è sono di e con in su suo sua poi del della al che si mentre nel uomo per da",
    "pt": "o a os as um uma é são de e com em no na seu sua depois do da ao que se enquanto por para homem está",
}
_FEWEST_WORDS = 5  # of a caption whose commonest words tell its language


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

    def _fault(self, language: str, caption: str, direct: bool, video_id: str) -> tuple[str, str] | None:
        key = language, text_key(caption)
        earlier = self._met.get(key)
        self._met.setdefault(key, video_id)  # of every caption, whatever else is wrong with it
        words = [token for token in self._tokenize(caption) if is_word(token)]
        rules = self._rules
        if language == "en" and len(words) < rules.min_english_words:
            return "short", f"{len(words)} words, at least {rules.min_english_words} are wanted"
        characters = sum(map(_is_chinese, caption))
        if language == "zh" and direct and characters < rules.min_chinese_characters:
            return "short", f"{characters} Chinese characters, at least {rules.min_chinese_characters} are wanted"
        if earlier is not None:
            return "repeated", f"the same as a caption of {'this video' if earlier == video_id else earlier}"
        held = next((phrase for phrase in rules.sensitive if _holds(caption, words, phrase)), None)
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
    words = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    if not words:
        raise ConfigError(f"config.quality.sensitive_words={path}: holds no word; write one a line.")
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


def _holds(caption: str, words: Sequence[str], phrase: str) -> bool:
    """Whether a caption holds a phrase: Chinese anywhere, others as whole words."""
    if any(map(_is_chinese, phrase)):
        return phrase in caption
    wanted = _words_of(phrase)
    return any(tuple(words[start : start + len(wanted)]) == wanted for start in range(len(words) - len(wanted) + 1))


@functools.lru_cache(maxsize=10_000)
def _words_of(phrase: str) -> tuple[str, ...]:
    return tuple(token for token in make_tokenizer("en").tokenize(phrase) if is_word(token))


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
    best = max(counts, key=lambda name: (counts[name], name == "en"))
    return None if best == "en" else f"{counts[best]} of {len(words)} words are common in {best}, {counts['en']} in en"


@functools.cache
def _common_words() -> dict[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in _COMMON.items()}


_HAN = r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
_CHINESE = re.compile(_HAN)
_PARTS = re.compile(rf"{_HAN}|(?:(?!{_HAN})[^\W\d_])+")


def _is_chinese(character: str) -> bool:
    return bool(_CHINESE.match(character))


def _is_latin(character: str) -> bool:
    return unicodedata.name(character, "").startswith("LATIN")


def vatex_records(videos: Iterator[CorpusVideo]) -> Iterator[dict[str, object]]:
    """The videos in VaTeX's layout."""
    for video in videos:
        if not video.en and not video.zh:
            raise DataError(f"{video.video_id} has no caption.")
        yield {"videoID": video.video_id, "enCap": list(video.en), "chCap": list(video.zh)}
