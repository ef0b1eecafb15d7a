"""What CCA and its baselines read: training pairs of question and answer, test questions with their candidates.

Dimension legend
    m  training questions that have an answer      n  test questions      C  candidates, 100
    Q, A  distinct questions and answers      d  word vector size      F  image features
    D  dialogues of a split
"""

import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import ml_collections
import numpy as np
from jaxtyping import Bool, Float32, Int

from vatex_jax.cca.sentences import distinct_sentences, embed_sentences
from vatex_jax.data.dialogues import NONE, Dialogues, read_dialogues
from vatex_jax.data.sources import Source, open_source
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.text.learned_vectors import learn_vectors
from vatex_jax.text.sentences import build_vocabulary
from vatex_jax.text.vectors import GLOVE_PACKAGE, WordVectors, load_vectors

Report = Callable[[str], object]

LEARNED = "learned"
"""The source of word vectors that are learned from the training split's text."""


@dataclasses.dataclass(frozen=True)
class Turns:
    """Some rounds of a split, one after the other.

    Attributes:
        dialogue, round: where each stands in the split, both from 0.
        question: id of its question; answer: id of its ground truth, -1 where hidden.
    """

    dialogue: Int[np.ndarray, "m"]
    round: Int[np.ndarray, "m"]
    question: Int[np.ndarray, "m"]
    answer: Int[np.ndarray, "m"]

    def __len__(self) -> int:
        return len(self.question)

    def part(self, rows: slice) -> "Turns":
        """Some of them, one after the other."""
        return Turns(self.dialogue[rows], self.round[rows], self.question[rows], self.answer[rows])


@dataclasses.dataclass(frozen=True)
class CCAData:
    """What is ranked, and what to rank it by.

    Attributes:
        source, train, test: the data set and two of its splits.
        validation: what some models are trained on too; None where nothing asks for it.
        words: the word vectors.
        questions, answers: sentence vectors; `training`, `turns` and `asked` hold ids into them.
        question_texts, answer_texts: the sentences.
        asked: by split, the question of each round; -1 in absent ones.
        copies: by split, how often each of its dialogues is trained on.
        training: training rounds whose answer is known.
        turns: test rounds with candidates.
        options, gt_index: their candidates and the ground truth's place (-1: hidden).
        question_gaps, answer_gaps: of the words of distinct questions and answers, the share without a vector: 0-1.
        fingerprint: of all that a model is fitted on: the training split, the vocabulary and the word vectors.
    """

    source: Source
    train: Dialogues
    test: Dialogues
    validation: Dialogues | None
    words: WordVectors
    questions: Float32[np.ndarray, "Q d"]
    answers: Float32[np.ndarray, "A d"]
    question_texts: tuple[str, ...]
    answer_texts: tuple[str, ...]
    asked: Mapping[str, Int[np.ndarray, "_ rounds"]]
    copies: Mapping[str, Int[np.ndarray, "_"]]
    training: Turns
    turns: Turns
    options: Int[np.ndarray, "n C"]
    gt_index: Int[np.ndarray, "n"]
    question_gaps: float
    answer_gaps: float
    fingerprint: str

    def parts(self, split: str) -> tuple[Dialogues, ...]:
        """The splits of `train` or `trainval`."""
        if split == "train":
            return (self.train,)
        if self.validation is None:
            raise ValueError("The validation split was not read: `trains_on_validation` did not ask for it.")
        return self.train, self.validation


def load_cca_data(config: ml_collections.ConfigDict, report: Report, *, judged: bool) -> CCAData:
    """Reads a data set and embeds its sentences, each distinct one once.

    Args:
        config: of the experiment.
        report: called with each line for the person who waits.
        judged: only test rounds whose ground truth is known; else all that have candidates.

    Raises:
        ConfigError: no such data set or word vectors.
        DataError: the data cannot be read, or hold nothing to train on or to rank.
    """
    source = open_inputs(config, report)
    train = read_dialogues(source, "train")
    test = _test_split(source, config.data.test_split, judged)
    report(f"ranking the {test.name} split")
    words = _word_vectors(config, train)
    if config.vectors.source == LEARNED and not source.simulated:
        report(
            f"note: word vectors of {words.dimension} numbers are learned from the training text; the paper's are "
            "FastText's, of 300 (configs/cca.py:paper has its settings)."
        )
    validation = _validation(config, source, test, report) if trains_on_validation(config) else None
    splits = {split.name: split for split in (train, test, validation) if split is not None}
    question_texts, ids = distinct_sentences(*(split.question_table for split in splits.values()))
    asked = {name: _ids(of, split.questions) for (name, split), of in zip(splits.items(), ids, strict=True)}
    copies = {name: _copies(config, split) for name, split in splits.items()}
    questions = embed_sentences(question_texts, words, config.vectors.max_tokens)
    answers = embed_sentences(train.answer_table, words, config.vectors.max_tokens)
    parts = (train, validation) if config.training.split == "trainval" else (train,)
    training = joined(
        rounds_of(part, part.answered, asked[part.name], copies[part.name]) for part in parts if part is not None
    )
    chosen = test.judged if judged else test.rankable
    if not len(training) or not chosen.any():
        what = "no training round with an answer" if not len(training) else "nothing to rank"
        raise DataError(f"{source.name} has {what} (splits train and {test.name}). Name another data set or split.")
    turns = rounds_of(test, chosen, asked[test.name])
    report(
        f"{len(training):,} training questions ({len(question_texts):,} distinct with the test's), "
        f"{len(train.answer_table):,} distinct answers; vectors {words.name}; {len(turns):,} questions to rank"
    )
    return CCAData(
        source=source,
        train=train,
        test=test,
        validation=validation,
        words=words,
        questions=questions.vectors,
        answers=answers.vectors,
        question_texts=tuple(question_texts),
        answer_texts=train.answer_table,
        asked=asked,
        copies=copies,
        training=training,
        turns=turns,
        options=test.options[turns.dialogue, turns.round],
        gt_index=test.gt_index[turns.dialogue, turns.round],
        question_gaps=questions.unknown_share + questions.missing_share,
        answer_gaps=answers.unknown_share + answers.missing_share,
        fingerprint=_fingerprint(train, validation, words),
    )


def rounds_of(
    split: Dialogues,
    chosen: Bool[np.ndarray, "D rounds"],
    asked: Int[np.ndarray, "D rounds"],
    copies: Int[np.ndarray, "D"] | None = None,
) -> Turns:
    """Rounds of a split in order, each as often as its dialogue counts.

    Args:
        split: the dialogues.
        chosen: which of their rounds.
        asked: the question of each.
        copies: by dialogue; None for once each.
    """
    dialogue, turn = np.nonzero(chosen)
    if copies is not None:
        dialogue, turn = (np.repeat(places, copies[dialogue]) for places in (dialogue, turn))
    return Turns(dialogue, turn, asked[dialogue, turn], split.answers[dialogue, turn])


def joined(several: Iterable[Turns]) -> Turns:
    """Rounds of several splits, one split after the other; `dialogue` counts within each."""
    columns = zip(*((turns.dialogue, turns.round, turns.question, turns.answer) for turns in several), strict=True)
    return Turns(*map(np.concatenate, columns))


def model_of(variant: str) -> str:
    """The model of a variant of configs/cca.py: CCA-AQ whatever answers it is trained on."""
    return "aq" if variant.startswith("aq_") else variant


def trains_on_validation(config: ml_collections.ConfigDict) -> bool:
    """Whether dialogues or annotations of the validation split are trained on."""
    return "trainval" in (config.training.split, config.training.annotations)


def _validation(config: ml_collections.ConfigDict, source: Source, test: Dialogues, report: Report) -> Dialogues:
    if test.name != "validation":
        return read_dialogues(source, "validation")
    if config.training.split == "trainval":
        raise ConfigError(
            "config.training.split is trainval, so the validation split is trained on and cannot be ranked as well: "
            "choose train, or rank the test split with --mode=predict --config.data.test_split=test."
        )
    report("note: annotations of the validation split are trained on (training.annotations is trainval): figures on it "
           "are not those of unseen data.")  # fmt: skip
    return test


def _copies(config: ml_collections.ConfigDict, split: Dialogues) -> Int[np.ndarray, "D"]:
    """One each; or the dialogues of a sample with replacement, as large as the split, by seed."""
    if not config.data.resample:
        return np.ones(len(split), np.int64)
    key = [config.seed, *split.name.encode()]
    return np.random.default_rng(key).multinomial(len(split), np.full(len(split), 1 / len(split)))


def _ids(of_table: Int[np.ndarray, "table"], questions: Int[np.ndarray, "D rounds"]) -> Int[np.ndarray, "D rounds"]:
    """Ids of a split's questions among those of all splits, -1 where there is none."""
    return np.where(questions >= 0, of_table[np.maximum(questions, 0)], NONE) if len(of_table) else questions


def open_inputs(config: ml_collections.ConfigDict, report: Report) -> Source:
    """Opens the data set, after a look at what can be told to be missing without reading it whole.

    Raises:
        ConfigError: no such data set or word vectors.
        DataError: the data set is not built, or was built without the image features that the variant needs.
    """
    check_vectors(config.vectors.source)
    source = open_source(config.data.name, config.data.data_dir or None, report)
    if config.variant in ("aqi", "nn_aqi") and not source.read("train", _image_size):
        raise without_images(source)
    return source


def without_images(source: Source) -> DataError:
    """The error of a data set without image features, with what to do."""
    base, _, version = source.name.partition("/")
    text = f"visdial_table5.py:{version}-text" if base == "visdial" else ""
    return DataError(
        f"{source.name} was built without image features, which this variant needs ({source.folder}). Build it anew: "
        f"tfds_builders/build.py {source.name} --manual_dir=FOLDER --image_features=PATH --overwrite. Or leave images "
        "out: the variants aq, none and nn_aq need none"
        + (f"; configs/tables/{text} is the table of these, at the published settings." if text else ".")
    )


def _image_size(records: Sequence[Mapping[str, Any]]) -> int:
    """Of the first image's features, and so of all; 1 where others have to say that these are no dialogues."""
    return np.size(records[0].get("image", 1)) if len(records) else 1


def check_vectors(source: str) -> None:
    """Refuses, before any data are read, what names no word vectors.

    Raises:
        ConfigError: `source` is empty, or neither a name of vectors nor a file; with what it can be.
    """
    if source in (LEARNED, GLOVE_PACKAGE) or os.path.isfile(source):
        return
    wrong = "empty" if not source else f"{source!r}, which names no vectors, and there is no such file"
    raise ConfigError(
        f"config.vectors.source is {wrong}. It can be the path of a FastText model (/path/to/wiki.en.bin), of a .vec "
        f"or GloVe text file, {GLOVE_PACKAGE} (a package), or {LEARNED} (from the training text)."
    )


def _test_split(source: Source, name: str, judged: bool) -> Dialogues:
    if name:
        return read_dialogues(source, name)
    for candidate in ("test", "validation"):
        if candidate in source.splits:
            split = read_dialogues(source, candidate)
            if (split.judged if judged else split.rankable).any():
                return split
    raise DataError(
        f"{source.name} has no test or validation split whose answers are known. Build it with one, or name a split in "
        "config.data.test_split (--mode=predict ranks without answers)."
    )


def _fingerprint(train: Dialogues, validation: Dialogues | None, words: WordVectors) -> str:
    digest = hashlib.sha256(words.vocabulary.fingerprint.encode())
    digest.update(np.ascontiguousarray(words.matrix))
    train.add_to(digest, features=True)
    if validation is not None:
        validation.add_to(digest, features=False)
    return digest.hexdigest()[:16]


def _word_vectors(config: ml_collections.ConfigDict, train: Dialogues) -> WordVectors:
    wanted = config.vectors
    text = _training_text(train)
    vocabulary = build_vocabulary(text, wanted.min_count)
    if wanted.source != LEARNED:
        return load_vectors(wanted.source, vocabulary, wanted.special)
    return learn_vectors(
        text,
        vocabulary,
        dimension=wanted.dimension,
        window=wanted.window,
        smoothing=wanted.smoothing,
        special=wanted.special,
    )


def _training_text(train: Dialogues) -> list[str]:
    """Captions, questions and ground-truth answers, as often as they occur."""
    asked = train.questions[train.questions >= 0].tolist()
    answered = train.answers[train.answered].tolist()
    return [
        *train.captions,
        *(train.question_table[question] for question in asked),
        *(train.answer_table[answer] for answer in answered),
    ]
