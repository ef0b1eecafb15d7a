"""Sentence vectors for CCA: the mean of the word vectors, the end token counted (appendix A of the revised evaluation).

Unknown words and the end token have zero vectors by default (see `text.vectors`) and count in the denominator, so
"yes" is half of its word's vector. Each distinct sentence is embedded once: `distinct_sentences`, `embed_sentences`,
then rows by id.

Legend: N distinct sentences, D dimension.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import scipy.sparse
from jaxtyping import Float32, Int64

from vatex_jax.text.sentences import MAX_TOKENS, encode_sentences
from vatex_jax.text.vectors import WordVectors
from vatex_jax.text.vocabulary import EOS, UNK


@dataclasses.dataclass(frozen=True)
class SentenceVectors:
    """Vectors of N sentences, and what their words lacked.

    Shares are of all words of the N sentences (each once, after the cut, end tokens left out): 0-1, 0 without a word.

    Attributes:
        vectors: a row a sentence.
        unknown_share: words that are not in the vocabulary.
        missing_share: words that are in the vocabulary, but without a vector.
    """

    vectors: Float32[np.ndarray, "N D"]
    unknown_share: float
    missing_share: float


def distinct_sentences(*lists: Sequence[str]) -> tuple[list[str], list[Int64[np.ndarray, "_"]]]:
    """The distinct strings of all lists in order of first appearance, and for each list the ids of its strings.

    `[distinct[i] for i in ids[0]]` is the first list again.
    """
    ids: dict[str, int] = {}
    inverse = [np.array([ids.setdefault(text, len(ids)) for text in texts], np.int64) for texts in lists]
    return list(ids), inverse


def embed_sentences(sentences: Sequence[str], words: WordVectors, max_tokens: int = MAX_TOKENS) -> SentenceVectors:
    """Sum of the word vectors over the number of tokens, for each sentence.

    A sentence without words is its end token alone.

    Args:
        sentences: each once (`distinct_sentences`).
        words: the vectors of the vocabulary's words.
        max_tokens: the most tokens of a sentence, its end token counted.

    Raises:
        ConfigError: `max_tokens` is below 1.
    """
    encoded = encode_sentences(sentences, words.vocabulary, max_tokens)
    ones = np.ones(len(encoded.ids), np.float32)
    shape = (len(encoded), len(words.vocabulary))
    bags = scipy.sparse.csr_array((ones, encoded.ids, encoded.starts), shape=shape, copy=True)
    # In one order of the words for all sentences: those of the same words have the same bits, so that they tie.
    bags.sum_duplicates()
    vectors = bags @ words.matrix
    vectors /= encoded.lengths[:, None].astype(np.float32)
    spoken = max(1, len(encoded.ids) - len(encoded))
    unknown = encoded.ids == UNK
    missing = ~words.found[encoded.ids] & ~unknown & (encoded.ids != EOS)
    return SentenceVectors(vectors, float(unknown.sum() / spoken), float(missing.sum() / spoken))
