"""Caption corpora read video by video: the VaTeX layout, MSR-VTT's, and data sets that were built."""

import dataclasses
import gzip
import json
import pathlib
import zlib
from collections.abc import Iterator
from typing import Any

from vatex_jax.data.captions import PARALLEL_CAPTIONS, check_captions, check_id, find_caption_files, stream_captions
from vatex_jax.data.json_files import decode, kind, parse_json, read_bytes, shorten
from vatex_jax.data.sources import Source
from vatex_jax.errors import DataError

LANGUAGES = ("en", "zh")


@dataclasses.dataclass(frozen=True)
class CorpusVideo:
    """A video's captions in a corpus.

    Attributes:
        split: as the corpus calls it.
        video_id: unique in its split.
        en, zh: the captions, as they were written.
        pairs: how many captions, counted from the end of both lists, translate each other.
        label: the action's, where the corpus tells; else None.
    """

    split: str
    video_id: str
    en: tuple[str, ...]
    zh: tuple[str, ...] = ()
    pairs: int = 0
    label: str | None = None

    def captions(self, language: str) -> tuple[str, ...]:
        """All captions in `en` or `zh`."""
        return self.en if language == "en" else self.zh


def read_corpus(path: pathlib.Path) -> Iterator[CorpusVideo]:
    """The videos of a corpus: a folder of VaTeX's files, one such file, or MSR-VTT's.

    VaTeX's are streamed. MSR-VTT's one file is read whole, for its captions come in no order.

    Raises:
        DataError: there is no such file, or it is of neither layout; see also `data.captions`.
    """
    if path.is_dir():
        for split, file in find_caption_files(path).items():
            yield from _vatex(file, split)
        return
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder of captions.")
    if _is_object(path):
        yield from _msr_vtt(path)
    else:
        yield from _vatex(path, path.name.partition(".")[0])


def read_source(source: Source) -> Iterator[CorpusVideo]:
    """The videos of a data set that was built, all its splits."""
    for name in source.splits:
        for video in source.split(name).videos:
            label = str(video.label) if video.label >= 0 else None
            yield CorpusVideo(name, video.video_id, video.en, video.zh, video.pairs, label)


def _vatex(path: pathlib.Path, split: str) -> Iterator[CorpusVideo]:
    for video in stream_captions(path):
        yield CorpusVideo(split, video.video_id, video.en, video.zh, min(PARALLEL_CAPTIONS, video.pairs))


def _is_object(path: pathlib.Path) -> bool:
    """Whether a JSON file, plain or gzipped, holds an object, by its first sign."""
    try:
        with gzip.open(path) if _is_gzipped(path) else path.open("rb") as file:
            start = file.read(1 << 16).removeprefix(b"\xef\xbb\xbf").lstrip()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error}).") from error
    return start.startswith(b"{")


def _is_gzipped(path: pathlib.Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _msr_vtt(path: pathlib.Path) -> Iterator[CorpusVideo]:
    """`{"videos": [{"video_id", "split", "category"}], "sentences": [{"video_id", "caption"}]}`."""
    data = read_bytes(path)
    try:
        data = gzip.decompress(data) if _is_gzipped(path) else data
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: the compressed file is damaged or cut short ({error}); fetch it again.") from error
    content = parse_json(decode(data, str(path)), str(path), "captions")
    if not isinstance(content, dict) or not isinstance(content.get("sentences"), list):
        raise DataError(
            f"{path}: holds {kind(content)} without a list `sentences`. A corpus is a list of records in VaTeX's "
            "layout, or an object in MSR-VTT's, with sentences and videos."
        )
    videos = content.get("videos", [])
    if not isinstance(videos, list):
        raise DataError(f"{path}, field videos: is {kind(videos)}, not a list.")
    known: dict[str, dict[str, Any]] = {}
    for number, video in enumerate(videos, 1):
        where = f"{path}, video {number}"
        video_id = _field(video, "video_id", where)
        if video_id in known:
            raise DataError(f"{where}: video_id {shorten(video_id)} stands there twice. Remove one.")
        known[video_id] = video
    captions: dict[str, list[str]] = {}
    for number, sentence in enumerate(content["sentences"], 1):
        where = f"{path}, sentence {number}"
        (caption,) = check_captions([_field(sentence, "caption", where)], f"{where}, field caption")
        captions.setdefault(check_id(_field(sentence, "video_id", where), where), []).append(caption)
    if not captions:
        raise DataError(f"{path}: holds no sentence.")
    for video_id, own in captions.items():
        about = known.get(video_id, {})
        label = about.get("category")
        split = about.get("split", "all")
        split = "validation" if split == "validate" else split
        if not isinstance(split, str):
            raise DataError(f"{path}, video {shorten(video_id)}, field split: is {kind(split)}, not text.")
        yield CorpusVideo(split, video_id, tuple(own), label=None if label is None else json.dumps(label))


def _field(record: object, field: str, where: str) -> str:
    if not isinstance(record, dict):
        raise DataError(f"{where}: is {kind(record)}, not an object.")
    value = record.get(field)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{where}, field {field}: is {shorten(value)}, not text.")
    return value
