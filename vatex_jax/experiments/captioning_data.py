"""What a captioning run reads: the data set, captions as ids to learn from, videos to be captioned."""

import dataclasses
import itertools
from pathlib import Path

import ml_collections

from vatex_jax.data.caption_examples import (
    CaptionExamples,
    CaptionText,
    VideoExamples,
    caption_examples,
    caption_text,
)
from vatex_jax.data.examples import other_videos, vocabulary_of
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
    # Every variant is scored on the same videos: those captioned in all languages the data set has. A test split that a
    # person names may have fewer languages, such as VaTeX's public one, and then scores what writes those.
    known = _languages_of(source, languages)
    needed = languages if data.test_split else known
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
    splits = {
        "train": splits["train"],
        "validation": _scorable(splits["validation"], known, report),
        "test": _scorable(splits["test"], _those_there(splits["test"], known, languages), report, keep=not references),
    }
    if held_out:
        splits = _without_held_out(splits, held_out, report)
    _check(splits, source, needed)
    if held_out:
        _check_held_out(splits["test"], source, held_out, references, report)
    tokenizers = {language: make_tokenizer(language, data.chinese) for language in languages}
    text = {role: caption_text(split, tokenizers) for role, split in splits.items()}
    vocabularies = {
        language: vocabulary_of(itertools.chain(*text["train"].tokens[language]), language, data.min_count)
        for language in languages
    }
    keep_vocabularies(vocabularies, workdir)
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


def _those_there(split: Split, known: tuple[str, ...], languages: tuple[str, ...]) -> tuple[str, ...]:
    """The model's languages, and those of the data set that this split has captions in."""
    return tuple(name for name in known if name in languages or any(video.captions(name) for video in split.videos))


def _scorable(split: Split, languages: tuple[str, ...], report: Report, *, keep: bool = False) -> Split:
    """A split without the videos that cannot be scored; with `keep`, one that has nothing else is kept whole."""
    rows = _captioned(split, languages)
    if len(rows) == len(split.videos) or (keep and not rows):
        return split
    report(
        f"{len(split.videos) - len(rows)} of {len(split.videos)} videos of split {split.name} lack captions in "
        f"{' or '.join(languages)} and are left out."
    )
    return split.subset(rows, split.name)


def _without_held_out(splits: dict[str, Split], held_out: frozenset[int], report: Report) -> dict[str, Split]:
    """Training and validation without these actions, and without videos of which nobody says what they show."""
    kept = dict(splits)
    for role in ("train", "validation"):
        labels = [video.label for video in splits[role].videos]
        kept[role] = splits[role].subset(
            [row for row, label in enumerate(labels) if label not in held_out and label >= 0], splits[role].name
        )
        held, unknown = sum(label in held_out for label in labels), sum(label < 0 for label in labels)
        report(f"{role}: {held} videos of held-out actions and {unknown} without an action are left out.")
    return kept


def _shuffled(split: Split, seed: int) -> Split:
    """The control: every video with another one's features."""
    return dataclasses.replace(split, features=split.features.reordered(other_videos(len(split.videos), seed)))


def _captioned(split: Split, languages: tuple[str, ...]) -> list[int]:
    """The videos that have a caption in every language that is more than signs, which scores leave out."""
    return [
        number
        for number, video in enumerate(split.videos)
        if all(any(map(_has_a_word, video.captions(language))) for language in languages)
    ]


def _has_a_word(caption: str) -> bool:
    """Whether something is left when punctuation, and emoji, which the tokeniser of English drops, are gone."""
    return bool(without_punctuation(caption.split())) and any(map(str.isalnum, caption))


def _check(splits: dict[str, Split], source: Source, needed: tuple[str, ...]) -> None:
    train, test = splits["train"], splits["test"]
    if not train.videos:
        raise DataError(f"Split train of {source.name} has no video left: hold out fewer actions.")
    if not train.features.segments.any():
        raise DataError(
            f"Split {train.name} of {source.name} has no video features, and captioning needs them: build and name a "
            "data set with features."
        )
    if not test.videos:
        raise DataError(
            f"No video of split {test.name} of {source.name} has captions in {' and '.join(needed)} to score against: "
            "name another by config.data.test_split."
        )


def _check_held_out(test: Split, source: Source, held_out: frozenset[int], references: bool, report: Report) -> None:
    """Raises DataError if held-out videos are to be scored apart and there are none; says so if nothing is scored."""
    if any(video.label in held_out for video in test.videos):
        return
    what = f"No video of split {test.name} of {source.name} is known to be of an action in config.data.holdout_actions"
    if references:
        raise DataError(
            f"{what}, so there is nothing to score apart: hold out actions that it has, or name another split by "
            "config.data.test_split."
        )
    report(f"{what}: it is captioned all the same, and nothing is scored.")


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
