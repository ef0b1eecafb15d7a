"""Opens data sets, preparing the bundled ones, and reads captions and features from them at random.

Dimension legend
    T  segments of a video      F  feature size
"""

import dataclasses
import functools
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float32, Int32
from tqdm import tqdm

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.files import read_json

Read = TypeVar("Read")

CACHE_BYTES = 4 << 30
"""Features of a split are kept in memory up to here; what is over is read from disk for every batch."""


@dataclasses.dataclass(frozen=True)
class Video:
    """One record without its features; DESIGN section 2, "Examples"."""

    video_id: str
    label: int
    en: tuple[str, ...]
    zh: tuple[str, ...]
    pairs: int

    def captions(self, language: str) -> tuple[str, ...]:
        """All captions in `en` or `zh`."""
        return self.en if language == "en" else self.zh

    def parallel(self, language: str) -> tuple[str, ...]:
        """The last `pairs` captions, parallel to the other language's."""
        return self.captions(language)[-self.pairs :] if self.pairs else ()


class Features:
    """Segment features by position in the split: kept in memory where they fit, else read again when asked for.

    Attributes:
        segments: int32 [N]; T of each video, 0 for one without features.
        digest: of all features' numbers, so that others under the same ids are told apart.
    """

    def __init__(self, read: Callable[[int], np.ndarray], segments: Int32[np.ndarray, "N"], digest: str = ""):
        self._read, self.segments, self.digest = read, segments, digest

    def __len__(self) -> int:
        return len(self.segments)

    def __getitem__(self, index: int) -> Float32[np.ndarray, "T F"]:
        """The features of video number `index`."""
        return self._read(index)

    def reordered(self, order: Sequence[int]) -> "Features":
        """Features under other numbers: video i gets those of `order[i]`."""
        places = np.asarray(order, np.int64)
        digest = _short(hashlib.sha256(self.digest.encode() + places.tobytes()))
        return Features(lambda index: self[order[index]], self.segments[places], digest)


@dataclasses.dataclass(frozen=True)
class Split:
    """A split's captions, in memory, and its features, on demand; both in the data set's order."""

    name: str
    videos: tuple[Video, ...]
    features: Features

    def __len__(self) -> int:
        return len(self.videos)

    def subset(self, rows: Sequence[int], name: str) -> "Split":
        """The videos `rows`, in that order, as a split of their own."""
        return Split(name, tuple(self.videos[row] for row in rows), self.features.reordered(rows))

    def add_to(self, digest: Any, features: bool) -> None:
        """Feeds everything that a result depends on to a hash, the features where wanted."""
        for video in self.videos:
            digest.update(json.dumps(dataclasses.astuple(video), ensure_ascii=False).encode())
        if features:
            digest.update(self.features.digest.encode())


@runtime_checkable
class Part(Protocol):
    """A split as read, of whatever kind of data set."""

    name: str

    def __len__(self) -> int: ...

    def add_to(self, digest: Any, features: bool) -> None:
        """Feeds everything that a result depends on to a hash."""


@dataclasses.dataclass(frozen=True)
class Source:
    """An opened data set."""

    name: str
    version: str
    folder: Path
    simulated: bool
    stand_in: bool
    builder: Any
    _read: dict[str, Split] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.builder.info.splits)

    def split(self, name: str) -> Split:
        """A split's captions, read once.

        Raises:
            DataError: the data set has no such split, or its files cannot be read.
        """
        if name not in self._read:
            self._read[name] = self.read(name, functools.partial(_read_split, name))
        return self._read[name]

    def read(self, name: str, columns: Callable[[Sequence[dict[str, Any]]], Read]) -> Read:
        """What `columns` makes of a split's records.

        Raises:
            DataError: the data set has no such split, or its files cannot be read.
        """
        if name not in self.splits:
            raise DataError(f"{self.name} has no split {name!r}; it has {', '.join(self.splits)}.")
        try:
            return columns(self.builder.as_data_source(split=name))
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise DataError(
                f"{self.folder}: split {name} cannot be read ({error!r}). Build the data set again with --overwrite."
            ) from error

    def describe(self, split: str, parts: Sequence[Part]) -> dict[str, Any]:
        """The `dataset` part of results.json for a run measured on `split`.

        Its fingerprint is of the text, and of the features where they are not a simulated world's, whose features are a
        function of its name and version.
        """
        digest = hashlib.sha256()
        for part in parts:
            part.add_to(digest, features=not self.simulated)
        return {
            "name": self.name,
            "version": self.version,
            "split": split,
            "sizes": {part.name: len(part) for part in parts},
            "fingerprint": _short(digest),
            "simulated": self.simulated,
            "stand_in": self.stand_in,
        }

    def sidecar(self, name: str) -> Any:
        """A JSON file beside the records, or None where the data set has none of that name."""
        path = self.folder / name
        return read_json(path) if path.exists() else None


def _read_split(name: str, records: Sequence[dict[str, Any]]) -> Split:
    """One pass over the records, which TFDS decodes whole: captions, and features as long as they fit in memory."""
    videos, segments, kept, size, digest = [], [], {}, 0, hashlib.blake2b()
    for index, record in enumerate(tqdm(records, name, unit="video", leave=False, disable=not sys.stderr.isatty())):
        videos.append(_video(record))
        features = np.asarray(record["features"], np.float32)
        segments.append(len(features))
        digest.update(features)
        size += features.nbytes
        if size <= CACHE_BYTES:
            kept[index] = features

    def read(index: int) -> np.ndarray:
        return kept[index] if index in kept else np.asarray(records[index]["features"], np.float32)

    return Split(name, tuple(videos), Features(read, np.array(segments, np.int32), _short(digest)))


def _short(digest: Any) -> str:
    return digest.hexdigest()[:16]


def _text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _video(record: dict[str, Any]) -> Video:
    return Video(
        _text(record["video_id"]),
        int(record["label"]),
        tuple(_text(caption) for caption in record["en"]),
        tuple(_text(caption) for caption in record["zh"]),
        int(record["pairs"]),
    )


def current_version(name: str) -> str:
    """The version of a data set that `open_source` would open; reads and prepares nothing.

    Raises:
        ConfigError: no such data set, or no such configuration of it.
    """
    from tfds_builders import build

    return build.current_version(name)


def open_source(name: str, data_dir: str | None = None, report: Callable[[str], object] = print) -> Source:
    """Opens a data set by name (`vatex/i3d`, `vatex/none`, `vatex_sim`, `vatex_sim/tiny`, `vatex_sim/default-w7`).

    A simulated set is prepared if it is not there; `vatex` must have been built from its files.

    Args:
        name: data set and configuration.
        data_dir: folder of the data sets; None for the default.
        report: called with what is going on while a set is prepared.

    Raises:
        ConfigError: no such data set.
        DataError: it is not built and cannot be made from nothing, or cannot be read.
    """
    from tfds_builders import build

    if not name:
        raise ConfigError("config.data.name is empty: set it to a data set, for example vatex_sim or vatex/i3d.")
    builder = build.build(name, data_dir=data_dir, report=report)
    folder = Path(builder.data_dir)
    source = Source(
        builder.info.full_name.rsplit("/", 1)[0],
        str(builder.info.version),
        folder,
        simulated=builder.name.endswith("_sim"),
        stand_in=False,
        builder=builder,
    )
    return dataclasses.replace(source, stand_in=bool((source.sidecar("sources.json") or {}).get("stand_in", False)))
