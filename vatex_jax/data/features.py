"""I3D feature files: `<videoID>.npy`, `[1, T, 1024]` or `[T, 1024]`, one row a segment of the video.

Files are never unpickled, and a header is believed only once the file's size agrees with it, so that no file, however
damaged, makes us run code or allocate memory for what is not there. Every fault is a `DataError` that names the file.
"""

import filecmp
import hashlib
import os
import pathlib
from collections.abc import Iterable
from typing import NoReturn

import numpy as np
from jaxtyping import Float32

from vatex_jax.data.json_files import check_regular
from vatex_jax.data.npy import PREFIX_BYTES, NpyHeader, array_behind, check_file_size, parse_npy_header
from vatex_jax.errors import DataError

FEATURE_SIZE = 1024
"""Channels of I3D's layer mixed_5c, averaged over space."""

MAX_SEGMENTS = 65_536
"""More than five hours of video at one segment every 8 frames of 25 a second: a header that says more is damaged."""

_FINGERPRINT_BYTES = 4096


class FeatureHeader(NpyHeader):
    """The header of an array of shape `[1, T, 1024]` or `[T, 1024]`."""

    @property
    def segments(self) -> int:
        """T."""
        return self.shape[-2]


def parse_features(data: bytes, name: str) -> Float32[np.ndarray, "T 1024"]:
    """Reads a feature file's bytes: float16, float32 or float64, any byte and memory order. `name` is for messages.

    Raises:
      DataError: it is no such file, has another shape or data type, is cut short, or holds values that are not finite.
    """
    header = parse_header(data[:PREFIX_BYTES], len(data), name)
    with np.errstate(over="ignore", invalid="ignore"):
        values = array_behind(header, data).reshape(header.segments, FEATURE_SIZE)
        values = np.ascontiguousarray(values, dtype=np.float32)
    finite = np.isfinite(values)
    if not finite.all():
        segment, channel = np.argwhere(~finite)[0]
        raise DataError(
            f"{name}: the value in segment {segment}, channel {channel} is {values[segment, channel]} "
            f"({int((~finite).sum())} of {values.size} values are not finite in float32). Extract this video again, or "
            "remove the file and build with --missing_features=skip."
        )
    return values


def parse_header(prefix: bytes, file_size: int, name: str) -> FeatureHeader:
    """Checks the beginning of a feature file (its first 10 kB are enough) against the file's size in bytes.

    Raises:
      DataError: see `parse_features`.
    """
    header = FeatureHeader(**vars(parse_npy_header(prefix, name)))
    shape = header.shape
    if len(shape) not in (2, 3) or shape[-1] != FEATURE_SIZE or shape[:-2] not in ((), (1,)):
        expected = f"[1, T, {FEATURE_SIZE}] or [T, {FEATURE_SIZE}]"
        raise DataError(f"{name}: its shape is {shape}, not {expected}. Are these I3D features?")
    if not 1 <= header.segments <= MAX_SEGMENTS:
        raise DataError(
            f"{name}: {header.segments} segments, where 1 to {MAX_SEGMENTS} can be. Extract this video again."
        )
    check_file_size(header, file_size, name)
    return header


def read_header(path: pathlib.Path) -> tuple[FeatureHeader, str]:
    """Checks a feature file by its first bytes and its size; returns also a fingerprint of these.

    The fingerprint tells feature sets apart (other network, stand-ins) without reading gigabytes: it is the SHA-1 of
    the file's size and first 4096 bytes.

    Raises:
      DataError: see `parse_features`; the values are not looked at.
    """
    check_regular(path)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            prefix = file.read(PREFIX_BYTES)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error
    header = parse_header(prefix, size, str(path))
    digest = hashlib.sha1(b"%d\0" % size + prefix[:_FINGERPRINT_BYTES], usedforsecurity=False).hexdigest()
    return header, digest


def read_features(path: pathlib.Path) -> Float32[np.ndarray, "T 1024"]:
    """Reads one feature file.

    Raises:
      DataError: see `parse_features`.
    """
    header, _ = read_header(path)
    try:
        with path.open("rb") as file:
            data = file.read(header.file_size + 1)  # not a byte more than was checked, should the file be growing
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error
    return parse_features(data, str(path))


def find_feature_files(folder: pathlib.Path, video_ids: Iterable[str]) -> dict[str, pathlib.Path]:
    """`<videoID>.npy` of these videos in `folder` and all folders below it, by id; videos without one are left out.

    Links to folders are followed, each folder is visited once. A name that is there twice is fine where the bytes are
    the same (two archives that overlap).

    Raises:
      DataError: two different files for one video, or a folder that cannot be listed.
    """
    wanted = {f"{video_id}.npy": video_id for video_id in video_ids}
    found: dict[str, pathlib.Path] = {}
    for path in _walk(folder):
        video_id = wanted.get(path.name)
        if video_id is None:
            continue
        if video_id in found and not _same_bytes(found[video_id], path):
            raise DataError(
                f"{found[video_id]} and {path} differ, and both are features of the video {video_id!r}. "
                "Leave only the one to be used below the folder."
            )
        found.setdefault(video_id, path)
    return found


def _same_bytes(one: pathlib.Path, other: pathlib.Path) -> bool:
    try:
        # filecmp calls two pipes or folders different without opening them.
        return filecmp.cmp(one, other, shallow=False)
    except OSError as error:
        raise DataError(f"{one} and {other} cannot be compared ({error.strerror or error}).") from error


def _walk(folder: pathlib.Path) -> Iterable[pathlib.Path]:
    def fail(error: OSError) -> NoReturn:
        raise DataError(f"{error.filename}: cannot be listed ({error.strerror or error}).") from error

    visited = set()
    for root, folders, names in os.walk(folder, followlinks=True, onerror=fail):
        try:
            identity = os.stat(root)
        except OSError as error:
            fail(error)
        if (identity.st_dev, identity.st_ino) in visited:  # a link back to a folder above, or to one seen already
            folders.clear()
            continue
        visited.add((identity.st_dev, identity.st_ino))
        folders.sort()
        # A folder or a broken link named like a feature file is reported when it is read, not passed over.
        for name in sorted(names + [entry for entry in folders if entry.endswith(".npy")]):
            yield pathlib.Path(root, name)
