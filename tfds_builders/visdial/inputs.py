"""What a `visdial` data set is built from: a folder's files, checked, counted and identified.

Everything but the values of image features is checked here, before a record is written.

Dimension legend
    A  answers in the table of one file      n  dialogues that are built
"""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Int32

from tfds_builders.from_files import (
    STAND_IN_MARKER,
    check_missing_features,
    describe_blob,
    describe_missing,
    mapping,
)
from vatex_jax.data import visdial_folder
from vatex_jax.data.image_features import ImageFeatures, open_image_features
from vatex_jax.data.visdial_dense import DenseAnnotations, read_dense
from vatex_jax.data.visdial_files import DialogueFile, check_splits, read_dialogues
from vatex_jax.errors import ConfigError, DataError

INSTRUCTIONS = f"""\
Put the files of VisDial (https://visualdialog.org/data) into one folder and name it with --manual_dir:
  - dialogues: one or more of {visdial_folder.accepted_names("1.0")};
    for visdial/v0.9 of {visdial_folder.accepted_names("0.9")};
  - dense annotations, if wanted: {", ".join(name for names in visdial_folder.DENSE_NAMES.values() for name in names)}.
Image features, if wanted, are named with --image_features: a folder of <image_id>.npy, a .npz or an HDF5 file."""


@dataclasses.dataclass(frozen=True)
class Split:
    """A split to be written.

    Attributes:
      file: its dialogues.
      dense: their annotations, if there are any.
      rows: numbers of the dialogues that are built.
      answer_id: for each answer of the file's table its place in the data set's, and -1 at the end for -1.
    """

    file: DialogueFile
    dense: DenseAnnotations | None
    rows: Int32[np.ndarray, "n"]
    answer_id: Int32[np.ndarray, "A+1"]


@dataclasses.dataclass(frozen=True)
class Inputs:
    """The splits, their one answer table, image features, the content of `sources.json`, remarks for the builder."""

    splits: Mapping[str, Split]
    answers: tuple[str, ...]
    images: ImageFeatures | None
    sources: dict[str, object]
    remarks: tuple[str, ...]


def collect(
    folder: pathlib.Path,
    *,
    version: str = "1.0",
    image_features: Sequence[pathlib.Path] = (),
    missing_features: str = "error",
    stand_in: bool = False,
) -> Inputs:
    """Reads the dialogues and annotations in `folder` and opens the image features.

    Args:
      folder: holds the official files.
      version: `1.0` or `0.9`; files of the other are passed over.
      image_features: files and folders that `open_image_features` reads; none for a data set without.
      missing_features: `error`, or `skip` to leave out dialogues whose image has no features.
      stand_in: mark the features as stand-ins.

    Raises:
      DataError: anything is malformed, or features are missing and not to be skipped.
      ConfigError: options are unknown or have no meaning without image features.
    """
    check_missing_features(missing_features)
    if not image_features and (stand_in or missing_features != "error"):
        raise ConfigError("stand_in and missing_features speak of image features, and none are given.")
    files, dense, remarks = _read(folder, version)
    images = open_image_features(image_features) if image_features else None
    if images is not None:
        remarks += _check_images(images, list(files.values()), missing_features)
        stand_in = stand_in or any(_is_marked(path) for path in (folder, *image_features))
    answers, answer_ids = _one_table(files)
    splits, described = {}, {}
    for split, file in files.items():
        has = np.array([images is None or image_id in images for image_id in file.image_id.tolist()])
        made = Split(file, dense.get(split), np.flatnonzero(has).astype(np.int32), answer_ids[split])
        described[split] = _describe(made, file.image_id[~has].tolist())
        if len(made.rows):
            splits[split] = made
        else:
            remarks.append(f"the split {split} is left out: none of its {len(has)} images has features")
    if not splits:
        raise DataError("No image of any split has features in the files that --image_features names.")
    sources = {
        "stand_in": stand_in,
        "missing_features": missing_features if image_features else None,
        "splits": described,
        "answers": len(answers),
        "image_features": _identify(images, image_features) if images is not None else None,
    }
    return Inputs(splits, answers, images, sources, tuple(remarks))


def differences(built: Mapping[str, object], wanted: Mapping[str, object]) -> list[str]:
    """How the `sources.json` of a data set differs from what would be built now; empty where it does not."""
    found = []
    built_splits, wanted_splits = (mapping(sources.get("splits")) for sources in (built, wanted))
    for split in visdial_folder.SPLITS:
        one, other = mapping(built_splits.get(split)), mapping(wanted_splits.get(split))
        for what, keys in (("dialogues", ("file", "sha1")), ("annotations", ("dense_file", "dense_sha1"))):
            if one.get(keys[1]) != other.get(keys[1]):
                blobs = describe_blob(one, *keys), describe_blob(other, *keys)
                found.append(f"{what} of {split}: built from {blobs[0]}, now {blobs[1]}")
        if one.get("sha1") == other.get("sha1") and one.get("skipped_ids") != other.get("skipped_ids"):
            counts = one.get("dialogues"), other.get("dialogues")
            found.append(f"dialogues of {split}: {counts[0]} were built, now there are {counts[1]}")
    one, other = (mapping(sources.get("image_features")).get("sha1") for sources in (built, wanted))
    if one != other:
        found.append(f"image features: built {'with' if one else 'without'}, now {'others' if other else 'without'}")
    if built.get("stand_in") != wanted.get("stand_in"):
        found.append(f"stand_in: built as {built.get('stand_in')}, now {wanted.get('stand_in')}")
    return found


def _read(folder: pathlib.Path, version: str) -> tuple[dict[str, DialogueFile], dict[str, DenseAnnotations], list[str]]:
    """The dialogues and annotations by split, and remarks."""
    paths = visdial_folder.find_dialogue_files(folder, version)
    dense_paths = visdial_folder.find_dense_files(folder, version)
    files = {split: read_dialogues(path, version, split) for split, path in paths.items()}
    check_splits(files)
    dense = {split: read_dense(path, files[split]) for split, path in dense_paths.items() if split in files}
    remarks = [
        f"{path.name}: not used, since there are no dialogues of the split {split}"
        for split, path in dense_paths.items()
        if split not in files
    ]
    remarks += [
        f"{found.path.name}: {found.dropped} annotations are dropped, in which no option is relevant"
        for found in dense.values()
        if found.dropped
    ]
    read = [*paths.values(), *dense_paths.values()]
    remarks += [f"{name}: not read" for name in visdial_folder.find_unread(folder, version, read)]
    return files, dense, remarks


def _is_marked(path: pathlib.Path) -> bool:
    return ((path if path.is_dir() else path.parent) / STAND_IN_MARKER).exists()


def _check_images(images: ImageFeatures, files: Sequence[DialogueFile], missing_features: str) -> list[str]:
    """Refuses missing images where they are not to be skipped; remarks on what was done to the features."""
    lines = []
    for file in files:
        missing = [image_id for image_id in file.image_id.tolist() if image_id not in images]
        if missing:
            lines.append(describe_missing(file.split, missing, len(file.image_id), "images"))
    if lines and missing_features == "error":
        raise DataError(
            f"{'; '.join(lines)}. Name further files with --image_features (it can be repeated), or leave these "
            "dialogues out with --missing_features=skip."
        )
    if images.regions:
        return ["The image features are of several regions an image: their mean stands for the image."]
    return []


def _one_table(files: Mapping[str, DialogueFile]) -> tuple[tuple[str, ...], dict[str, Int32[np.ndarray, "..."]]]:
    """All answers, each once, in the order they are first met; and where those of each file are among them."""
    id_of: dict[str, int] = {}
    ids = {}
    for split, file in files.items():
        places = [id_of.setdefault(answer, len(id_of)) for answer in file.answer_table]
        ids[split] = np.array([*places, -1], np.int32)
    return tuple(id_of), ids


def _describe(split: Split, skipped: Sequence[int]) -> dict[str, object]:
    file, dense = split.file, split.dense
    return {
        "file": file.path.name,
        "sha1": file.sha1,
        "dialogues": len(split.rows),
        "questions": int(file.rounds[split.rows].sum()),
        "dense_file": dense.path.name if dense else None,
        "dense_sha1": dense.sha1 if dense else None,
        "dense": int((dense.round[split.rows] >= 0).sum()) if dense else 0,
        "dropped": dense.dropped if dense else 0,
        "skipped": len(skipped),
        "skipped_ids": list(skipped),
    }


def _identify(images: ImageFeatures, paths: Sequence[pathlib.Path]) -> dict[str, object]:
    return {"files": [path.name for path in paths], "size": images.size, "sha1": images.sha1}
