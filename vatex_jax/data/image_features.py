"""Image features by image id, from folders, `.npz` archives and HDF5 files.

Three layouts are read, and several of them together:
  - a folder of `<image_id>.npy`, each `[F]`, `[1, F]`, or `[P, F]` for P regions;
  - `NAME.npz` with `image_ids` `[N]` and `features` `[N, F]` or `[N, P, F]`, which is read into memory whole;
  - `NAME.h5` or `NAME.hdf5` with the same two data sets (`image_id` is read too, as the VisDial challenge's own files
    name it, and `num_boxes` `[N]`, how many of the P regions are there), which is read row by row.
Regions are averaged. Every fault is a `DataError` that names the file and the image.

Dimension legend
    F  feature size      N  images of a file      P  regions of an image
"""

import dataclasses
import hashlib
import os
import pathlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from jaxtyping import Float32

from vatex_jax.data.feature_tables import open_hdf5, read_npz
from vatex_jax.data.json_files import check_regular, list_folder, read_bytes
from vatex_jax.data.npy import parse_npy
from vatex_jax.errors import DataError

HDF5_SUFFIXES = (".h5", ".hdf5")

_FINGERPRINT_PLACES, _FINGERPRINT_BYTES = 1024, 4096


@dataclasses.dataclass(frozen=True)
class ImageFile:
    """One file or folder of features.

    Attributes:
      path: where it lies.
      image_ids: of all images in it.
      read: the raw features of an image, `[F]` or `[P, F]`.
      sha1: a fingerprint of its content.
    """

    path: pathlib.Path
    image_ids: frozenset[int]
    read: Callable[[int], np.ndarray]
    sha1: str


class ImageFeatures:
    """Features of images, from one or more files.

    Attributes:
      size: F, the same for all.
      regions: whether the images read so far had several regions, whose mean stands for them.
      sha1: a fingerprint of all the files.
    """

    def __init__(self, files: Sequence[ImageFile]):
        self._file_of: Mapping[int, ImageFile] = {}
        for file in files:
            for image_id in file.image_ids & self._file_of.keys():
                raise DataError(
                    f"{file.path} and {self._file_of[image_id].path} both have features of image {image_id}. "
                    "Give each image once."
                )
            self._file_of |= dict.fromkeys(file.image_ids, file)
        self.sha1 = hashlib.sha1(
            "".join(sorted(file.sha1 for file in files)).encode(), usedforsecurity=False
        ).hexdigest()
        self.regions = False
        first = min(self._file_of)
        self.size = self._read(first).shape[-1]

    def __contains__(self, image_id: int) -> bool:
        return image_id in self._file_of

    def __getitem__(self, image_id: int) -> Float32[np.ndarray, "F"]:
        """The features of an image.

        Raises:
          DataError: they cannot be read, are not finite, or are of another size than the others.
        """
        values = self._read(image_id)
        place = f"{self._file_of[image_id].path}, image {image_id}"
        if values.shape[-1] != self.size:
            raise DataError(f"{place}: has {values.shape[-1]} features, and others have {self.size}.")
        with np.errstate(over="ignore", invalid="ignore"):
            values = values.astype(np.float32)
        if not np.isfinite(values).all():
            number = int(np.argwhere(~np.isfinite(values))[0][-1])
            raise DataError(f"{place}: feature {number} is not finite in float32. Extract this image again.")
        return values if values.ndim == 1 else values.mean(axis=0, dtype=np.float64).astype(np.float32)

    def _read(self, image_id: int) -> np.ndarray:
        file = self._file_of[image_id]
        values = file.read(image_id)
        if values.ndim == 2 and len(values) == 1:
            values = values[0]
        if values.ndim not in (1, 2) or values.size == 0:
            raise DataError(f"{file.path}, image {image_id}: its shape is {values.shape}, not [F] or [P, F].")
        self.regions |= values.ndim == 2
        return values


def open_image_features(paths: Iterable[pathlib.Path]) -> ImageFeatures:
    """Opens files and folders of features; of HDF5 files and folders, the values are read when they are asked for.

    Raises:
      DataError: one cannot be read, is of no known layout, or two have features of one image.
    """
    return ImageFeatures([_open(path) for path in paths])


def _open(path: pathlib.Path) -> ImageFile:
    if path.is_dir():
        return _open_folder(path)
    suffix = path.suffix.lower()
    if suffix != ".npz" and suffix not in HDF5_SUFFIXES:
        raise DataError(
            f"{path}: image features are read from a folder of <image_id>.npy files, a .npz file, or an HDF5 file "
            f"({' or '.join(HDF5_SUFFIXES)})."
        )
    table = read_npz(path) if suffix == ".npz" else open_hdf5(path)
    return ImageFile(path, frozenset(table.row_of), table.read, _fingerprint(path))


def _open_folder(folder: pathlib.Path) -> ImageFile:
    found: dict[int, pathlib.Path] = {}
    for path in list_folder(folder):
        if not re.fullmatch(r"[0-9]{1,18}\.npy", path.name):
            continue
        image_id = int(path.stem)
        if image_id in found:
            raise DataError(f"{found[image_id]} and {path.name} are both features of image {image_id}. Leave one.")
        found[image_id] = path
    if not found:
        raise DataError(f"{folder}: no <image_id>.npy files there.")
    lines = "".join(f"{image_id} {_fingerprint(path)}\n" for image_id, path in sorted(found.items()))
    sha1 = hashlib.sha1(lines.encode(), usedforsecurity=False).hexdigest()

    def read(image_id: int) -> np.ndarray:
        path = found[image_id]
        return parse_npy(read_bytes(path), str(path))

    return ImageFile(folder, frozenset(found), read, sha1)


def _fingerprint(path: pathlib.Path) -> str:
    """Tells files apart without reading gigabytes: SHA-1 of the size and of 4 kB at some 1024 places of the file."""
    check_regular(path)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            digest = hashlib.sha1(b"%d\0" % size, usedforsecurity=False)
            step = max(_FINGERPRINT_BYTES, size // _FINGERPRINT_PLACES)
            for start in range(0, size, step):
                file.seek(start)
                digest.update(file.read(_FINGERPRINT_BYTES))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error
    return digest.hexdigest()
