"""Word vectors learned from the training text itself: positive pointwise mutual information and a truncated SVD.

Levy, Goldberg and Dagan, "Improving distributional similarity with lessons learned from word embeddings" (TACL 2015).
They need nothing but the text, so they are what runs where no pretrained vectors are at hand. The unknown and the end
token are words like others while learning; what becomes of their vectors is the caller's choice.

Legend: V words, A words that co-occur with any, D dimension.
"""

import collections
import warnings
from collections.abc import Iterable

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from jaxtyping import Bool, Float, Float32, Int64

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.text.sentences import EncodedSentences, encode_sentences
from vatex_jax.text.vectors import WordVectors, check_special, signed
from vatex_jax.text.vocabulary import EOS, UNK, Vocabulary

# Matrices up to this size are decomposed whole, which takes a second and settles their rank beyond doubt.
_DENSE_SIZE = 1000
# Singular values below this share of the largest are rounding; float32 vectors could not hold them beside it.
_TOLERANCE = 1e-10


def learn_vectors(
    sentences: Iterable[str],
    vocabulary: Vocabulary,
    *,
    dimension: int = 300,
    window: int = 5,
    smoothing: float = 0.75,
    special: str = "zero",
) -> WordVectors:
    """Vectors from co-occurrence within sentences; the same bits for the same text in any order.

    Args:
        sentences: the training text, as often as each occurs; of any length, uncut.
        vocabulary: words outside it are one unknown token.
        dimension: of the vectors; fewer, with a warning, where the text allows no more.
        window: how many words to either side co-occur with a word, all alike.
        smoothing: exponent of the context frequencies, at most 1 (none); below it, rare contexts weigh less.
        special: whether the unknown and the end token have zero vectors or the learned ones.

    Raises:
        ConfigError: an argument is out of range.
        DataError: no two words co-occur.
    """
    if dimension < 1 or window < 1 or not 0.0 < smoothing <= 1.0:
        raise ConfigError(
            f"Learned vectors need dimension and window of 1 or more and 0 < smoothing <= 1, not {dimension=}, "
            f"{window=}, {smoothing=}."
        )
    check_special(special)
    times = collections.Counter(sentences)
    distinct = sorted(times)
    encoded = encode_sentences(distinct, vocabulary, max_tokens=None)
    counts = cooccurrences(
        encoded, np.array([times[sentence] for sentence in distinct], np.int64), len(vocabulary), window
    )
    matrix, found = _embed(ppmi(counts, smoothing), dimension)
    if special == "zero":
        matrix[[UNK, EOS]], found[[UNK, EOS]] = 0.0, False
    source = f"ppmi-svd:d{matrix.shape[1]}-w{window}-s{smoothing:g}"
    return WordVectors(vocabulary, matrix, found, signed(source, special))


def cooccurrences(
    encoded: EncodedSentences, times: Int64[np.ndarray, "N"], words: int, window: int
) -> scipy.sparse.csr_array:
    """How often each word stands at most `window` words from each other one within a sentence: [V, V], symmetric.

    Args:
        encoded: distinct sentences with their end tokens.
        times: how often each of them occurs.
        words: V.
        window: the greatest distance that counts.
    """
    sentence = np.repeat(np.arange(len(encoded)), encoded.lengths)
    counts = scipy.sparse.csr_array((words, words), dtype=np.float64)
    for distance in range(1, min(window, int(encoded.lengths.max(initial=1)) - 1) + 1):
        left = np.flatnonzero(sentence[:-distance] == sentence[distance:])
        pair = (encoded.ids[left], encoded.ids[left + distance])
        weight = times[sentence[left]].astype(np.float64)
        counts = counts + scipy.sparse.coo_array((weight, pair), (words, words)).tocsr()
    return (counts + counts.T).tocsr()


def ppmi(counts: scipy.sparse.csr_array, smoothing: float) -> scipy.sparse.csr_array:
    """max(0, log(P(w, c) / (P(w) P_a(c)))), where P_a(c) is #(c)^a normalised ("context distribution smoothing").

    Args:
        counts: of words (rows) with contexts (columns).
        smoothing: a.
    """
    pairs = counts.tocoo()
    words, contexts = counts.sum(axis=1), counts.sum(axis=0) ** smoothing
    row, column = pairs.row, pairs.col
    information = np.log(pairs.data * contexts.sum() / (words[row] * contexts[column]))
    positive = information > 0.0
    return scipy.sparse.csr_array((information[positive], (row[positive], column[positive])), shape=counts.shape)


def _embed(
    information: scipy.sparse.csr_array, dimension: int
) -> tuple[Float32[np.ndarray, "V D"], Bool[np.ndarray, "V"]]:
    """U sqrt(S) of the leading singular vectors in float32, and which words have any information."""
    rows = np.flatnonzero(np.diff(information.indptr))
    if not len(rows):
        raise DataError("No vectors can be learned: no two words of the text co-occur. Give more sentences.")
    columns = np.unique(information.indices)
    left, values = leading_singular(information[rows][:, columns], dimension)
    if len(values) < dimension:
        warnings.warn(
            f"The text allows vectors of {len(values)} dimensions, not {dimension}: learning {len(values)}.",
            stacklevel=3,
        )
    matrix = np.zeros((information.shape[0], len(values)), np.float32)
    matrix[rows] = left * np.sqrt(values)
    found = np.zeros(information.shape[0], np.bool_)
    found[rows] = True
    return matrix, found


def leading_singular(
    matrix: scipy.sparse.csr_array, number: int
) -> tuple[Float[np.ndarray, "A k"], Float[np.ndarray, "k"]]:
    """The left singular vectors of the largest singular values, and these, falling; k = min(number, rank).

    Deterministic: the iteration starts from a fixed vector, and the largest entry of each singular vector is positive.
    """
    size = min(matrix.shape)
    if size <= max(_DENSE_SIZE, number):
        left, values, _ = np.linalg.svd(matrix.toarray(), full_matrices=False)
    else:
        start = np.random.default_rng(0).standard_normal(size)
        left, values, _ = scipy.sparse.linalg.svds(matrix, k=number, v0=start, return_singular_vectors="u")
        order = np.argsort(-values)
        left, values = left[:, order], values[order]
    rank = int((values > _TOLERANCE * values[0]).sum())
    left, values = left[:, : min(number, rank)], values[: min(number, rank)]
    largest = np.abs(left).argmax(axis=0)
    return left * np.sign(left[largest, np.arange(len(values))]), values
