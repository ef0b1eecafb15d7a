"""Sentences and videos of unequal length as rows of one array.

Dimension legend
    B  rows of a batch      S  words      T  segments of a video      L  segments kept      F  feature size
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float32, Int32

from vatex_jax.data.sources import Features


def padded_words(sentences: Sequence[np.ndarray], rows: int, length: int) -> Int32[np.ndarray, "B S"]:
    """Token ids, PAD behind them and in the rows past the sentences."""
    padded = np.zeros((rows, length), np.int32)
    for row, ids in enumerate(sentences):
        padded[row, : len(ids)] = ids
    return padded


def padded_videos(
    features: Features, videos: Sequence[int] | np.ndarray, rows: int, length: int, most: int
) -> tuple[Float32[np.ndarray, "B L F"], Bool[np.ndarray, "B L"]]:
    """Features of these videos, thinned to at most `most` segments, and which positions hold a segment."""
    kept = [thinned(features[int(video)], most) for video in videos]
    padded = np.zeros((rows, length, kept[0].shape[1]), np.float32)
    mask = np.zeros((rows, length), bool)
    for row, segments in enumerate(kept):
        padded[row, : len(segments)] = segments
        mask[row, : len(segments)] = True
    return padded, mask


def thinned(features: Float32[np.ndarray, "T F"], most: int) -> Float32[np.ndarray, "L F"]:
    """At most `most` segments, evenly spread and always the same ones."""
    if len(features) <= most:
        return features
    return features[np.linspace(0, len(features) - 1, most).round().astype(int)]
