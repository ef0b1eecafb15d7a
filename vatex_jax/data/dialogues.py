"""Visual dialogues of a split as columns, read whole (DESIGN section 2, "Examples").

Dimension legend
    D  dialogues      R  rounds, 10      C  candidate answers, 100      F  image features, 0 where there are none
"""

import dataclasses
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32, Int32, Int64
from tqdm import tqdm

from vatex_jax.data.sources import Source
from vatex_jax.errors import DataError

ROUNDS = 10
CANDIDATES = 100
NONE = -1
"""Where there is no question, answer, candidate, ground truth or annotation."""


@dataclasses.dataclass(frozen=True)
class Dialogues:
    """A split.

    Attributes:
        name: of the split.
        image_ids, captions: by dialogue.
        rounds: questions of each dialogue, 1 to 10.
        question_table: distinct questions of this split; answer_table: distinct answers of the data set.
        questions, answers: ids into the tables; an answer may be hidden.
        options: candidates, ids into the answer table.
        gt_index: place of the ground truth among the candidates.
        relevance_round: the annotated round, from 0; relevance: of its candidates, 0 to 1.
        images: features of the images.
    """

    name: str
    image_ids: Int64[np.ndarray, "D"]
    captions: tuple[str, ...]
    rounds: Int32[np.ndarray, "D"]
    question_table: tuple[str, ...]
    answer_table: tuple[str, ...]
    questions: Int32[np.ndarray, "D R"]
    answers: Int32[np.ndarray, "D R"]
    options: Int32[np.ndarray, "D R C"]
    gt_index: Int32[np.ndarray, "D R"]
    relevance_round: Int32[np.ndarray, "D"]
    relevance: Float32[np.ndarray, "D C"]
    images: Float32[np.ndarray, "D F"]

    def __len__(self) -> int:
        return len(self.image_ids)

    @property
    def answered(self) -> Bool[np.ndarray, "D R"]:
        """Rounds whose answer is known."""
        return self.answers != NONE

    @property
    def rankable(self) -> Bool[np.ndarray, "D R"]:
        """Rounds that have candidates."""
        return self.options[:, :, 0] != NONE

    @property
    def judged(self) -> Bool[np.ndarray, "D R"]:
        """Rounds that have candidates of which one is known to be the ground truth."""
        return self.rankable & (self.gt_index != NONE)

    @property
    def annotated(self) -> Bool[np.ndarray, "D R"]:
        """Judged rounds whose candidates have relevances."""
        return self.judged & (self.relevance_round[:, None] == np.arange(self.questions.shape[1]))

    def add_to(self, digest: Any, features: bool) -> None:
        """Feeds everything that a result depends on to a hash, the image features where wanted."""
        texts = (self.captions, self.question_table, self.answer_table)
        digest.update("\n".join(f"{len(text)} {text}" for table in texts for text in table).encode())
        columns = (self.image_ids, self.questions, self.answers, self.options, self.gt_index, self.relevance_round)
        for column in (*columns, self.relevance, *((self.images,) if features else ())):
            digest.update(np.ascontiguousarray(column))


def read_dialogues(source: Source, split: str) -> Dialogues:
    """A split of an opened visual dialogue data set.

    Raises:
        DataError: the data set has no such split, holds no dialogues, or cannot be read.
    """
    answers = source.sidecar("answers.json")
    if not isinstance(answers, list):
        raise DataError(f"{source.name} holds no visual dialogues: name visdial_sim or visdial/v1.0 in config.data.")
    return source.read(split, lambda records: _columns(split, records, tuple(answers)))


def _columns(split: str, records: Sequence[dict[str, Any]], answer_table: tuple[str, ...]) -> Dialogues:
    count = len(records)
    ids = {text: number for number, text in enumerate(answer_table)}
    questions: dict[str, int] = {}
    whole = {
        "image_ids": np.zeros(count, np.int64),
        "rounds": np.zeros(count, np.int32),
        "questions": np.full((count, ROUNDS), NONE, np.int32),
        "answers": np.full((count, ROUNDS), NONE, np.int32),
        "options": np.empty((count, ROUNDS, CANDIDATES), np.int32),
        "gt_index": np.empty((count, ROUNDS), np.int32),
        "relevance_round": np.empty(count, np.int32),
        "relevance": np.empty((count, CANDIDATES), np.float32),
    }
    captions, images = [], []
    shown = tqdm(records, split, unit="dialogue", leave=False, disable=not sys.stderr.isatty())
    for row, record in enumerate(shown):
        whole["image_ids"][row] = record["image_id"]
        captions.append(_text(record["caption"]))
        rounds = whole["rounds"][row] = record["rounds"]
        for turn in range(rounds):
            question, answer = _text(record["questions"][turn]), _text(record["answers"][turn])
            whole["questions"][row, turn] = questions.setdefault(question, len(questions))
            # "" may be an answer that somebody gave: where the ground truth is hidden, so is the answer.
            whole["answers"][row, turn] = ids[answer] if answer or record["gt_index"][turn] != NONE else NONE
        for name in ("options", "gt_index", "relevance_round", "relevance"):
            whole[name][row] = record[name]
        images.append(np.asarray(record["image"], np.float32))
    return Dialogues(
        name=split,
        captions=tuple(captions),
        question_table=tuple(questions),
        answer_table=answer_table,
        images=np.stack(images) if images else np.zeros((0, 0), np.float32),
        **whole,
    )


def _text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
