"""Sentences to tokens and back: English words, Chinese words (jieba) or characters.

Every score depends on how its sentences were cut, so each tokenizer has a `signature` that reports carry.
The mask token `[M]` of masked translation (VaTeX, appendix A) is one token everywhere.
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

MASK_TOKEN = "[M]"

HAN = r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
"""A Chinese character, for regular expressions."""

# Letters and digits of any script, with the combining marks that NFC could not compose into them.
_WORD = r"(?:[^\W_][\u0300-\u036f]*)+"
# A sign with what Unicode glues to it: variation selectors, skin tones, joiners (so that one emoji is one token).
_SIGN = r"[^\s](?:[\u0300-\u036f\ufe0f\U0001f3fb-\U0001f3ff]|\u200d[^\s])*"
_CLITIC = r"(?:'(?i:s|re|ve|ll|d|m)\b)"  # man 's, it 's
_MASK = re.compile(r"(\[M\])")
_ENGLISH = re.compile(
    rf"""
    \[M\]
    | (?<=\w){_CLITIC}
    | \d+(?:[.,]\d+)+                                   # 3.5 and 1,000
    | {_WORD}(?:-{_WORD}|(?!{_CLITIC})'{_WORD})*  # t-shirt and don't
    | \.\.+
    | {_SIGN}
    """,
    re.VERBOSE,
)
_CHARACTERS = re.compile(rf"[0-9A-Za-z\u00c0-\u024f]+(?:\.[0-9]+)?|{_SIGN}")
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
    signature: str = "en:vatex-jax-1-lower"

    def tokenize(self, text: str) -> list[str]:
        return [lower(token) for token in self.cased(text)]

    def cased(self, text: str) -> list[str]:
        return _ENGLISH.findall(unicodedata.normalize("NFC", text).replace("\u2019", "'"))

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

    def tokenize(self, text: str) -> list[str]:
        tokens = []
        for chunk in unicodedata.normalize("NFC", text).split():
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


def make_tokenizer(language: str, chinese: str = "words") -> Tokenizer:
    """The tokenizer of a language.

    Args:
        language: `en` or `zh`.
        chinese: how Chinese is cut, `words` (jieba) or `characters`; English does not depend on it.

    Raises:
        ConfigError: an unknown language or unit.
    """
    if chinese not in ("words", "characters"):
        raise ConfigError(f"Chinese is cut into 'words' or 'characters', not {chinese!r}: set chinese to one of them.")
    if language == "en":
        return EnglishTokenizer()
    if language != "zh":
        raise ConfigError(f"There is a tokenizer for 'en' and for 'zh', none for {language!r}.")
    if chinese == "characters":
        return ChineseTokenizer(signature="zh:char", cut=_CHARACTERS.findall)
    return ChineseTokenizer(signature=f"zh:jieba-{importlib.metadata.version('jieba')}", cut=_jieba_cut)


def _jieba_cut(text: str) -> list[str]:
    return [word for word in jieba_segmenter().cut(text) if word]


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
