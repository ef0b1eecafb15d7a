"""Sentences to tokens and back: English words, Chinese words (jieba) or characters.

Every score depends on how its sentences were cut, so each tokenizer has a `signature` that reports carry.
The mask token `[M]` of masked translation (VaTeX, appendix A) is one token everywhere.

Version 1 of the tokenizers, the default, keeps invisible characters, as words of their own or inside of words. Version
2 removes them before a sentence is cut (`text.invisible` has the rule), and what is left of them, such as the joiners
of an emoji, is part of the token before it. Vocabularies of trained runs and kept scores are of version 1.
"""

import dataclasses
import functools
import importlib.metadata
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable

from vatex_jax.errors import ConfigError
from vatex_jax.text.invisible import visible

VERSION = 1
"""The version of the rules by which sentences are cut, in every language, that is used if none is named."""

MASK_TOKEN = "[M]"

HAN = r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
"""A Chinese character, for regular expressions."""

_CLITIC = r"(?:'(?i:s|re|ve|ll|d|m)\b)"  # man 's, it 's
_MASK = re.compile(r"(\[M\])")


def _patterns(marks: str, glue: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The tokens of English, and of Chinese that is cut into characters.

    Args:
        marks: what may follow a letter or digit of a word.
        glue: what may follow a sign, so that one emoji is one token.
    """
    word, sign = rf"(?:[^\W_]{marks}*)+", rf"[^\s]{glue}*"  # letters and digits of any script
    english = rf"""
        \[M\]
        | (?<=\w){_CLITIC}
        | \d+(?:[.,]\d+)+                                   # 3.5 and 1,000
        | {word}(?:-{word}|(?!{_CLITIC})'{word})*  # t-shirt and don't
        | \.\.+
        | {sign}
        """
    return re.compile(english, re.VERBOSE), re.compile(rf"[0-9A-Za-z\u00c0-\u024f]+(?:\.[0-9]+)?|{sign}")


# Combining marks that NFC could not compose into their letter, variation selectors and the frame of a keycap, joiners,
# skin tones, tags of flags.
_MARKS = r"\u0300-\u036f\ufe00-\ufe0f\u20e3\U000e0100-\U000e01ef\u180e\u200c"
_GLUE = rf"(?:[{_MARKS}\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|\u200d[^\s]?)"
_ENGLISH, _CHARACTERS = {}, {}
_ENGLISH[1], _CHARACTERS[1] = _patterns(
    r"[\u0300-\u036f]", r"(?:[\u0300-\u036f\ufe0f\U0001f3fb-\U0001f3ff]|\u200d[^\s])"
)
_ENGLISH[2], _CHARACTERS[2] = _patterns(rf"[{_MARKS}\u200d]", _GLUE)
_GLUED = re.compile(_GLUE)
_LATIN_EDGE = re.compile(r"[0-9A-Za-z\u00c0-\u024f]")


@runtime_checkable
class Tokenizer(Protocol):
    """What the rest of the library knows of a tokenizer."""

    @property
    def language(self) -> str:
        """`en` or `zh`."""

    @property
    def signature(self) -> str:
        """How sentences are cut, for the signature of a score, such as `zh:jieba-0.42.1`."""

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a sentence, none of them empty or holding whitespace; `[]` for an empty one."""

    def cased(self, text: str) -> list[str]:
        """The same tokens before `lower` took their capitals, which tell a tagger of names."""

    def detokenize(self, tokens: Iterable[str]) -> str:
        """A sentence for reading."""


@dataclasses.dataclass(frozen=True)
class EnglishTokenizer:
    """Lower-cased words; punctuation, signs and emoji stand alone, hyphenated words and numbers stay whole."""

    language: str = "en"
    version: int = VERSION

    @property
    def signature(self) -> str:
        return f"en:vatex-jax-{self.version}-lower"

    def tokenize(self, text: str) -> list[str]:
        return [lower(token) for token in self.cased(text)]

    def cased(self, text: str) -> list[str]:
        return _ENGLISH[self.version].findall(_prepared(text, self.version).replace("\u2019", "'"))

    def detokenize(self, tokens: Iterable[str]) -> str:
        return " ".join(tokens)


@dataclasses.dataclass(frozen=True)
class ChineseTokenizer:
    """Chinese cut by `cut`, a function from text without whitespace or masks to its pieces.

    Whitespace always separates tokens and is never one.
    """

    signature: str
    cut: Callable[[str], list[str]]
    language: str = "zh"
    version: int = VERSION

    def tokenize(self, text: str) -> list[str]:
        tokens = []
        for chunk in _prepared(text, self.version).split():
            for piece in _MASK.split(chunk):
                tokens.extend([piece] if piece == MASK_TOKEN else self.cut(piece))
        return tokens

    def cased(self, text: str) -> list[str]:
        return self.tokenize(text)

    def detokenize(self, tokens: Iterable[str]) -> str:
        text = ""
        for token in tokens:
            # Two Latin words side by side were apart in the source; Chinese words never are.
            if text and _LATIN_EDGE.match(text[-1]) and _LATIN_EDGE.match(token):
                text += " "
            text += token
        return text


def lower(token: str) -> str:
    """A token without its capitals; the mask keeps its own."""
    return token if token == MASK_TOKEN else token.lower()


def make_tokenizer(language: str, chinese: str = "words", version: int = VERSION) -> Tokenizer:
    """The tokenizer of a language.

    Args:
        language: `en` or `zh`.
        chinese: how Chinese is cut, `words` (jieba) or `characters`; English does not depend on it.
        version: of the rules; 1 keeps invisible characters, 2 removes them.

    Raises:
        ConfigError: an unknown language, unit or version.
    """
    if chinese not in ("words", "characters"):
        raise ConfigError(f"Chinese is cut into 'words' or 'characters', not {chinese!r}: set chinese to one of them.")
    if version not in _ENGLISH:
        raise ConfigError(
            f"The versions of the tokenizers are {', '.join(map(str, _ENGLISH))}; there is no version {version}."
        )
    if language == "en":
        return EnglishTokenizer(version=version)
    if language != "zh":
        raise ConfigError(f"There is a tokenizer for 'en' and for 'zh', none for {language!r}.")
    rule = "" if version == 1 else "-noinvisible"
    if chinese == "characters":
        return ChineseTokenizer(f"zh:char{rule}", _CHARACTERS[version].findall, version=version)
    cut = _jieba_cut if version == 1 else _jieba_cut_and_glue
    return ChineseTokenizer(f"zh:jieba-{importlib.metadata.version('jieba')}{rule}", cut, version=version)


def _prepared(text: str, version: int) -> str:
    """The text as it is cut: normalised, and since version 2 without invisible characters."""
    return unicodedata.normalize("NFC", text if version == 1 else visible(text))


def _jieba_cut(text: str) -> list[str]:
    return [word for word in jieba_segmenter().cut(text) if word]


def _jieba_cut_and_glue(text: str) -> list[str]:
    """jieba's words; it gives joiners, variation selectors and skin tones apart, which belong to the sign before."""
    words = _jieba_cut(text)
    if _GLUED.search(text) is None:
        return words
    glued: list[str] = []
    for word in words:
        if glued and (_GLUED.match(word) or glued[-1].endswith("\u200d")):
            glued[-1] += word
        else:
            glued.append(word)
    return glued


@functools.cache
def jieba_segmenter():
    """Our own jieba tokenizer, loaded on first use (about a second).

    Its dictionary is filled here and not by `jieba.Tokenizer.initialize`, which would log to stderr and read and write
    a pickle-like cache in the shared temporary folder, where another user or process may have left anything.
    """
    with warnings.catch_warnings():
        # jieba 0.42.1 has invalid escapes (SyntaxWarning from Python 3.12 on) and imports the deprecated pkg_resources.
        warnings.simplefilter("ignore")
        import jieba

        segmenter = jieba.Tokenizer()
        segmenter.FREQ, segmenter.total = segmenter.gen_pfdict(segmenter.get_dict_file())
    segmenter.initialized = True
    return segmenter
