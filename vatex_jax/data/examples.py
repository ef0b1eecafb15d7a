"""Translation examples: parallel captions as token ids beside the number of their video.

Dimension legend
    N  examples
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Int32

from vatex_jax.data.padding import padded_videos, padded_words
from vatex_jax.data.sources import Features, Split, Video
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.text.tokenization import Tokenizer
from vatex_jax.text.vocabulary import EOS, SPECIALS, Vocabulary

DIRECTIONS = {"en2zh": ("en", "zh"), "zh2en": ("zh", "en")}

CHALLENGE_CAPTIONS = 5
"""The VMT challenge asks for a translation of the last five captions of each video."""


def languages(direction: str) -> tuple[str, str]:
    """(source, target) of a direction.

    Raises:
        ConfigError: neither `en2zh` nor `zh2en`.
    """
    if direction not in DIRECTIONS:
        raise ConfigError(f"config.direction is {direction!r}: it must be {' or '.join(DIRECTIONS)}.")
    return DIRECTIONS[direction]


@dataclasses.dataclass(frozen=True)
class ParallelText:
    """The parallel captions of a split, tokenised, none of them cut.

    Attributes:
        video: int32 [N]; the video's position in the split.
        pair: int32 [N]; 0..pairs-1 within the video.
        source, target: the tokens; no target tokens where there is no reference.
        captions: the pairs as they were written; None for a reference that is not there.
        videos: the split's videos.
    """

    video: Int32[np.ndarray, "N"]
    pair: Int32[np.ndarray, "N"]
    source: tuple[list[str], ...]
    target: tuple[list[str], ...]
    captions: tuple[tuple[str, str | None], ...]
    videos: tuple[Video, ...]

    def __len__(self) -> int:
        return len(self.source)


def parallel_text(
    split: Split, direction: str, tokenizers: Mapping[str, Tokenizer], *, unpaired: bool = False
) -> ParallelText:
    """Tokenises the parallel captions of a split.

    A pair with nothing left of its source (say, white space alone) is kept: the model is given EOS.

    Args:
        split: the captions.
        direction: `en2zh` or `zh2en`.
        tokenizers: by language.
        unpaired: of a video that has no pairs, as in a test split without references, take the last five captions in
            the source language: those the challenge asks to be translated.
    """
    source, target = languages(direction)
    places, captions = [], []
    for number, video in enumerate(split.videos):
        pairs = list(zip(video.parallel(source), video.parallel(target), strict=True))
        if unpaired and not pairs:
            pairs = [(caption, None) for caption in video.captions(source)[-CHALLENGE_CAPTIONS:]]
        places += [(number, pair) for pair in range(len(pairs))]
        captions += pairs
    video, pair = np.array(places, np.int32).reshape(-1, 2).T
    sources = tuple(tokenizers[source].tokenize(caption) for caption, _ in captions)
    targets = tuple(tokenizers[target].tokenize(caption or "") for _, caption in captions)
    return ParallelText(video, pair, sources, targets, tuple(captions), split.videos)


def training_vocabulary(split: Split, language: str, tokenizer: Tokenizer, min_count: int) -> Vocabulary:
    """The vocabulary of all captions of the training split in a language, the parallel ones and the others.

    Raises:
        DataError: nothing but special tokens is left.
    """
    sentences = (tokenizer.tokenize(text) for video in split.videos for text in video.captions(language))
    return vocabulary_of(sentences, language, min_count)


def vocabulary_of(sentences: Iterable[Sequence[str]], language: str, min_count: int) -> Vocabulary:
    """`training_vocabulary` of captions that are tokens already."""
    vocabulary = Vocabulary.build(sentences, min_count)
    if not len(vocabulary) > len(SPECIALS):
        raise DataError(
            f"No word of the training captions in {language!r} is met {min_count} times: there is nothing to train on. "
            "Lower config.data.min_count or use a larger data set."
        )
    return vocabulary


@dataclasses.dataclass(frozen=True)
class TranslationExamples:
    """A split ready for a model: ids, cut to the longest length allowed, and features.

    Attributes:
        source: int32 ids of each source, without BOS and EOS; at most `max_words`; EOS alone where it has no word.
        target: int32 ids of each target with EOS behind its at most `max_words` words.
        video: int32 [N]; which features belong to an example.
        features: the split's; None for a model without video.
        segments: int32 [N]; segments of each example's video, 0 without features.
        max_segments: longer videos are thinned evenly to this many.
    """

    cost: ClassVar[np.ndarray] = np.array([1.0, 4.0, 0.5])  # the decoder and its vocabulary weigh most
    words: ClassVar[int] = 2

    source: tuple[np.ndarray, ...]
    target: tuple[np.ndarray, ...]
    video: Int32[np.ndarray, "N"]
    features: Features | None
    segments: Int32[np.ndarray, "N"]
    max_segments: int

    def __len__(self) -> int:
        return len(self.source)

    def lengths(self) -> Int32[np.ndarray, "N 3"]:
        """Source words, target words with EOS, video segments."""
        return np.array(
            [(len(s), len(t), n) for s, t, n in zip(self.source, self.target, self.segments, strict=True)], np.int32
        ).reshape(-1, 3)

    def arrays(
        self, rows: Sequence[int] | np.ndarray, shape: Sequence[int] | np.ndarray, batch_size: int, *, targets: bool
    ) -> dict[str, np.ndarray]:
        """`source` and `target` ids, `video` and `video_mask`; see data.batching.Examples."""
        made = {"source": padded_words([self.source[row] for row in rows], batch_size, int(shape[0]))}
        if targets:
            made["target"] = padded_words([self.target[row] for row in rows], batch_size, int(shape[1]))
        if self.features is not None:
            made["video"], made["video_mask"] = padded_videos(
                self.features, self.video[np.asarray(rows)], batch_size, int(shape[2]), self.max_segments
            )
        return made


def translation_examples(
    text: ParallelText,
    vocabularies: tuple[Vocabulary, Vocabulary],
    *,
    max_words: int,
    features: Features | None,
    max_segments: int,
) -> TranslationExamples:
    """Ids of a split's pairs; `vocabularies` are the source's and the target's."""
    source = tuple(_or_eos(vocabularies[0].encode(tokens, max_words)) for tokens in text.source)
    target = tuple(np.append(vocabularies[1].encode(tokens, max_words), np.int32(EOS)) for tokens in text.target)
    segments = np.zeros(len(text), np.int32)
    if features is not None:
        segments = np.minimum(features.segments, max_segments)[text.video]
    return TranslationExamples(source, target, text.video, features, segments, max_segments)


def _or_eos(ids: np.ndarray) -> np.ndarray:
    # An encoder needs one word; EOS stands for a sentence that has none.
    return ids if len(ids) else np.array([EOS], np.int32)


def other_videos(count: int, seed: int) -> Sequence[int]:
    """For the control: an order in which no video keeps its own features, by seed (unless there is only one video)."""
    order = np.random.default_rng([seed, count]).permutation(count)
    # One cycle through a random order moves everything.
    shuffled = np.empty(count, np.int64)
    shuffled[order] = np.roll(order, 1)
    return shuffled.tolist()
