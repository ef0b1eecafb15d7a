"""Which of the official VisDial files lie in a folder, and their bytes: plain or zipped, dialogues or annotations."""

import pathlib
from collections.abc import Iterable

from vatex_jax.data.json_files import list_folder, read_bytes
from vatex_jax.data.zip_files import holds_same_file, read_zipped
from vatex_jax.errors import DataError

VERSIONS = ("1.0", "0.9")
SPLITS = ("train", "validation", "test")

FILE_WORD = {"train": "train", "validation": "val", "test": "test"}

SPLITS_OF_VERSION = {"1.0": SPLITS, "0.9": SPLITS[:2]}

DENSE_NAMES = {
    "train": ("visdial_1.0_train_dense_sample.json", "visdial_1.0_train_dense_annotations.json"),
    "validation": ("visdial_1.0_val_dense_annotations.json",),
}


def accepted_names(version: str) -> str:
    """The dialogue files of a version, for messages."""
    names = (f"visdial_{version}_{FILE_WORD[split]}.json" for split in SPLITS_OF_VERSION[version])
    return ", ".join(names) + " (or the same names with .zip)"


def find_dialogue_files(folder: pathlib.Path, version: str) -> dict[str, pathlib.Path]:
    """The dialogue files of a version in `folder` itself, by split, in the order of `SPLITS`.

    Raises:
      DataError: there is none.
    """
    present = {path.name for path in list_folder(folder)}
    found = {}
    for split in SPLITS_OF_VERSION[version]:
        path = _pick_file(folder, present, f"visdial_{version}_{FILE_WORD[split]}.json")
        if path is not None:
            found[split] = path
    if not found:
        raise DataError(
            f"{folder}: no dialogues of VisDial {version} there. Put at least one of {accepted_names(version)} into it."
        )
    return found


def find_dense_files(folder: pathlib.Path, version: str) -> dict[str, pathlib.Path]:
    """The files of dense annotations in `folder` itself, by split; version 0.9 has none.

    Raises:
      DataError: there are two for one split.
    """
    present = {path.name for path in list_folder(folder)}
    found: dict[str, pathlib.Path] = {}
    for split, names in DENSE_NAMES.items() if version == "1.0" else ():
        paths = [path for name in names if (path := _pick_file(folder, present, name))]
        if len(paths) > 1:
            raise DataError(
                f"{paths[0]} and {paths[1].name} both annotate the split {split}. Leave only one of them in the folder."
            )
        if paths:
            found[split] = paths[0]
    return found


def find_unread(folder: pathlib.Path, version: str, read: Iterable[pathlib.Path]) -> list[str]:
    """Names in `folder` that begin as this version's files do and are read by nothing: misspelt, or others' work."""
    stems = {_stem(path.name) for path in read}
    names = [path.name for path in list_folder(folder)]
    return [name for name in names if name.startswith(f"visdial_{version}_") and _stem(name) not in stems]


def _stem(name: str) -> str:
    return name.removesuffix(".zip").removesuffix(".json")


def _pick_file(folder: pathlib.Path, present: set[str], name: str) -> pathlib.Path | None:
    """The path of a JSON file or of the archive that holds it; the file itself where there are both."""
    names = (name, f"{name.removesuffix('.json')}.zip", f"{name}.zip")
    return next((folder / candidate for candidate in names if candidate in present), None)


def read_json_or_zip(path: pathlib.Path) -> bytes:
    """The bytes of a JSON file, or of the one such file in a zip archive of its name.

    Raises:
      DataError: it cannot be read, or an archive of its name lies beside it and holds another file.
    """
    if path.suffix == ".zip":
        return read_zipped(path, f"{_stem(path.name)}.json")
    data = read_bytes(path)
    for archive in (path.with_suffix(".zip"), path.with_suffix(".json.zip")):
        if archive.exists() and not holds_same_file(archive, path.name, data):
            raise DataError(
                f"{path} and the file in {archive.name} differ. Leave only the one to be used in the folder."
            )
    return data
