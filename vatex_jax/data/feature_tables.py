"""Tables of image features, one row an image: `.npz` archives and HDF5 files.

Dimension legend
    F  feature size      N  rows      P  regions of an image
"""

import dataclasses
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vatex_jax.data.npy import INTEGERS, parse_npy
from vatex_jax.data.zip_files import open_zip, read_member
from vatex_jax.errors import ConfigError, DataError

ID_NAMES = ("image_ids", "image_id")


@dataclasses.dataclass(frozen=True)
class FeatureTable:
    """A table: `row_of` an image id, and `row`, which gives the raw features `[F]` or `[P, F]` of a row."""

    row_of: Mapping[int, int]
    row: Callable[[int], np.ndarray]

    def read(self, image_id: int) -> np.ndarray:
        """The raw features of an image of the table."""
        return self.row(self.row_of[image_id])


def read_npz(path: pathlib.Path) -> FeatureTable:
    """Reads an archive with `image_ids` `[N]` and `features` `[N, F]` or `[N, P, F]` into memory.

    Raises:
      DataError: it is damaged, or of another layout; objects are never unpickled.
    """
    with open_zip(path) as archive:
        infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        id_name = _id_name(infos, path)
        name = f"{path}, {id_name}"
        image_ids = parse_npy(read_member(archive, infos[id_name], path), name, INTEGERS)
        features = parse_npy(read_member(archive, infos["features"], path), f"{path}, features")
    _check_shape(features.shape, path)
    return FeatureTable(_rows(image_ids, len(features), path), lambda row: features[row])


def open_hdf5(path: pathlib.Path) -> FeatureTable:
    """Opens a file with the data sets `image_ids` or `image_id` `[N]` and `features` `[N, F]` or `[N, P, F]`.

    Where there is `num_boxes` `[N]`, only so many of an image's regions count. Rows are read when asked for.

    Raises:
      ConfigError: h5py is not installed.
      DataError: it is damaged, or of another layout.
    """
    try:
        import h5py
    except ImportError as error:
        raise ConfigError(
            f"{path}: HDF5 files are read with h5py. Run pip install 'vatex-jax[h5]', or h5py."
        ) from error
    try:
        file = h5py.File(path, "r")
        features = _data_set(file, "features", "f", path)
        image_ids = _data_set(file, _id_name(file, path), "iu", path)[()]
        boxes = _data_set(file, "num_boxes", "iu", path)[()] if "num_boxes" in file else None
    except (OSError, KeyError, RuntimeError, ValueError) as error:
        raise DataError(f"{path}: not an HDF5 file that can be read ({error}). Fetch it again.") from error
    _check_shape(features.shape, path)
    rows = _rows(image_ids, len(features), path)
    if boxes is not None:
        _check_boxes(boxes, features.shape, path)

    def row(number: int) -> np.ndarray:
        try:
            values = features[number]
        except (OSError, RuntimeError, ValueError) as error:
            raise DataError(f"{path}: row {number} of features cannot be read ({error}). Fetch it again.") from error
        return values if boxes is None else values[: boxes[number]]

    return FeatureTable(rows, row)


def _id_name(names: Any, path: pathlib.Path) -> str:
    found = [name for name in ID_NAMES if name in names]
    if len(found) != 1 or "features" not in names:
        raise DataError(f"{path}: holds {sorted(names)}, not image_ids and features.")
    return found[0]


def _data_set(file: Any, name: str, kinds: str, path: pathlib.Path) -> Any:
    """A data set of numbers of these kinds that lies in the file itself."""
    import h5py

    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise DataError(f"{path}: {name} is a link to somewhere else. Write its numbers into the file.")
    found = file[name]
    if not isinstance(found, h5py.Dataset) or found.is_virtual or found.external:
        raise DataError(f"{path}: {name} is no data set with its numbers in the file.")
    if found.dtype.kind not in kinds:
        wanted = "floating-point numbers" if kinds == "f" else "integers"
        raise DataError(f"{path}: {name} holds values of the type {found.dtype}, not {wanted}.")
    return found


def _check_shape(shape: tuple[int, ...], path: pathlib.Path) -> None:
    if len(shape) not in (2, 3) or 0 in shape:
        raise DataError(f"{path}: features has the shape {shape}, not [N, F] or [N, P, F].")


def _check_boxes(boxes: np.ndarray, shape: tuple[int, ...], path: pathlib.Path) -> None:
    if len(shape) != 3 or boxes.shape != shape[:1] or boxes.min() < 1 or boxes.max() > shape[1]:
        raise DataError(f"{path}: num_boxes does not say how many of the regions of features, {shape}, there are.")


def _rows(image_ids: np.ndarray, count: int, path: pathlib.Path) -> dict[int, int]:
    if image_ids.shape != (count,):
        raise DataError(f"{path}: {image_ids.shape} image ids do not go with {count} rows of features.")
    rows = {image_id: row for row, image_id in enumerate(image_ids.tolist())}
    if len(rows) < count:
        ids, counts = np.unique(image_ids, return_counts=True)
        raise DataError(f"{path}: image {ids[counts > 1][0]} is there twice. Give each image once.")
    return rows
