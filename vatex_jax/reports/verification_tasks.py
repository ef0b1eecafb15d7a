"""Tasks for people who verify reference sets: sampled, shuffled, numbered, and kept beside the page they are shown on.

A task is a question, perhaps its image, and a reference set whose wrong answers are to be unticked (visual dialogue
paper, section 4.2.2 and appendix D, Figure 4). What a person must not know, the set's origin and which answer is the
ground truth, is in tasks.json alone, never on the page.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.files import read_json, write_json_whole
from vatex_jax.reference_sets import release

FILE_NAME = "tasks.json"
SCHEMA = "vatex-jax verification tasks 1"


@dataclasses.dataclass(frozen=True)
class Task:
    """A reference set to verify.

    Attributes:
        image_id: of the dialogue's image.
        round: of the dialogue, from 0.
        question: as asked.
        answers: the set, in the order it is shown.
        source: which construction made the set: `H`, `sigma`.
        ground_truth: whether each answer is the ground truth.
    """

    image_id: int
    round: int
    question: str
    answers: tuple[str, ...]
    source: str
    ground_truth: tuple[bool, ...]

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits of the content: they tell tasks apart and nothing about them."""
        return digest(dataclasses.astuple(self))


@dataclasses.dataclass(frozen=True)
class Batch:
    """Tasks in the order they are shown, `per_page` to a page.

    `origins` says by source which data its sets are of, where that is known: simulated ones must not pass for others.
    """

    tasks: tuple[Task, ...]
    per_page: int
    origins: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits: other tasks, another order or another number a page is another batch."""
        return digest([self.per_page, [task.id for task in self.tasks]])

    @property
    def pages(self) -> int:
        return -(-len(self.tasks) // self.per_page)

    def page(self, number: int) -> int:
        """The page of the task with this number, both from 0."""
        return number // self.per_page


def digest(value: object) -> str:
    """The first 48 bits, in hexadecimal, of the SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


def sample(tasks: Iterable[Task], count: int, rng: np.random.Generator) -> list[Task]:
    """Draws `count` tasks, each subset alike, in one pass; all of them where there are fewer.

    Reservoir sampling (Vitter's algorithm R): a file of a million sets is never held.
    """
    kept: list[Task] = []
    for seen, task in enumerate(tasks):
        if len(kept) < count:
            kept.append(task)
        elif (place := int(rng.integers(seen + 1))) < count:
            kept[place] = task
    return kept


def make_batch(sources: Sequence[Iterable[Task]], count: int, per_page: int, seed: int) -> Batch:
    """Samples tasks of each source and mixes them, so that nobody can tell by the place which source a set is of.

    The answers of each set are shuffled too, lest the ground truth always stand where its set's file has it.

    Args:
        sources: the tasks of each; read once.
        count: of tasks, from each source.
        per_page: tasks shown together; 4 as published.
        seed: the same seed and tasks give the same batch.

    Raises:
        ConfigError: a count below 1 or a seed below 0.
        DataError: no task, or one twice.
    """
    for name, value, least in (("tasks", count, 1), ("per_page", per_page, 1), ("seed", seed, 0)):
        if value < least:
            raise ConfigError(f"--{name}={value}: it must be {least} or more.")
    rng = np.random.default_rng(seed)
    drawn = [_shuffled(task, rng) for tasks in sources for task in sample(tasks, count, rng)]
    if not drawn:
        raise DataError("There is no reference set to sample: the files hold none.")
    batch = Batch(tuple(drawn[place] for place in rng.permutation(len(drawn))), per_page)
    seen: dict[tuple[str, int, int], Task] = {}
    for task in batch.tasks:
        if seen.setdefault((task.source, task.image_id, task.round), task) is not task:
            raise DataError(f"{task.source}: image {task.image_id}, round {task.round} comes twice; keep one of them.")
    return batch


def _shuffled(task: Task, rng: np.random.Generator) -> Task:
    order = rng.permutation(len(task.answers))
    return dataclasses.replace(
        task,
        answers=tuple(task.answers[place] for place in order),
        ground_truth=tuple(task.ground_truth[place] for place in order),
    )


def read_tasks(path: Path, source: str) -> Iterator[Task]:
    """The reference sets of a DenseVisDial file as tasks.

    Raises:
        DataError: the file cannot be read or a record is none; the message names it.
    """
    for one in release.read(path):
        yield Task(
            one.image_id,
            one.round,
            one.question,
            one.references,
            source,
            tuple(a == one.answer for a in one.references),
        )


def write_batch(batch: Batch, folder: Path, note: dict[str, Any]) -> None:
    """Writes tasks.json: what the reader needs to make sense of results.

    Args:
        batch: what is shown.
        folder: of the page.
        note: how the batch was made; kept for people.
    """
    tasks = [
        {"id": task.id, "page": 1 + batch.page(number), **dataclasses.asdict(task)}
        for number, task in enumerate(batch.tasks)
    ]
    write_json_whole(
        folder / FILE_NAME,
        {
            "schema": SCHEMA,
            "batch": batch.id,
            "per_page": batch.per_page,
            "made": note,
            "origins": dict(batch.origins),
            "tasks": tasks,
        },
    )


def read_batch(folder: Path) -> Batch:
    """The batch that `write_batch` left in a folder.

    Raises:
        DataError: there is none, or it was changed since: its tasks give another batch's name.
    """
    path = folder / FILE_NAME
    value = read_json(path)
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise DataError(f"{path}: not the tasks of a verification page ({SCHEMA!r}).")
    try:
        origins = {name: str(text) for name, text in value.get("origins", {}).items()}
        batch = Batch(tuple(_task(record) for record in value["tasks"]), value["per_page"], origins)
        whole = value["batch"] == batch.id
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"{path}: a task is damaged ({error!r}). Make the page anew with the same seed.") from error
    if not whole:
        raise DataError(f"{path}: was changed after the page was made. Make the page anew with the same seed.")
    return batch


def _task(record: dict[str, Any]) -> Task:
    values = {field.name: record[field.name] for field in dataclasses.fields(Task)}
    return Task(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})
