"""What a `vatex` data set is built from: a folder's files, checked, counted and identified.

Everything that can be checked without reading the features' values is checked here, before a record is written.
"""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence

from tfds_builders.from_files import (
    STAND_IN_MARKER,
    check_missing_features,
    describe_blob,
    describe_missing,
    mapping,
)
from vatex_jax.data import captions, features, labels
from vatex_jax.data.json_files import git_blob_sha1
from vatex_jax.errors import ConfigError, DataError

INSTRUCTIONS = f"""\
Put the files of VaTeX (https://eric-xw.github.io/vatex-website/) into one folder and name it with --manual_dir:
  - captions: one or more of {captions.ACCEPTED_NAMES};
  - features, unless built with --features=none: <videoID>.npy of shape [1, T, 1024] or [T, 1024], in the folder or in
    any folder below it;
  - action labels, if wanted: the Kinetics-600 CSV files ({",".join(labels.COLUMNS)})."""


@dataclasses.dataclass(frozen=True)
class Video:
    """One example to be written: its captions, feature file (None without features), segments and label (-1: none)."""

    captions: captions.CaptionedVideo
    features: pathlib.Path | None
    segments: int
    label: int


@dataclasses.dataclass(frozen=True)
class Inputs:
    """The examples of each split, the content of `sources.json`, and remarks for the person who builds."""

    splits: Mapping[str, Sequence[Video]]
    sources: dict[str, object]
    remarks: tuple[str, ...]


def collect(
    folder: pathlib.Path, *, with_features: bool, missing_features: str = "error", stand_in: bool = False
) -> Inputs:
    """Reads the captions and labels in `folder` and looks at its feature files.

    Raises:
      DataError: anything is malformed, or features are missing and not to be skipped.
      ConfigError: `missing_features` is neither `error` nor `skip`, or stand-in features are none at all.
    """
    check_missing_features(missing_features)
    if stand_in and not with_features:
        raise ConfigError("stand_in marks stand-in features, and features=none has none. Leave one of the two out.")
    paths = captions.find_caption_files(folder)
    files = {split: captions.read_captions(path) for split, path in paths.items()}
    remarks = [_origin(file) for file in files.values()] + captions.check_splits(files)
    actions, label_remarks = labels.read_labels(folder)
    remarks += label_remarks

    found: dict[str, pathlib.Path] = {}
    headers: dict[str, tuple[features.FeatureHeader, str]] = {}
    if with_features:
        found = features.find_feature_files(folder, [v.video_id for file in files.values() for v in file.videos])
        if missing_features == "error":
            _refuse_missing(folder, files.values(), found)
        headers = {video_id: features.read_header(path) for video_id, path in found.items()}
        stand_in = stand_in or (folder / STAND_IN_MARKER).exists()

    splits, described = {}, {}
    for split, file in files.items():
        kept = [v for v in file.videos if not with_features or v.video_id in found]
        skipped = [v.video_id for v in file.videos if with_features and v.video_id not in found]
        described[split] = _describe(file, kept, skipped)
        if not kept:
            remarks.append(f"the split {split} is left out: none of its {len(skipped)} videos has features")
            continue
        splits[split] = [
            Video(
                captions=video,
                features=found.get(video.video_id),
                segments=headers[video.video_id][0].segments if with_features else 0,
                label=actions.number_of.get(video.video_id, -1),
            )
            for video in kept
        ]
    if not splits:
        raise DataError(
            f"{folder}: no video of any split has features there. {_where_features(folder)} To build without them, "
            "say --features=none."
        )
    sources = {
        "stand_in": stand_in,
        "missing_features": missing_features if with_features else None,
        "splits": described,
        "features": _identify(headers) if with_features else None,
        "labels": {"sha1": dict(actions.sha1), "names": list(actions.names)},
    }
    return Inputs(splits, sources, tuple(remarks))


def differences(built: Mapping[str, object], wanted: Mapping[str, object]) -> list[str]:
    """How the `sources.json` of a data set differs from what would be built now; empty where it does not."""
    found = []
    built_splits, wanted_splits = (mapping(sources.get("splits")) for sources in (built, wanted))
    for split in captions.SPLITS:
        one, other = mapping(built_splits.get(split)), mapping(wanted_splits.get(split))
        if one.get("sha1") != other.get("sha1"):
            found.append(f"captions of {split}: built from {describe_blob(one)}, now {describe_blob(other)}")
        elif one.get("skipped_ids") != other.get("skipped_ids"):
            found.append(f"videos of {split}: {one.get('videos')} were built, now there are {other.get('videos')}")
    if built.get("features") != wanted.get("features"):
        found.append("the feature files")
    if mapping(built.get("labels")).get("sha1") != mapping(wanted.get("labels")).get("sha1"):
        found.append("the Kinetics CSV files")
    if built.get("stand_in") != wanted.get("stand_in"):
        found.append(f"stand_in: built as {built.get('stand_in')}, now {wanted.get('stand_in')}")
    return found


def _origin(file: captions.CaptionFile) -> str:
    if file.official:
        return f"{file.path.name}: the official file"
    return f"{file.path.name}: not an official file known by its hash (git blob {file.sha1[:12]}); used as it is"


def _where_features(folder: pathlib.Path) -> str:
    return f"Put <videoID>.npy files into {folder} or any folder below it."


def _refuse_missing(
    folder: pathlib.Path, files: Sequence[captions.CaptionFile], found: Mapping[str, pathlib.Path]
) -> None:
    lines = []
    for file in files:
        missing = [v.video_id for v in file.videos if v.video_id not in found]
        if missing:
            lines.append(describe_missing(file.split, missing, len(file.videos), "videos"))
    if lines:
        raise DataError(
            "; ".join(lines)
            + f". {_where_features(folder)} To leave these videos out, say --missing_features=skip; to build "
            "without any features, --features=none."
        )


def _describe(
    file: captions.CaptionFile, kept: Sequence[captions.CaptionedVideo], skipped: Sequence[str]
) -> dict[str, object]:
    return {
        "file": file.path.name,
        "sha1": file.sha1,
        "official": file.official,
        "videos": len(kept),
        "en": sum(len(video.en) for video in kept),
        "zh": sum(len(video.zh) for video in kept),
        "pairs": sum(video.pairs for video in kept),
        "skipped": len(skipped),
        "skipped_ids": list(skipped),
    }


def _identify(headers: Mapping[str, tuple[features.FeatureHeader, str]]) -> dict[str, object]:
    lines = "".join(f"{video_id} {digest}\n" for video_id, (_, digest) in sorted(headers.items()))
    return {"files": len(headers), "sha1": git_blob_sha1(lines.encode())}
