"""How varied captions are, and what k sampled captions a video are worth.

A model that says one safe sentence about every video can have a good CIDEr; these numbers show it. A caption without a
word holds no n-gram and is not new, but counts in the mean length and in the share.
"""

from collections import Counter
from collections.abc import Sequence, Set

import numpy as np
from jaxtyping import Float

from vatex_jax.errors import DataError

Tokens = Sequence[str]


def diversity(captions: Sequence[Tokens], training: Set[tuple[str, ...]]) -> dict[str, float]:
    """Diversity of a set of captions, for example one a video of a split.

    Args:
      captions: the tokens of each.
      training: every training caption's tokens, cut by the same tokenizer.

    Returns:
      `distinct1`, `distinct2`: see `distinct` (share);
      `self_bleu4`: see `self_bleu` (0-100, low is varied);
      `novel`: captions that hold a word and are not in the training set (percent of all);
      `vocabulary`: distinct words used;
      `length`: mean words a caption.
      All 0 where there is no caption.
    """
    words = Counter(word for caption in captions for word in caption)
    new = sum(len(caption) > 0 and tuple(caption) not in training for caption in captions)
    many = max(1, len(captions))
    return {
        "distinct1": distinct(captions, 1),
        "distinct2": distinct(captions, 2),
        "self_bleu4": self_bleu(captions),
        "novel": 100.0 * new / many,
        "vocabulary": float(len(words)),
        "length": words.total() / many,
    }


def distinct(captions: Sequence[Tokens], order: int) -> float:
    """Distinct n-grams among all n-grams of the captions (Li et al., 2016): 0-1, and 0 where there is none.

    The share falls with the number of captions: compare sets of the same size.
    """
    counts = Counter(ngram for caption in captions for ngram in _ngrams(caption, order))
    return len(counts) / max(1, counts.total())


def self_bleu(captions: Sequence[Tokens], order: int = 4) -> float:
    """Mean BLEU of each caption against all others (Zhu et al., 2018, section 3): 0-100, 100 where all say the same.

    Each caption's BLEU is unsmoothed, with counts clipped at the other caption that has most of the n-gram, and the
    brevity penalty towards the other caption closest in length (the shorter at a tie). A caption shorter than `order`
    is scored by the orders that it has n-grams of; one without words is left out. 0 for fewer than two captions.

    Args:
      captions: the tokens of each: those of a split, or the samples of one video.
      order: the highest order of n-grams.
    """
    captions = [caption for caption in captions if len(caption)]
    if len(captions) < 2:
        return 0.0
    lengths = [len(caption) for caption in captions]
    others = _closest_other_lengths(lengths)
    logs = np.zeros(len(captions))
    for n in range(1, order + 1):
        counts = [Counter(_ngrams(caption, n)) for caption in captions]
        precisions = _precisions_against_others(counts)
        has = np.array(lengths) >= n
        with np.errstate(divide="ignore"):
            logs[has] += np.log(precisions[has])
    logs /= np.minimum(lengths, order)
    penalty = np.minimum(0.0, 1.0 - others / np.array(lengths))
    return float(100.0 * np.exp(logs + penalty).mean())


def sample_diversity(samples: Sequence[Sequence[Tokens]]) -> dict[str, float]:
    """Diversity among the captions sampled for the same video, averaged over the videos.

    Args:
      samples: the sampled captions of each video.

    Returns:
      `distinct1`, `distinct2` (share) and `self_bleu4` (0-100), each the mean over videos; 0 where there is none.
    """
    many = max(1, len(samples))
    return {
        "distinct1": sum(distinct(several, 1) for several in samples) / many,
        "distinct2": sum(distinct(several, 2) for several in samples) / many,
        "self_bleu4": sum(self_bleu(several) for several in samples) / many,
    }


def sample_summary(scores: Float[np.ndarray, "n k"]) -> dict[str, float]:
    """What k sampled captions a video score: the revised evaluation's mu, sigma and gamma, for captions.

    Deviations have divisor k and n, as in the revised evaluation of visual dialogue.

    Args:
      scores: of each of the k captions of n videos, higher is better.

    Returns:
      `mean` over all; `k_std`, the deviation over a video's k, averaged over videos; `best` of a video's k, averaged
      over videos; `data_std`, the deviation over videos of their means.

    Raises:
      DataError: there is no score.
    """
    if scores.size == 0:
        raise DataError(f"a summary of samples needs scores, not an array of shape {scores.shape}")
    means = scores.mean(axis=1)
    return {
        "mean": float(means.mean()),
        "k_std": float(scores.std(axis=1).mean()),
        "best": float(scores.max(axis=1).mean()),
        "data_std": float(means.std()),
    }


def _ngrams(caption: Tokens, order: int) -> list[tuple[str, ...]]:
    return [tuple(caption[start : start + order]) for start in range(len(caption) - order + 1)]


def _precisions_against_others(counts: list[Counter]) -> Float[np.ndarray, "n"]:
    """Each caption's clipped precision; 0 where it has no n-gram.

    A caption is clipped at the most that any other has: the overall maximum, or the runner-up for the one that holds
    it. So two numbers an n-gram do for all captions.
    """
    first, second = Counter(), Counter()
    for caption in counts:
        for ngram, count in caption.items():
            if count > first[ngram]:
                first[ngram], second[ngram] = count, first[ngram]
            elif count > second[ngram]:
                second[ngram] = count
    precisions = np.zeros(len(counts))
    for row, caption in enumerate(counts):
        # A caption that holds the maximum alone is clipped at the runner-up; where two share it, both are the same.
        matched = sum(
            min(count, second[ngram] if count == first[ngram] else first[ngram]) for ngram, count in caption.items()
        )
        precisions[row] = matched / max(1, caption.total())
    return precisions


def _closest_other_lengths(lengths: list[int]) -> Float[np.ndarray, "n"]:
    """The length closest to each caption's among the others, the shorter at a tie."""
    counts = Counter(lengths)
    closest = {}
    for length, count in counts.items():
        others = [other for other in counts if other != length or count > 1]
        closest[length] = min(others, key=lambda other: (abs(other - length), other))
    return np.array([closest[length] for length in lengths], np.float64)
