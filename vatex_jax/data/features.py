"""I3D feature files: `<videoID>.npy`, `[1, T, 1024]` or `[T, 1024]`, one row a segment of the video.

Files are never unpickled, and a header is believed only once the file's size agrees with it, so that no file, however
damaged, makes us run code or allocate memory for what is not there. Every fault is a `DataError` that names the file.
"""

import dataclasses
import filecmp
import hashlib
import os
import pathlib
import re
import struct
from collections.abc import Iterable
from typing import NoReturn

import numpy as np
from jaxtyping import Float32

from vatex_jax.errors import DataError

FEATURE_SIZE = 1024
"""Channels of I3D's layer mixed_5c, averaged over space."""

MAX_SEGMENTS = 65_536
"""More than five hours of video at one segment every 8 frames of 25 a second: a header that says more is damaged."""

_MAGIC = b"\x93NUMPY"
_LENGTH_FORMAT = {1: "<H", 2: "<I", 3: "<I"}  # by the format's major version
_MAX_HEADER = 10_000
_PREFIX = len(_MAGIC) + 2 + 4 + _MAX_HEADER
_FINGERPRINT_BYTES = 4096

# The header is the text of a dict with just these three entries. It is matched, not evaluated: NumPy's own evaluation
# lets errors of Python's tokenizer through on damaged headers. `L` ends the integers of files written by Python 2.
_ENTRIES = {
    "descr": re.compile(r"""(['"])descr\1[ \t]*:[ \t]*('[^'"\\]*'|"[^'"\\]*"|\[.*\])"""),
    "fortran_order": re.compile(r"""(['"])fortran_order\1[ \t]*:[ \t]*(True|False)"""),
    "shape": re.compile(r"""(['"])shape\1[ \t]*:[ \t]*\(([0-9L, \t]*)\)"""),
}
_INTEGER = r"(?:0|[1-9][0-9]{0,17})L?"
_SHAPE = re.compile(rf"[ \t]*{_INTEGER}[ \t]*(?:,[ \t]*{_INTEGER}[ \t]*)*,?[ \t]*")
_FLOAT = re.compile(r"[<>=|]?f[248]")

_KINDS = {"O": "pickled Python objects", "i": "integers", "u": "integers", "b": "truth values", "c": "complex numbers"}

_LOOKS_LIKE = (
    (b"\x80", "a pickle"),
    (b"PK\x03\x04", "a .npz archive or another zip file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself"),
    (b"<", "a web page"),
)


@dataclasses.dataclass(frozen=True)
class FeatureHeader:
    """What a feature file says of itself: its data type, `[T, 1024]` shape, memory order, and where the data begin."""

    dtype: np.dtype
    segments: int
    fortran_order: bool
    ndim: int
    offset: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (1,) * (self.ndim - 2) + (self.segments, FEATURE_SIZE)

    @property
    def file_size(self) -> int:
        """Bytes of the whole file."""
        return self.offset + self.segments * FEATURE_SIZE * self.dtype.itemsize


def parse_features(data: bytes, name: str) -> Float32[np.ndarray, "T 1024"]:
    """Reads a feature file's bytes: float16, float32 or float64, any byte and memory order. `name` is for messages.

    Raises:
      DataError: it is no such file, has another shape or data type, is cut short, or holds values that are not finite.
    """
    header = parse_header(data[:_PREFIX], len(data), name)
    values = np.frombuffer(data, header.dtype, offset=header.offset)
    values = values.reshape(header.shape, order="F" if header.fortran_order else "C")
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.ascontiguousarray(values.reshape(header.segments, FEATURE_SIZE), dtype=np.float32)
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
    text, offset = _header_text(prefix, name)
    entries = _header_entries(text, name)
    header = FeatureHeader(
        dtype=_float_dtype(entries["descr"], name),
        segments=_segments(entries["shape"], name),
        fortran_order=entries["fortran_order"] == "True",
        ndim=len(_integers(entries["shape"])),
        offset=offset,
    )
    if file_size < header.file_size:
        raise DataError(
            f"{name}: cut short; its header promises {header.file_size} bytes, there are {file_size}. Fetch it again."
        )
    if file_size > header.file_size:
        raise DataError(
            f"{name}: {file_size - header.file_size} bytes too many behind the array its header describes "
            f"(shape {list(header.shape)}, {header.dtype.name}). Fetch it again."
        )
    return header


def _header_text(prefix: bytes, name: str) -> tuple[str, int]:
    if not prefix:
        raise DataError(f"{name}: is empty. Fetch it again.")
    if not prefix.startswith(_MAGIC):
        kind = next((f": this is {kind}" for start, kind in _LOOKS_LIKE if prefix.startswith(start)), "")
        raise DataError(f"{name}: not a .npy file{kind}. Save the array with numpy.save.")
    length_at = len(_MAGIC) + 2
    version = tuple(prefix[len(_MAGIC) : length_at])
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise DataError(f"{name}: .npy format version {version} is unknown (or the file is damaged or cut short).")
    length_format = _LENGTH_FORMAT[version[0]]
    start = length_at + struct.calcsize(length_format)
    if len(prefix) < start:
        raise DataError(f"{name}: cut short in its header. Fetch it again.")
    (length,) = struct.unpack_from(length_format, prefix, length_at)
    if length > _MAX_HEADER:
        raise DataError(f"{name}: a header of {length} bytes is not that of an array of numbers; the file is damaged.")
    if len(prefix) < start + length:
        raise DataError(f"{name}: cut short in its header. Fetch it again.")
    try:
        text = prefix[start : start + length].decode("utf-8" if version == (3, 0) else "latin-1")
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: its header is not text; the file is damaged. Fetch it again.") from error
    return text, start + length


def _header_entries(text: str, name: str) -> dict[str, str]:
    entries = {}
    rest = text
    for key, pattern in _ENTRIES.items():
        match = pattern.search(rest)
        if match is None:
            raise DataError(
                f"{name}: its header has no readable entry {key!r} ({text.strip()[:120]!r}); it is damaged."
            )
        entries[key] = match[2]
        rest = f"{rest[: match.start()]}@{rest[match.end() :]}"
    if not re.fullmatch(r"\{[ \t]*(@[ \t]*,[ \t]*){2}@[ \t]*(,[ \t]*)?\}[ \t]*\n?", rest):
        raise DataError(f"{name}: its header is not that of an array ({text.strip()[:120]!r}); it is damaged.")
    return entries


def _float_dtype(descr: str, name: str) -> np.dtype:
    kind = descr[1:-1]
    if _FLOAT.fullmatch(kind):
        return np.dtype(kind)
    letter = re.match(r"[<>=|]?([a-zA-Z])", kind)
    shown = "records" if descr[0] in "[(" else _KINDS.get(letter[1] if letter else "", "values")
    raise DataError(
        f"{name}: holds {shown} (type {descr[:40]}), not float16, float32 or float64 numbers. "
        "Save it with numpy.save as float32."
    )


def _integers(shape: str) -> tuple[int, ...]:
    """The integers of a shape; empty where it is not one."""
    if not _SHAPE.fullmatch(shape):
        return ()
    return tuple(int(number) for number in re.findall("[0-9]+", shape))


def _segments(shape: str, name: str) -> int:
    numbers = _integers(shape)
    expected = f"[1, T, {FEATURE_SIZE}] or [T, {FEATURE_SIZE}]"
    if len(numbers) not in (2, 3) or numbers[-1] != FEATURE_SIZE or numbers[:-2] not in ((), (1,)):
        raise DataError(f"{name}: its shape is ({shape.strip()[:60]}), not {expected}. Are these I3D features?")
    segments = numbers[-2]
    if not 1 <= segments <= MAX_SEGMENTS:
        raise DataError(f"{name}: {segments} segments, where 1 to {MAX_SEGMENTS} can be. Extract this video again.")
    return segments


def read_header(path: pathlib.Path) -> tuple[FeatureHeader, str]:
    """Checks a feature file by its first bytes and its size; returns also a fingerprint of these.

    The fingerprint tells feature sets apart (other network, stand-ins) without reading gigabytes: it is the SHA-1 of
    the file's size and first 4096 bytes.

    Raises:
      DataError: see `parse_features`; the values are not looked at.
    """
    try:
        if not path.is_file():
            raise DataError(f"{path}: not a regular file (a folder, a pipe or a link that leads nowhere).")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            prefix = file.read(_PREFIX)
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
