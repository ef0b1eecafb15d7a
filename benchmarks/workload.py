"""The work both sides are given: sizes of the model, sentences, and how many operations they need.

Dimension legend
    N  sentences      S  source words      T  target words, EOS included      L  video segments
    F  segment feature size      B  batch
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from vatex_jax.data.examples import TranslationExamples
from vatex_jax.data.sources import Features
from vatex_jax.text.vocabulary import EOS, PAD, SPECIALS

MAX_WORDS = 40
CAPTION_WORDS = 30
SEGMENTS = 32
VIDEOS = 64
"""Distinct videos; sentences share them, as parallel captions do."""


@dataclasses.dataclass(frozen=True)
class ModelSizes:
    """The published sizes of VMT, with the paper's vocabularies; small ones are for tests."""

    source_vocabulary: int = 11_000
    target_vocabulary: int = 14_000
    feature: int = 1024
    embedding: int = 512
    source_hidden: int = 256
    video_hidden: int = 256
    video_projection: int = 512
    decoder_hidden: int = 1024
    layers: int = 2

    def translator_fields(self) -> dict[str, int]:
        """Fields of `vatex_jax.models.translator.Translator`, which learns F from its input."""
        fields = dataclasses.asdict(self)
        del fields["feature"]
        return fields


@dataclasses.dataclass(frozen=True)
class CaptionerSizes:
    """The published sizes of Shared Enc-Dec, with the paper's vocabularies; small ones are for tests."""

    vocabularies: tuple[tuple[str, int], ...] = (("en", 11_000), ("zh", 14_140))
    feature: int = 1024
    embedding: int = 512
    video_projection: int = 512
    video_hidden: int = 512
    fusion: int = 512
    decoder_hidden: int = 1024

    def captioner_fields(self) -> dict[str, Any]:
        """Fields of `vatex_jax.models.captioner.Captioner`, which learns F from its input."""
        fields = dataclasses.asdict(self)
        del fields["feature"]
        return fields


def real_lengths(count: int, seed: int, most: int = MAX_WORDS) -> Int[np.ndarray, "N 2"]:
    """Words of source and target sentences, spread as captions and their translations are.

    Source lengths are gamma with mean 15 and standard deviation 5; a target's is 14/15 of its source's plus normal
    noise of standard deviation 3; both are rounded and clipped to 1..`most`. With 40 that gives means near 15 and 14,
    standard deviations near 5 and 5.5, and a correlation near 0.85, in the range of translated captions (0.82 to 0.87).
    """
    rng = np.random.default_rng(seed)
    source = rng.gamma(9.0, 15.0 / 9.0, count)
    target = source * 14 / 15 + rng.normal(0.0, 3.0, count)
    return np.clip(np.rint(np.stack([source, target], axis=1)), 1, most).astype(np.int64)


def random_examples(
    sizes: ModelSizes, lengths: Int[np.ndarray, "N 2"], segments: int, seed: int
) -> TranslationExamples:
    """Sentences of the given numbers of words, all random, each beside one of 64 random videos."""
    rng = np.random.default_rng(seed)
    videos = rng.normal(size=(VIDEOS, segments, sizes.feature)).astype(np.float32)
    first = len(SPECIALS)
    source = tuple(rng.integers(first, sizes.source_vocabulary, n, np.int32) for n in lengths[:, 0])
    target = tuple(
        np.append(rng.integers(first, sizes.target_vocabulary, n, np.int32), np.int32(EOS)) for n in lengths[:, 1]
    )
    count = len(lengths)
    return TranslationExamples(
        source,
        target,
        rng.integers(0, VIDEOS, count, np.int32),
        Features(lambda index: videos[index], np.full(VIDEOS, segments, np.int32)),
        np.full(count, segments, np.int32),
        segments,
    )


def translation_flops(
    sizes: ModelSizes, source: Sequence[int], target: Sequence[int], segments: Sequence[int]
) -> dict[str, int]:
    """Forward floating-point operations of all matrix products on real positions, two a multiply-add, by product.

    Everything that is no matrix product (gates, softmaxes, look-ups) is left out. A training step counts three times
    the sum: the forward product and its two gradients.

    Args:
        sizes: of the model, with both attentions.
        source: words of each sentence.
        target: words of each sentence, EOS included.
        segments: of each sentence's video.
    """
    words, targets, clips = sum(source), sum(target), sum(segments)
    both_source, both_video, gates = 2 * sizes.source_hidden, 2 * sizes.video_hidden, 4 * sizes.decoder_hidden
    upper = sizes.layers - 1
    attended = {"source": (both_source, source), "video": (both_video, segments)}
    multiply_adds = {
        "source encoder": words * _bilstm(sizes.embedding, sizes.source_hidden, sizes.layers),
        "video projection": clips * sizes.feature * sizes.video_projection,
        "video encoder": clips * _bilstm(sizes.video_projection, sizes.video_hidden, sizes.layers),
        "decoder, first layer": targets * (sizes.embedding + both_source + both_video + sizes.decoder_hidden) * gates,
        "decoder, upper layers": targets * upper * 2 * sizes.decoder_hidden * gates,
        "output, hidden": targets * sizes.decoder_hidden * sizes.embedding,
        "output, vocabulary": targets * sizes.embedding * sizes.target_vocabulary,
    }
    for name, (size, positions) in attended.items():
        multiply_adds[f"{name} attention, query"] = targets * sizes.decoder_hidden * size
        # Once for the scores, once for the context.
        pairs = sum(t * m for t, m in zip(target, positions, strict=True))
        multiply_adds[f"{name} attention, scores and context"] = 2 * pairs * size
    return {name: 2 * int(count) for name, count in multiply_adds.items()}


def random_captions(
    sizes: CaptionerSizes, lengths: Int[np.ndarray, "B N"], segments: int, seed: int
) -> dict[str, np.ndarray]:
    """A batch of random videos, each with a caption of so many random words in each language (columns of `lengths`)."""
    rng = np.random.default_rng(seed)
    batch = {
        "video": rng.normal(size=(len(lengths), segments, sizes.feature)).astype(np.float32),
        "video_mask": np.ones((len(lengths), segments), bool),
    }
    for (language, vocabulary), words in zip(sizes.vocabularies, lengths.T, strict=True):
        place = np.arange(words.max() + 1)
        target = rng.integers(len(SPECIALS), vocabulary, (len(lengths), len(place)), np.int32)
        target = np.where(place < words[:, None], target, np.where(place == words[:, None], EOS, PAD))
        batch[f"target_{language}"] = target.astype(np.int32)
    return batch


def captioning_flops(
    sizes: CaptionerSizes, targets: Mapping[str, Sequence[int]], segments: Sequence[int]
) -> dict[str, int]:
    """As `translation_flops`, of a captioner.

    Args:
        sizes: of the model.
        targets: by language, words of each video's caption, EOS included; 0 where it has none.
        segments: of each video, in the same order.
    """
    hidden, clips = sizes.decoder_hidden, sum(segments)
    words = sum(sum(counts) for counts in targets.values())
    pairs = sum(t * m for counts in targets.values() for t, m in zip(counts, segments, strict=True))
    multiply_adds = {
        "video projection": clips * sizes.feature * sizes.video_projection,
        "video encoder": clips * _bilstm(sizes.video_projection, sizes.video_hidden, 1),
        "attention, query": words * hidden * hidden,
        "attention, scores and context": 2 * pairs * hidden,
        "fusion": words * (sizes.embedding + hidden) * sizes.fusion,
        "decoder": words * (sizes.fusion + hidden) * 4 * hidden,
        "output, hidden": words * hidden * sizes.embedding,
        "output, vocabulary": sum(sum(targets[name]) * sizes.embedding * size for name, size in sizes.vocabularies),
    }
    return {name: 2 * int(count) for name, count in multiply_adds.items()}


def _bilstm(inputs: int, hidden: int, layers: int) -> int:
    """Multiply-adds of one position in a stack of bidirectional LSTMs."""
    sizes = [inputs] + [2 * hidden] * (layers - 1)
    return sum(2 * (size + hidden) * 4 * hidden for size in sizes)


def training_flops(sizes: ModelSizes, lengths: Int[np.ndarray, "N 3"]) -> int:
    """Operations of training once on each sentence, from its source words, target words with EOS, and segments."""
    return 3 * sum(translation_flops(sizes, *lengths.T.tolist()).values())
