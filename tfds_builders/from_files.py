"""What the builders of data sets made from official files share: options about features, shards, `sources.json`."""

import json
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tqdm import tqdm

from vatex_jax.errors import ConfigError, DataError

if TYPE_CHECKING:
    import tensorflow_datasets as tfds

MISSING_FEATURES = ("error", "skip")

STAND_IN_MARKER = "STAND_IN_FEATURES"
"""A file of this name in the folder says that its features are stand-ins, and figures made with them are marked so."""

SOURCES_FILE = "sources.json"

# TFDS keeps the examples of one shard in memory until the shard is written.
SHARD_BYTES = 32 << 20

Shard = Callable[[], Iterator[tuple[str, dict[str, object]]]]


def check_missing_features(missing_features: str) -> None:
    """Refuses what is neither `error` nor `skip`.

    Raises:
      ConfigError: it is another word.
    """
    if missing_features not in MISSING_FEATURES:
        raise ConfigError(f"missing_features is {missing_features!r}; it can be {' or '.join(MISSING_FEATURES)}.")


def describe_missing(split: str, missing: Sequence[object], total: int, unit: str) -> str:
    """How many of a split's examples have no features, with the first five: `train: 2 of 3 videos have no ...`."""
    first = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
    return f"{split}: {len(missing)} of {total} {unit} have no features ({first})"


def mapping(value: object) -> Mapping[str, object]:
    """A part of a `sources.json` that should be an object; empty where it is none."""
    return value if isinstance(value, dict) else {}


def describe_blob(described: Mapping[str, object], file: str = "file", sha1: str = "sha1") -> str:
    """The file in a part of a `sources.json`, by its name and the first digits of its hash."""
    return f"{described[file]} (git blob {str(described[sha1])[:12]})" if described.get(sha1) else "none"


def manual_dir(dl_manager: "tfds.download.DownloadManager", instructions: str) -> pathlib.Path:
    """The folder that TFDS was given.

    Raises:
      DataError: it was given none, or it is missing or empty.
    """
    try:
        return pathlib.Path(dl_manager.manual_dir)
    except (AssertionError, OSError) as error:  # TFDS's way to say so
        raise DataError(f"The folder with the data set's files is missing or empty.\n{instructions}") from error


def write_sources(builder: "tfds.core.DatasetBuilder", sources: Mapping[str, object]) -> None:
    """Writes `sources.json` beside the records: TFDS has pointed `data_dir` at the folder it will rename in the end."""
    head = {"name": builder.name, "config": builder.builder_config.name, "version": str(builder.version)}
    text = json.dumps(head | dict(sources), indent=1)
    pathlib.Path(builder.data_dir, SOURCES_FILE).write_text(text, encoding="utf-8")


def cut_shards(sizes: Sequence[int], limit: int) -> list[range]:
    """Cuts examples of these sizes, in order, into shards of at most `limit` (or one example)."""
    starts, size = [0], 0
    for i, own in enumerate(sizes):
        if size and size + own > limit:
            starts.append(i)
            size = 0
        size += own
    return [range(start, end) for start, end in zip(starts, [*starts[1:], len(sizes)], strict=True)]


def shard_iterators(
    shards: Sequence[range], example: Callable[[int], tuple[str, dict[str, object]]], split: str, unit: str
) -> list[Shard]:
    """For each shard the function TFDS calls for its examples; `example` makes the key and the example of a number."""
    total = sum(map(len, shards))
    bar = tqdm(total=total, desc=split, unit=f" {unit}", disable=None, leave=False)

    def examples(part: range) -> Iterator[tuple[str, dict[str, object]]]:
        for number in part:
            yield example(number)
            bar.update()
        if bar.n == bar.total:
            bar.close()

    return [lambda part=part: examples(part) for part in shards]
