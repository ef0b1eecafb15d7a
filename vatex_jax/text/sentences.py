"""Sentences of visual dialogue to tokens, cut as in the published code of the revised evaluation.

Apostrophes are deleted, runs of digits spelled, everything lower-cased, words cut by NLTK, and an end token appended;
16 tokens at most, the end token among them (appendix A: "padding or truncating up to 16 words").

An apostrophe is `'` or the typographic `’`; the published code left the latter, which cuts "don’t" into three tokens.
A sentence is one piece for the tokenizer (no sentence splitting): only its last full stop stands alone.
"""

import collections
import dataclasses
import functools
import re
from array import array
from collections.abc import Iterable

import numpy as np
from jaxtyping import Int32, Int64

from vatex_jax.errors import ConfigError
from vatex_jax.text.vocabulary import EOS, SPECIALS, Vocabulary

END_TOKEN = SPECIALS[EOS]
MAX_TOKENS = 16

_DIGITS = re.compile(r"\d+")
# Longer runs are codes, not quantities: names of numbers become rare, and Python refuses to read very long ones.
_LONGEST_NUMBER = 36

# Sentences that NLTK cuts the same way word by word, so that each distinct word need be cut only once: letters, single
# hyphens and slashes within words, and signs whose treatment does not depend on their neighbours. Others go to NLTK
# whole. The quantifiers are possessive: nothing is tried twice, whatever the length.
_LETTERS = r"[a-z]++(?:[-/][a-z]++)*+"
_WORD_BY_WORD = re.compile(rf"\s*+(?:{_LETTERS}[,?!]?\s++)*+(?:{_LETTERS}[.,?!]?\s*+)?", re.ASCII)


@dataclasses.dataclass(frozen=True)
class EncodedSentences:
    """Token ids of N sentences, one after the other, each with its end token.

    Attributes:
        ids: of all tokens.
        starts: N + 1 positions: where each sentence begins in `ids`, and the end of the last.
    """

    ids: Int32[np.ndarray, "tokens"]
    starts: Int64[np.ndarray, "bounds"]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Int64[np.ndarray, "N"]:
        """Tokens of each sentence, its end token counted: at least 1."""
        return np.diff(self.starts)


def spell_digits(text: str) -> str:
    """Every run of digits in words, hyphens as spaces: "30s" is "thirtys", "21" is "twenty one".

    Each run is a number by itself, as in the published code: "3.5" is "three.five", "10:30" "ten:thirty", "2nd"
    "twond", "1,000" "one,zero"; leading zeros go. Digits of any script count. Runs of more than 36 digits are spelled
    digit by digit. Case and everything else stay as they are.
    """
    return _DIGITS.sub(lambda run: _spelled(run.group()), text)


def tokenize(sentence: str) -> list[str]:
    """All words of a sentence, without an end token; `[]` for an empty one."""
    prepared, simple = _prepare(sentence)
    if not simple:
        return _word_tokenizer().tokenize(prepared)
    return [token for word in prepared.split() for token in _tokens_of_word(word)]


def tokenize_with_end(sentence: str, max_tokens: int = MAX_TOKENS) -> list[str]:
    """The first `max_tokens - 1` words of a sentence and the end token."""
    return [*tokenize(sentence)[: _max_words(max_tokens)], END_TOKEN]


def build_vocabulary(sentences: Iterable[str], min_count: int = 5) -> Vocabulary:
    """The words met at least `min_count` times in sentences of any length, every repeat of a sentence counted.

    Args:
        sentences: captions, questions and ground-truth answers of the training split, as often as they occur there.
        min_count: rarer words become the unknown token.

    Raises:
        ConfigError: `min_count` is below 1.
    """
    counts = collections.Counter()
    for sentence, times in collections.Counter(sentences).items():
        for word in tokenize(sentence):
            counts[word] += times
    return Vocabulary.from_counts(counts, min_count)


def encode_sentences(
    sentences: Iterable[str], vocabulary: Vocabulary, max_tokens: int | None = MAX_TOKENS
) -> EncodedSentences:
    """Token ids of many sentences: what `tokenize_with_end` gives, words outside the vocabulary as UNK.

    Args:
        sentences: best each once; a repeat costs as much as another sentence.
        vocabulary: gives the ids.
        max_tokens: the most tokens of a sentence, its end token counted; None cuts nothing.

    Raises:
        ConfigError: `max_tokens` is below 1.
    """
    max_words = None if max_tokens is None else _max_words(max_tokens)

    @functools.cache
    def word_ids(word: str) -> list[int]:
        return vocabulary.encode(_tokens_of_word(word)).tolist()

    ids, starts = array("i"), array("q", [0])
    for sentence in sentences:
        prepared, simple = _prepare(sentence)
        if simple:
            row = [index for word in prepared.split() for index in word_ids(word)]
        else:
            row = vocabulary.encode(_word_tokenizer().tokenize(prepared)).tolist()
        ids.extend(row[:max_words])
        ids.append(EOS)
        starts.append(len(ids))
    return EncodedSentences(np.array(ids, np.int32), np.array(starts, np.int64))


def _prepare(sentence: str) -> tuple[str, bool]:
    """The sentence as it goes to the tokenizer, and whether it may be cut word by word."""
    prepared = sentence.replace("'", "").replace("\u2019", "").lower()
    simple = _WORD_BY_WORD.fullmatch(prepared) is not None
    if not simple and _DIGITS.search(prepared):
        prepared = spell_digits(prepared)
        simple = _WORD_BY_WORD.fullmatch(prepared) is not None
    return prepared, simple


def _max_words(max_tokens: int) -> int:
    if max_tokens < 1:
        raise ConfigError(f"max_tokens is {max_tokens}; the end token alone is one: set 1 or more.")
    return max_tokens - 1


@functools.lru_cache(maxsize=1 << 12)
def _spelled(digits: str) -> str:
    from num2words import num2words  # loads half a hundred languages

    numbers = [int(digits)] if len(digits) <= _LONGEST_NUMBER else [int(digit) for digit in digits]
    return " ".join(num2words(number) for number in numbers).replace("-", " ")


@functools.lru_cache(maxsize=1 << 17)
def _tokens_of_word(word: str) -> tuple[str, ...]:
    return tuple(_word_tokenizer().tokenize(word))


@functools.cache
def _word_tokenizer():
    """NLTK's word tokenizer, loaded on first use: any part of NLTK loads all of it, which takes seconds."""
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()
