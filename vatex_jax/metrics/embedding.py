"""L2 and cosine between sentence vectors of answers and their references (revised evaluation, section 4.1).

Each generation is compared with every reference of its question, and the distances are averaged over the reference
set, in which duplicates count as often as they stand. An encoder is a function from sentences to vectors: that of word
vectors is here (`sentence_encoder`), BERT's in `models.bert`. It is called once, with each distinct sentence once.

A sentence may have a vector of zeros: with word vectors, one without a known word ("😀", or nothing at all). It stays
in: its L2 is the other vector's length, and its cosine with anything, itself included, is 0, as no direction is alike.
Left out, an unreadable generation would cost a model nothing. But a length is often less than a wrong answer's
distance, so where `Embedded.zero_generations` is more than a handful, only the cosine tells models apart.

Dimension legend
    n  questions      K  the most generations of a question
    m  distinct sentences      d  vector size      p  (generation, reference) pairs
"""

import dataclasses
import functools
import itertools
import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import scipy.sparse
from jaxtyping import Float, Float32, Float64, Int64

from vatex_jax.errors import DataError
from vatex_jax.metrics.answers import NONE, Answers, code_answers
from vatex_jax.text.sentences import spell_digits
from vatex_jax.text.vectors import WordVectors
from vatex_jax.text.vocabulary import Vocabulary

Encode = Callable[[list[str]], np.ndarray]
"""`encode(sentences) -> [m, d]`, floating point, a row a sentence."""

_SURROGATE = re.compile("[\ud800-\udfff]")

_NUMBERS = 1 << 19  # of vectors at a time: 4 MB an array, which the processor's cache nearly holds


@dataclasses.dataclass(frozen=True)
class Embedded:
    """The answers of a file as vectors.

    Attributes:
        answers: as numbers.
        vectors: of its distinct texts.
    """

    answers: Answers
    vectors: Float[np.ndarray, "m d"]

    @property
    def zero_generations(self) -> int:
        """Generations, of those that are not empty, with a vector of zeros."""
        pairs = self.answers.pair[self.answers.pair != NONE]
        return int((~self.vectors.any(axis=1))[self.answers.text[pairs]].sum())

    @property
    def zero_references(self) -> int:
        """References with a vector of zeros, each as often as it stands."""
        return int((~self.vectors.any(axis=1))[self.answers.references].sum())


def embed_answers(
    generations: Sequence[Sequence[str]], references: Sequence[Sequence[str]], encode: Encode
) -> Embedded:
    """Embeds the answers of a file, each distinct sentence once, in one call of `encode`.

    Args:
        generations: of each question, any number; of nothing or whitespace: empty, and not embedded.
        references: of each question, at least one; an empty one is a sentence like any other.
        encode: the encoder.

    Raises:
        DataError: as `answers.check_lists`, or the encoder's vectors are not finite numbers, a row a sentence.
    """
    answers = code_answers(generations, references)
    return Embedded(answers, _checked(np.asarray(encode(answers.texts)), answers.texts))


def embedding_distances(embedded: Embedded) -> dict[str, Float64[np.ndarray, "n K"]]:
    """L2 distance `l2` and cosine similarity `cs` of each generation, averaged over its question's references.

    NaN where there is no generation. Vectors are compared in float64; a pair that occurs often is compared once for
    every million pairs.
    """
    answers, lengths = embedded.answers, _lengths(embedded.vectors)
    found = {name: np.zeros(len(answers.text)) for name in ("l2", "cs")}
    everyone = np.arange(len(answers.text))
    for part, references, begins in answers.comparisons(everyone):
        distinct, inverse = np.unique(answers.keys(everyone[part], references, begins), return_inverse=True)
        distances = _compare(embedded.vectors, lengths, *np.divmod(distinct, len(lengths)))
        sizes = np.diff(np.append(begins, len(references)))
        for name, values in zip(("l2", "cs"), distances, strict=True):
            found[name][part] = np.add.reduceat(values[inverse], begins) / sizes
    return {name: answers.table(values) for name, values in found.items()}


def l2_and_cosine(
    generations: Sequence[Sequence[str]], references: Sequence[Sequence[str]], encode: Encode
) -> dict[str, Float64[np.ndarray, "n K"]]:
    """`embedding_distances` of `embed_answers`: `l2` (lower is better) and `cs` (higher is better)."""
    return embedding_distances(embed_answers(generations, references, encode))


def sentence_words(sentence: str) -> list[str]:
    """The words of a sentence as the published code has them for FastText: lower case, digits spelled, cut at spaces.

    Punctuation stays with its word ("yes," is one).
    """
    return spell_digits(sentence.lower()).split()


def word_vocabulary(sentences: Iterable[str]) -> Vocabulary:
    """Every word of the sentences, and what `sentence_encoder` may look up instead, to load vectors for.

    Words that no file can hold (those with a lone surrogate) are left out.
    """
    words = {word for sentence in dict.fromkeys(sentences) for word in sentence_words(sentence)}
    forms = words | set(map(_bare, words))
    return Vocabulary.build([[word for word in sorted(forms) if word and not _SURROGATE.search(word)]], min_count=1)


def sentence_encoder(words: WordVectors) -> Encode:
    """An encoder: the plain mean of a sentence's word vectors, as many as it has words; zeros for one without words.

    FastText's model has a vector for any word, "yes," and "can't" too, made of its subwords, and that is what the
    published code averages. Other sources know neither: there a word without a vector has that of the same word
    without its apostrophes and the punctuation around it ("yes", "cant"). One that has none either is a vector of
    zeros and counts in the mean: it shortens the mean and leaves its direction. Nothing is cut off.

    Args:
        words: vectors of, best, `word_vocabulary` of all sentences that will be asked for.
    """
    row_of = _rows_of(words)

    def encode(sentences: list[str]) -> Float32[np.ndarray, "m d"]:
        lines = [[row_of(word) for word in sentence_words(sentence)] for sentence in sentences]
        counts = np.array([len(line) for line in lines], np.int64)
        ids = np.fromiter(itertools.chain.from_iterable(lines), np.int64, counts.sum())
        shape = len(lines), len(words.vocabulary)
        bags = scipy.sparse.csr_array((np.ones(len(ids), np.float32), ids, np.cumsum([0, *counts])), shape=shape)
        bags.sum_duplicates()  # one order of the words for all: sentences of the same words have the same bits
        return (bags @ words.matrix) / np.maximum(counts, 1)[:, None].astype(np.float32)

    return encode


def missing_share(sentences: Iterable[str], words: WordVectors) -> float:
    """Share of the words of the distinct sentences for which `sentence_encoder` has a vector of zeros: 0-1."""
    row_of = _rows_of(words)
    empty = ~words.matrix.any(axis=1)
    rows = [row_of(word) for sentence in dict.fromkeys(sentences) for word in sentence_words(sentence)]
    return float(empty[rows].mean()) if rows else 0.0


def _rows_of(words: WordVectors) -> Callable[[str], int]:
    """The row of a word, or of its bare form where only that has a vector."""

    @functools.cache
    def row_of(word: str) -> int:
        own, bare = words.vocabulary.encode([word, _bare(word)]).tolist()
        return bare if words.found[bare] and not words.found[own] else own

    return row_of


def _bare(word: str) -> str:
    return word.replace("'", "").replace("\u2019", "").strip(string.punctuation)


def _checked(vectors: np.ndarray, sentences: list[str]) -> np.ndarray:
    if vectors.ndim != 2 or len(vectors) != len(sentences) or vectors.dtype.kind != "f":
        raise DataError(
            f"embedding distances: the encoder gave an array {vectors.shape} of {vectors.dtype} for {len(sentences)} "
            "sentences; it must give floating-point vectors, a row a sentence."
        )
    for part in _parts(vectors):
        bad = np.flatnonzero(~np.isfinite(vectors[part]).all(axis=1))
        if len(bad):
            sentence = sentences[part.start + int(bad[0])]
            raise DataError(f"embedding distances: the encoder's vector of {sentence[:80]!r} is not finite.")
    return vectors


def _parts(vectors: np.ndarray, count: int | None = None) -> Iterator[slice]:
    """Slices of `count` vectors (of all by default) that hold some `_NUMBERS` numbers each."""
    step = max(1, _NUMBERS // max(1, vectors.shape[1]))
    count = len(vectors) if count is None else count
    return (slice(start, min(count, start + step)) for start in range(0, count, step))


def _lengths(vectors: np.ndarray) -> Float64[np.ndarray, "m"]:
    lengths = np.zeros(len(vectors))
    for part in _parts(vectors):
        lengths[part] = np.sqrt(np.square(vectors[part], dtype=np.float64).sum(axis=1))
    return lengths


def _compare(
    vectors: np.ndarray, lengths: np.ndarray, left: Int64[np.ndarray, "p"], right: Int64[np.ndarray, "p"]
) -> tuple[Float64[np.ndarray, "p"], Float64[np.ndarray, "p"]]:
    """L2 and cosine of pairs of vectors.

    Differences are taken before they are squared: |a|^2 + |b|^2 - 2ab would leave 1e-8 between equal sentences.
    """
    l2, cosine = np.zeros(len(left)), np.zeros(len(left))
    for part in _parts(vectors, len(left)):
        a, b = (vectors[ids[part]].astype(np.float64) for ids in (left, right))
        scale = lengths[left[part]] * lengths[right[part]]
        dots = np.einsum("pd,pd->p", a, b)
        cosine[part] = np.clip(np.divide(dots, scale, out=np.zeros_like(dots), where=scale > 0), -1.0, 1.0)
        a -= b
        l2[part] = np.sqrt(np.einsum("pd,pd->p", a, a))
    return l2, cosine
