"""What a captioning run reads: the data set, captions as ids to learn from, videos to be captioned."""

import dataclasses
from pathlib import Path

import ml_collections

from vatex_jax.data.caption_examples import (
    CaptionExamples,
    CaptionText,
    VideoExamples,
    caption_examples,
    caption_text,
)
from vatex_jax.data.examples import other_videos, training_vocabulary
from vatex_jax.data.sources import Source, Split, open_source
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.experiments.splits import find_splits, trained_on
from vatex_jax.experiments.trained import Report
from vatex_jax.experiments.workdir import keep_vocabularies
from vatex_jax.metrics.coco import without_punctuation
from vatex_jax.text.tokenization import Tokenizer, make_tokenizer
from vatex_jax.text.vocabulary import Vocabulary


@dataclasses.dataclass(frozen=True)
class CaptioningData:
    """A data set ready to be captioned.

    Attributes:
        source: the opened data set.
        splits: `train`, `validation` and `test` (whatever the data set calls it) as read.
        test_split: the test split's name in the data set, or `validation_half`.
        trained_on: the splits that training reads, validation whole.
        tokenizers, vocabularies: by language.
        text: captions of each split, whole.
        examples: `train` as captions, `validation` and `test` as videos.
        held_out: action labels kept out of training.
    """

    source: Source
    splits: dict[str, Split]
    test_split: str
    trained_on: tuple[Split, ...]
    tokenizers: dict[str, Tokenizer]
    vocabularies: dict[str, Vocabulary]
    text: dict[str, CaptionText]
    examples: dict[str, CaptionExamples | VideoExamples]
    held_out: frozenset[int]


def load_captioning_data(
    config: ml_collections.ConfigDict, workdir: Path, report: Report, *, references: bool = True
) -> CaptioningData:
    """Reads what `config` names; vocabularies are built from the training split, or checked against the run's.

    Videos without a caption in one of the languages are left out of validation and test, where scores need one.

    Raises:
        DataError: a split is missing, or has nothing to learn from or to score.
        ConfigError: an action to be held out does not exist.
        CheckpointError: the vocabularies of the run in `workdir` are not those of this data.
    """
    data, languages = config.data, tuple(config.model.languages)
    source = open_source(data.name, data.data_dir or None, report)
    # Every variant is scored on the same videos: those captioned in all languages the data set has.
    needed = _languages_of(source, languages)
    splits, test_split = find_splits(
        source,
        data.test_split,
        lambda split: bool(_captioned(split, needed)),
        f"captions in {' and '.join(needed)}",
        report,
        None if references else lambda split: len(split.videos) > 0,
    )
    before = trained_on(source, splits, test_split)
    held_out = held_out_labels(source, tuple(data.holdout_actions))
    splits = {role: _usable(role, split, needed, held_out) for role, split in splits.items()}
    _check_features(splits["train"], source)
    if held_out and not any(video.label in held_out for video in splits["test"].videos):
        raise DataError(
            f"No video of split {test_split} of {source.name} is of an action in config.data.holdout_actions."
        )
    tokenizers = {language: make_tokenizer(language, data.chinese) for language in languages}
    vocabularies = {
        language: training_vocabulary(splits["train"], language, tokenizers[language], data.min_count)
        for language in languages
    }
    keep_vocabularies(vocabularies, workdir)
    text = {role: caption_text(split, tokenizers) for role, split in splits.items()}
    seen = {role: _shuffled(split, config.seed) if data.shuffled_video else split for role, split in splits.items()}
    examples: dict[str, CaptionExamples | VideoExamples] = {
        role: VideoExamples(seen[role].features, data.max_segments) for role in ("validation", "test")
    }
    examples["train"] = caption_examples(
        seen["train"], text["train"], vocabularies, max_words=data.max_words, max_segments=data.max_segments
    )
    return CaptioningData(source, splits, test_split, before, tokenizers, vocabularies, text, examples, held_out)


def _languages_of(source: Source, languages: tuple[str, ...]) -> tuple[str, ...]:
    videos = source.split("train").videos if "train" in source.splits else ()
    return tuple(name for name in ("en", "zh") if name in languages or any(video.captions(name) for video in videos))


def _usable(role: str, split: Split, languages: tuple[str, ...], held_out: frozenset[int]) -> Split:
    """Training and validation without held-out actions; validation and test without videos that cannot be scored."""
    rows = list(range(len(split.videos)))
    if role != "train":
        rows = _captioned(split, languages) or rows  # a split without any captions is captioned whole
    if role != "test":
        rows = [row for row in rows if split.videos[row].label not in held_out]
    return split if len(rows) == len(split.videos) else split.subset(rows, split.name)


def _shuffled(split: Split, seed: int) -> Split:
    """The control: every video with another one's features."""
    return dataclasses.replace(split, features=split.features.reordered(other_videos(len(split.videos), seed)))


def _captioned(split: Split, languages: tuple[str, ...]) -> list[int]:
    """The videos that have a caption in every language that is more than punctuation, which scores leave out."""
    return [
        number
        for number, video in enumerate(split.videos)
        if all(any(without_punctuation(text.split()) for text in video.captions(language)) for language in languages)
    ]


def _check_features(split: Split, source: Source) -> None:
    if not split.features.segments.any():
        raise DataError(
            f"Split {split.name} of {source.name} has no video features, and captioning needs them: build and name a "
            "data set with features."
        )


def held_out_labels(source: Source, actions: tuple[str, ...]) -> frozenset[int]:
    """The numbers of these actions among the data set's labels.

    Raises:
        ConfigError: the data set has no such action, or no labels at all.
    """
    if not actions:
        return frozenset()
    names = ((source.sidecar("sources.json") or {}).get("labels") or {}).get("names") or []
    for action in actions:
        if action not in names:
            known = f"its actions are {', '.join(names[:5])}, ... ({len(names)})" if names else "it has no labels"
            raise ConfigError(
                f"config.data.holdout_actions names {action!r}, which {source.name} does not have: {known}."
            )
    return frozenset(names.index(action) for action in actions)
