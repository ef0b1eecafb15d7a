"""Tasks for people who write captions, or translations with machines' help, and for those who review what they wrote.

A task is a video (VaTeX, section 3.1.2 and Figures 8 to 10). What a person must not know, which system a translation is
of and who wrote a caption, is in tasks.json alone, never on the page.
"""

import dataclasses
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from vatex_jax.data.captions import CaptionedVideo, is_visible
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.files import read_json, write_json_whole
from vatex_jax.reports.verification_tasks import digest
from vatex_jax.text.tokenization import make_tokenizer

FILE_NAME = "tasks.json"
SCHEMA = "vatex-jax collection tasks 1"
KINDS = ("direct", "postedit", "review")
CAPTIONS = 5
"""Direct captions, and translations, of a video."""

_YOUTUBE = re.compile(r"([A-Za-z0-9_-]{11})_(\d{6})_(\d{6})")


@dataclasses.dataclass(frozen=True)
class CollectionTask:
    """A video to write about, or to review.

    Attributes:
        video_id: of the video.
        sources: the English captions to translate; none where it is described directly.
        references: of each source, machines' translations in the order they are shown.
        systems: which system each of these is of, the same order for all captions of the video.
        texts: what is reviewed; empty where something is written.
        annotator: who wrote that.
        count: captions to write or review.
    """

    video_id: str
    count: int
    sources: tuple[str, ...] = ()
    references: tuple[tuple[str, ...], ...] = ()
    systems: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    annotator: str = ""

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits of the content."""
        return digest(dataclasses.astuple(self))


@dataclasses.dataclass(frozen=True)
class CollectionBatch:
    """Tasks of one kind; `least` is how many Chinese characters a caption must have."""

    kind: str
    tasks: tuple[CollectionTask, ...]
    least: int

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits: other tasks are another batch."""
        return digest([self.kind, self.least, [task.id for task in self.tasks]])


def direct_batch(videos: Iterable[CaptionedVideo], least: int) -> CollectionBatch:
    """Videos to describe in `CAPTIONS` captions of at least `least` Chinese characters each."""
    return _batch("direct", [CollectionTask(video.video_id, CAPTIONS) for video in videos], least)


def postedit_batch(
    videos: Iterable[CaptionedVideo], systems: Mapping[str, Mapping[str, str]], seed: int
) -> CollectionBatch:
    """The last `CAPTIONS` English captions of each video with every system's translations.

    In which order a video shows the systems is drawn from the seed and its id, so that no place is one system's.

    Args:
        videos: with English captions.
        systems: by name, translations as the VMT challenge has them: `{"<videoID>&<i>": text}`, i from 0.
        seed: of the orders.

    Videos of which some system has no translation at all are left out.

    Raises:
        ConfigError: no system, or a seed below 0.
        DataError: a video lacks English captions, a system lacks some of its translations, or no video is left.
    """
    if not systems:
        raise ConfigError("name at least one file of translations, as NAME=FILE.")
    if seed < 0:
        raise ConfigError(f"--seed={seed}: it must be 0 or more.")
    detokenize, names, tasks = make_tokenizer("zh").detokenize, list(systems), []
    for video in videos:
        sources = video.en[-CAPTIONS:]
        if not sources:
            raise DataError(f"{video.video_id} has no English caption to translate.")
        keys = [f"{video.video_id}&{number}" for number in range(len(sources))]
        if not all(any(key in systems[name] for key in keys) for name in names):
            continue
        for name, key in ((name, key) for name in names for key in keys):
            if not is_visible(systems[name].get(key, "")):
                raise DataError(f"{name} has no translation of {key!r}, caption {key.rpartition('&')[2]} of the video.")
        more = next((name for name in names if f"{video.video_id}&{len(sources)}" in systems[name]), None)
        if more is not None:  # then its numbers are not those of the last captions
            raise DataError(
                f"{more} has a translation {video.video_id}&{len(sources)}, but of a video the last {len(sources)} "
                "English captions are translated, numbered from 0: leave those of the others out."
            )
        words = hashlib.sha256(f"{seed}\0{video.video_id}".encode()).digest()
        order = np.random.default_rng(int.from_bytes(words[:16], "big")).permutation(len(names))
        shown = tuple(names[place] for place in order)
        # Tokens joined by spaces, as the challenge wants them, are shown as a sentence.
        references = tuple(tuple(detokenize(systems[name][key].split()) for name in shown) for key in keys)
        tasks.append(CollectionTask(video.video_id, len(sources), tuple(sources), references, shown))
    return _batch("postedit", tasks, 1)


def review_batch(written: Sequence[tuple[CollectionTask, str, Sequence[str]]]) -> CollectionBatch:
    """What people wrote: (task, annotator, texts)."""
    tasks = [
        CollectionTask(task.video_id, task.count, task.sources, texts=tuple(texts), annotator=annotator)
        for task, annotator, texts in written
    ]
    return _batch("review", tasks, 1)


def _batch(kind: str, tasks: list[CollectionTask], least: int) -> CollectionBatch:
    if not tasks:
        raise DataError("there is no video to make a task of.")
    if least < 1:
        raise ConfigError(f"--characters={least}: it must be 1 or more.")
    return CollectionBatch(kind, tuple(tasks), least)


def read_translations(path: Path) -> dict[str, str]:
    """A system's translations, `{"<videoID>&<i>": text}`; `--mode=predict` of a translation run writes such a file.

    Raises:
        DataError: the file is something else.
    """
    value = read_json(path)
    if not isinstance(value, dict) or not value:
        raise DataError(f'{path}: must hold an object like {{"<videoID>&<i>": "translation"}}.')
    for key, text in value.items():
        if not re.fullmatch(r".+&\d+", key, re.DOTALL) or not isinstance(text, str):
            raise DataError(f"{path}, {key[:60]!r}: must be <videoID>&<i> and have a text.")
    return value


def link(video_id: str, pattern: str) -> str:
    """Where a video can be watched: by the pattern with `{video_id}`, or on YouTube where the id names a clip there."""
    if pattern:
        return pattern.replace("{video_id}", quote(video_id, safe=""))
    clip = _YOUTUBE.fullmatch(video_id)
    return f"https://www.youtube.com/watch?v={clip[1]}&t={int(clip[2])}s" if clip else ""


def check_pattern(pattern: str) -> None:
    """Raises ConfigError where links made by a pattern would not be links to videos."""
    scheme = re.match(r"\s*([A-Za-z][A-Za-z0-9+.-]*):", pattern)
    if pattern and ("{video_id}" not in pattern or (scheme and scheme[1].lower() not in ("http", "https"))):
        raise ConfigError(f"--videos={pattern}: write an http(s) URL, or a path, with {{video_id}} in it.")


def write_batch(batch: CollectionBatch, folder: Path, note: dict[str, Any]) -> None:
    """Writes tasks.json: what the reader needs to make sense of results."""
    tasks = [{"id": task.id, **dataclasses.asdict(task)} for task in batch.tasks]
    write_json_whole(
        folder / FILE_NAME,
        {"schema": SCHEMA, "kind": batch.kind, "batch": batch.id, "least": batch.least, "made": note, "tasks": tasks},
    )


def read_batch(folder: Path) -> CollectionBatch:
    """The batch that `write_batch` left in a folder.

    Raises:
        DataError: there is none, or it was changed since.
    """
    path = folder / FILE_NAME
    value = read_json(path)
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise DataError(f"{path}: not the tasks of a collection page ({SCHEMA!r}).")
    try:
        batch = CollectionBatch(value["kind"], tuple(map(_task, value["tasks"])), value["least"])
        whole = value["batch"] == batch.id and batch.kind in KINDS
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: a task is damaged ({error!r}). Make the page anew with the same seed.") from error
    if not whole:
        raise DataError(f"{path}: was changed after the page was made. Make the page anew with the same seed.")
    return batch


def _task(record: dict[str, Any]) -> CollectionTask:
    values = {field.name: record[field.name] for field in dataclasses.fields(CollectionTask)}
    values["references"] = [tuple(texts) for texts in values["references"]]
    return CollectionTask(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    )
