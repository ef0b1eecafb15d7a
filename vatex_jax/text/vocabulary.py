"""Vocabularies: tokens to ids and back. Ids 0 to 4 are the same in every vocabulary (DESIGN, "Tokens")."""

import collections
import functools
import hashlib
import json
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from jaxtyping import Int, Int32

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.files import write_json_whole

PAD, UNK, BOS, EOS, MASK = 0, 1, 2, 3, 4
SPECIALS = ("<pad>", "<unk>", "<bos>", "<eos>", "[M]")
_FORMAT = "vatex-jax vocabulary 1"


class Vocabulary:
    """An immutable list of words whose position is their id; the first five are `SPECIALS`.

    Of the special words only `[M]` can be written in a sentence: a literal `<pad>` in a corpus is an unknown word.
    """

    def __init__(self, words: Sequence[str]):
        """Args: words: all words in order of their ids, `SPECIALS` first.

        Raises:
            DataError: the specials are not first, or a word is empty, repeated, or holds whitespace.
        """
        if tuple(words[: len(SPECIALS)]) != SPECIALS:
            raise DataError(f"a vocabulary begins with {list(SPECIALS)}, this one with {list(words[:5])}")
        for index, word in enumerate(words):
            if word.split() != [word]:
                raise DataError(f"word {index} of the vocabulary, {word!r}, is empty or holds whitespace")
        self.words = tuple(words)
        self._ids = {word: index for index, word in enumerate(self.words)}
        if len(self._ids) != len(self.words):
            (word, count), *_ = collections.Counter(self.words).most_common(1)
            raise DataError(f"the vocabulary holds {word!r} {count} times")
        for special in (PAD, BOS, EOS):
            self._ids[SPECIALS[special]] = UNK

    @classmethod
    def build(cls, sentences: Iterable[list[str]], min_count: int = 5) -> "Vocabulary":
        """The words met at least `min_count` times, the most frequent first, equal counts in code point order.

        Raises:
            ConfigError: `min_count` is below 1.
        """
        return cls.from_counts(collections.Counter(word for sentence in sentences for word in sentence), min_count)

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], min_count: int = 5) -> "Vocabulary":
        """The words counted at least `min_count` times, ordered as by `build`.

        Raises:
            ConfigError: `min_count` is below 1.
        """
        if min_count < 1:
            raise ConfigError(f"min_count is {min_count}; a vocabulary needs words met at least once: set 1 or more.")
        kept = [word for word, count in counts.items() if count >= min_count and word not in SPECIALS]
        return cls([*SPECIALS, *sorted(kept, key=lambda word: (-counts[word], word))])

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, tokens: Sequence[str], max_words: int | None = None) -> Int32[np.ndarray, "n"]:
        """Ids of the first `max_words` tokens (of all by default), without BOS or EOS; unknown words become UNK."""
        return np.array([self._ids.get(token, UNK) for token in tokens[:max_words]], np.int32)

    def decode(self, ids: Sequence[int] | Int[np.ndarray, "n"]) -> list[str]:
        """The words before the first EOS, without PAD and BOS.

        Raises:
            ValueError: an id this vocabulary does not have.
        """
        words = []
        for index in ids:
            if index == EOS:
                break
            if not 0 <= index < len(self.words):
                raise ValueError(f"id {index} is outside a vocabulary of {len(self.words)} words")
            if index not in (PAD, BOS):
                words.append(self.words[index])
        return words

    @functools.cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that differ where any word or its id does."""
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()[:16]

    def save(self, path: str | os.PathLike) -> None:
        """Writes the vocabulary as JSON; a reader sees the whole file or none."""
        write_json_whole(path, {"format": _FORMAT, "words": self.words}, indent=0)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Vocabulary":
        """Reads what `save` wrote.

        Raises:
            DataError: the file is missing, not UTF-8 JSON, of another format, or holds no valid word list.
        """
        try:
            content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"{path}: the vocabulary cannot be read ({error.strerror})") from error
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}: not a vocabulary file, no UTF-8 JSON ({error})") from error
        fields = content if isinstance(content, dict) else {}
        words = fields.get("words")
        if fields.get("format") != _FORMAT or not isinstance(words, list):
            raise DataError(f"{path}: not a vocabulary file, no object with format {_FORMAT!r} and a list of words")
        for index, word in enumerate(words):
            if not isinstance(word, str):
                raise DataError(f"{path}: word {index}, {word!r}, is not text")
        try:
            return cls(words)
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
