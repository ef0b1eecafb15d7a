"""Captioning examples: videos with a caption in each language to learn from, and videos to be captioned.

Dimension legend
    N  examples      V  videos      D  lengths an example has (words by language, segments)
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Int32

from vatex_jax.data.padding import padded_videos, padded_words
from vatex_jax.data.sources import Features, Split
from vatex_jax.text.tokenization import Tokenizer
from vatex_jax.text.vocabulary import EOS, Vocabulary

WORD_COST, SEGMENT_COST = 4.0, 0.5
"""Of a target word, with its share of the vocabulary product, and of a segment."""


@dataclasses.dataclass(frozen=True)
class CaptionText:
    """A split's captions, none of them cut.

    Attributes:
        captions: by language, the captions of each video as they were written.
        tokens: the same, tokenised.
    """

    captions: Mapping[str, tuple[tuple[str, ...], ...]]
    tokens: Mapping[str, tuple[tuple[list[str], ...], ...]]


def caption_text(split: Split, tokenizers: Mapping[str, Tokenizer]) -> CaptionText:
    """Tokenises a split's captions in the languages of `tokenizers`."""
    captions = {language: tuple(video.captions(language) for video in split.videos) for language in tokenizers}
    tokens = {
        language: tuple(tuple(tokenizers[language].tokenize(text) for text in texts) for texts in captions[language])
        for language in tokenizers
    }
    return CaptionText(captions, tokens)


@dataclasses.dataclass(frozen=True)
class CaptionExamples:
    """Caption number i of a video in every language, beside its features; a language may have none of that number.

    Attributes:
        targets: by language, int32 ids of each example with EOS behind at most `max_words` words; empty where the video
            has no such caption.
        video: int32 [N]; which features belong to an example.
        features: the split's.
        segments: int32 [N]; segments of each example's video.
        max_segments: longer videos are thinned evenly to this many.
    """

    targets: Mapping[str, tuple[np.ndarray, ...]]
    video: Int32[np.ndarray, "N"]
    features: Features
    segments: Int32[np.ndarray, "N"]
    max_segments: int

    @property
    def cost(self) -> np.ndarray:
        return np.array([WORD_COST] * len(self.targets) + [SEGMENT_COST])

    @property
    def words(self) -> int:
        return len(self.targets)

    def __len__(self) -> int:
        return len(self.video)

    def lengths(self) -> Int32[np.ndarray, "N D"]:
        """Words with EOS by language, segments; see data.batching.Examples."""
        words = [[len(ids) for ids in targets] for targets in self.targets.values()]
        return np.array([*words, self.segments], np.int32).reshape(-1, len(self)).T

    def arrays(
        self, rows: Sequence[int] | np.ndarray, shape: Sequence[int] | np.ndarray, batch_size: int, *, targets: bool
    ) -> dict[str, np.ndarray]:
        """`target_LANGUAGE` ids, `video` and `video_mask`."""
        video, mask = padded_videos(
            self.features, self.video[np.asarray(rows)], batch_size, int(shape[-1]), self.max_segments
        )
        made = {"video": video, "video_mask": mask}
        if targets:
            for (language, ids), length in zip(self.targets.items(), shape[:-1], strict=True):
                made[f"target_{language}"] = padded_words([ids[row] for row in rows], batch_size, int(length))
        return made


def caption_examples(
    split: Split,
    text: CaptionText,
    vocabularies: Mapping[str, Vocabulary],
    *,
    max_words: int,
    max_segments: int,
) -> CaptionExamples:
    """Examples to learn from."""
    targets: dict[str, list[np.ndarray]] = {language: [] for language in vocabularies}
    place = []
    for number in range(len(split.videos)):
        most = max(len(text.tokens[language][number]) for language in vocabularies)
        place += [number] * most
        for language, vocabulary in vocabularies.items():
            captions = text.tokens[language][number]
            ids = [np.append(vocabulary.encode(tokens, max_words), np.int32(EOS)) for tokens in captions]
            targets[language] += ids + [np.zeros(0, np.int32)] * (most - len(ids))
    video = np.array(place, np.int32)
    segments = np.minimum(split.features.segments, max_segments)[video]
    made = {language: tuple(ids) for language, ids in targets.items()}
    return CaptionExamples(made, video, split.features, segments.astype(np.int32), max_segments)


@dataclasses.dataclass(frozen=True)
class VideoExamples:
    """Every video of a split once, to be captioned.

    Attributes:
        features: the split's.
        max_segments: longer videos are thinned evenly to this many.
    """

    cost: ClassVar[np.ndarray] = np.ones(1)
    words: ClassVar[int] = 0

    features: Features
    max_segments: int

    def __len__(self) -> int:
        return len(self.features)

    def lengths(self) -> Int32[np.ndarray, "V 1"]:
        """Segments."""
        return np.minimum(self.features.segments, self.max_segments).astype(np.int32)[:, None]

    def arrays(
        self, rows: Sequence[int] | np.ndarray, shape: Sequence[int] | np.ndarray, batch_size: int, *, targets: bool
    ) -> dict[str, np.ndarray]:
        """`video` and `video_mask`."""
        del targets
        video, mask = padded_videos(self.features, rows, batch_size, int(shape[0]), self.max_segments)
        return {"video": video, "video_mask": mask}
