"""What the overlap metrics count: the n-grams of each text, and the length of a generation's closest reference.

Dimension legend
    m  distinct texts      p  distinct (question, generation) pairs      g  distinct n-grams of an order
"""

from array import array
from collections.abc import Sequence

import numpy as np
import scipy.sparse
from jaxtyping import Int64

from vatex_jax.metrics.answers import Answers


def ngram_counts(texts: Sequence[str], orders: int = 4) -> list[scipy.sparse.csr_array]:
    """How often each text holds each n-gram of order 1 to `orders`, of its words between white space: [m g] each."""
    ids: dict[str, int] = {}
    coded, lengths = array("q"), array("q")
    for text in texts:
        words = text.split()
        coded.extend(ids.setdefault(word, len(ids)) for word in words)
        lengths.append(len(words))
    word, row = np.array(coded, np.int64), np.repeat(np.arange(len(texts)), np.array(lengths, np.int64))
    begin, ngram, several = np.arange(len(word)), word, len(ids)
    found = []
    for order in range(1, orders + 1):
        if order > 1:  # an n-gram is one of an order less and the word after it, where that is of the same text
            inside = begin + order - 1 < len(word)
            inside[inside] = row[begin[inside] + order - 1] == row[begin[inside]]
            begin = begin[inside]
            distinct, ngram = np.unique(ngram[inside] * len(ids) + word[begin + order - 1], return_inverse=True)
            several = len(distinct)
        counts = scipy.sparse.coo_array((np.ones(len(ngram)), (row[begin], ngram)), shape=(len(texts), several))
        found.append(counts.tocsr())  # adds up what stands at one place
    return found


def closest_lengths(answers: Answers, lengths: Int64[np.ndarray, "m"]) -> Int64[np.ndarray, "p"]:
    """Of each pair's references the length that is closest to its text's, the shorter at a tie."""
    found = np.zeros(len(answers.text), np.int64)
    longest = int(lengths.max(initial=0)) + 1
    for part, references, begins in answers.comparisons(np.arange(len(answers.text))):
        own = np.repeat(lengths[answers.text[part]], np.diff(np.append(begins, len(references))))
        ranked = np.abs(lengths[references] - own) * longest + lengths[references]  # by distance, then by length
        found[part] = np.minimum.reduceat(ranked, begins) % longest
    return found
