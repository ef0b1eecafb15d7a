"""What a translation run reads: the data set, its words as ids, and the world's own answers where it has them."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_collections

from vatex_jax.data.examples import (
    ParallelText,
    TranslationExamples,
    languages,
    other_videos,
    parallel_text,
    training_vocabulary,
    translation_examples,
)
from vatex_jax.data.sources import Source, Split, open_source
from vatex_jax.errors import DataError
from vatex_jax.experiments.splits import find_splits, trained_on
from vatex_jax.experiments.trained import Report
from vatex_jax.experiments.workdir import keep_vocabularies
from vatex_jax.text.tokenization import Tokenizer, make_tokenizer
from vatex_jax.text.vocabulary import Vocabulary


@dataclasses.dataclass(frozen=True)
class TranslationData:
    """A data set ready to be translated.

    Attributes:
        source: the opened data set.
        splits: `train`, `validation` and `test` (whatever the data set calls it) as read.
        test_split: the test split's name in the data set, or `validation_half`.
        trained_on: the splits that training reads, validation whole: what a checkpoint was made from, whichever split
            is translated.
        tokenizers: by language.
        vocabularies: by language.
        text: parallel captions of each split, whole.
        examples: the same as ids, cut.
    """

    source: Source
    splits: dict[str, Split]
    test_split: str
    trained_on: tuple[Split, ...]
    tokenizers: dict[str, Tokenizer]
    vocabularies: dict[str, Vocabulary]
    text: dict[str, ParallelText]
    examples: dict[str, TranslationExamples]


def load_translation_data(
    config: ml_collections.ConfigDict,
    workdir: Path,
    report: Report,
    *,
    references: bool = True,
    changed: Callable[[str, ParallelText], ParallelText] | None = None,
) -> TranslationData:
    """Reads what `config` names; vocabularies are built from the training split, or checked against the run's.

    Args:
        config: of the experiment.
        workdir: the run's folder.
        report: called with what a person should know.
        references: the test split must have them; without, a split named by `config.data.test_split` may lack them.
        changed: what is made of the text of `train`, `validation` and `test` before the model sees it, by these names;
            vocabularies are those of the text as it is.

    Raises:
        DataError: a split is missing or has no parallel captions.
        CheckpointError: the vocabularies of the run in `workdir` are not those of this data.
    """
    data = config.data
    pair = languages(config.direction)
    source = open_source(data.name, data.data_dir or None, report)

    def scored(split: Split) -> bool:
        return any(video.parallel(pair[1]) for video in split.videos)

    splits, test_split = find_splits(
        source,
        data.test_split,
        scored,
        f"parallel captions in {pair[1]!r}",
        report,
        None if references else lambda split: any(video.captions(pair[0]) for video in split.videos),
    )
    tokenizers = {language: make_tokenizer(language, data.chinese) for language in pair}
    vocabularies = {
        language: training_vocabulary(splits["train"], language, tokenizers[language], data.min_count)
        for language in pair
    }
    keep_vocabularies(vocabularies, workdir)
    text = {
        name: parallel_text(split, config.direction, tokenizers, unpaired=name == "test" and not scored(split))
        for name, split in splits.items()
    }
    for name in ("train", "test"):
        if not len(text[name]):
            raise DataError(f"Split {splits[name].name} of {source.name} has no parallel captions to translate.")
    if changed is not None:
        text = {name: changed(name, captions) for name, captions in text.items()}
    examples = {}
    for name, split in splits.items():
        features = None if config.model.video == "none" else split.features
        if features is not None and len(text[name]) and not features.segments.any():
            raise DataError(
                f"Split {split.name} of {source.name} has no video features, and {config.variant!r} needs them: choose "
                "the variant none, or build and name a data set with features."
            )
        if features is not None and data.shuffled_video:
            features = features.reordered(other_videos(len(split.videos), config.seed))
        examples[name] = translation_examples(
            text[name],
            (vocabularies[pair[0]], vocabularies[pair[1]]),
            max_words=data.max_words,
            features=features,
            max_segments=data.max_segments,
        )
    return TranslationData(
        source, splits, test_split, trained_on(source, splits, test_split), tokenizers, vocabularies, text, examples
    )


def world_answers(data: TranslationData, direction: str) -> list[dict[str, Any]] | None:
    """What a simulated world knows of each test pair, in the order of `text["test"]`; None for other data.

    Each holds `ceiling` (the most probable translation without the video) and `ambiguous` (words whose sense only the
    video tells: the `right` one here, and whether the video holds `both`).
    """
    facts = data.source.sidecar("test_pairs.json") if data.source.simulated and data.test_split == "test" else None
    if facts is None:
        return None
    source, target = languages(direction)
    by_place = {(fact["video_id"], fact["pair"]): fact for fact in facts}
    text, answers = data.text["test"], []
    for video, pair in zip(text.video, text.pair, strict=True):
        fact = by_place[text.videos[video].video_id, int(pair)]
        words = fact["ambiguous" if source == "en" else "ambiguous_zh"]
        answers.append(
            {
                "ceiling": fact[f"{target}_ceiling"],
                "ambiguous": [{"right": word[target], "both": word["both_senses_in_video"]} for word in words],
            }
        )
    return answers
