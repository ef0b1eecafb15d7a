"""The `.npy` format of arrays of numbers, read without believing what a file says of itself.

Files are never unpickled, and a header is believed only once the file's size agrees with it, so that no file, however
damaged, makes us run code or allocate memory for what is not there. Every fault is a `DataError` that names the file.
"""

import dataclasses
import math
import re
import struct

import numpy as np

from vatex_jax.errors import DataError

_MAGIC = b"\x93NUMPY"
_LENGTH_FORMAT = {1: "<H", 2: "<I", 3: "<I"}  # by the format's major version
_MAX_HEADER = 10_000
PREFIX_BYTES = len(_MAGIC) + 2 + 4 + _MAX_HEADER
"""So many bytes from the start of a file hold its header."""

# The header is the text of a dict with just these three entries. It is matched, not evaluated: NumPy's own evaluation
# lets errors of Python's tokenizer through on damaged headers. `L` ends the integers of files written by Python 2.
_ENTRIES = {
    "descr": re.compile(r"""(['"])descr\1[ \t]*:[ \t]*('[^'"\\]*'|"[^'"\\]*"|\[.*\])"""),
    "fortran_order": re.compile(r"""(['"])fortran_order\1[ \t]*:[ \t]*(True|False)"""),
    "shape": re.compile(r"""(['"])shape\1[ \t]*:[ \t]*\(([0-9L, \t]*)\)"""),
}
_INTEGER = r"(?:0|[1-9][0-9]{0,17})L?"
_SHAPE = re.compile(rf"[ \t]*{_INTEGER}[ \t]*(?:,[ \t]*{_INTEGER}[ \t]*)*,?[ \t]*")

FLOATS = re.compile(r"[<>=|]?f[248]")
INTEGERS = re.compile(r"[<>=|]?(?:[iu][124]|i8)")
_NEEDED = {
    FLOATS: "float16, float32 or float64 numbers. Save it with numpy.save as float32",
    INTEGERS: "integers. Save them with numpy.save as int64",
}

_KINDS = {"O": "pickled Python objects", "i": "integers", "u": "integers", "b": "truth values", "c": "complex numbers"}

_LOOKS_LIKE = (
    (b"\x80", "a pickle"),
    (b"PK\x03\x04", "a .npz archive or another zip file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself"),
    (b"<", "a web page"),
)


@dataclasses.dataclass(frozen=True)
class NpyHeader:
    """What a file says of itself: its data type, shape and memory order, and where the data begin."""

    dtype: np.dtype
    shape: tuple[int, ...]
    fortran_order: bool
    offset: int

    @property
    def file_size(self) -> int:
        """Bytes of the whole file."""
        return self.offset + math.prod(self.shape) * self.dtype.itemsize


def parse_npy_header(prefix: bytes, name: str, numbers: re.Pattern = FLOATS) -> NpyHeader:
    """Reads a header from the first `PREFIX_BYTES` of a file; `numbers` is `FLOATS` or `INTEGERS`.

    Raises:
      DataError: it is no header of an array of such numbers.
    """
    text, offset = _header_text(prefix, name)
    entries = _header_entries(text, name)
    return NpyHeader(
        dtype=_dtype(entries["descr"], name, numbers),
        shape=_shape(entries["shape"], name),
        fortran_order=entries["fortran_order"] == "True",
        offset=offset,
    )


def check_file_size(header: NpyHeader, file_size: int, name: str) -> None:
    """Holds a header against the size of its file in bytes.

    Raises:
      DataError: they disagree.
    """
    if file_size < header.file_size:
        raise DataError(
            f"{name}: cut short; its header promises {header.file_size} bytes, there are {file_size}. Fetch it again."
        )
    if file_size > header.file_size:
        raise DataError(
            f"{name}: {file_size - header.file_size} bytes too many behind the array its header describes "
            f"(shape {list(header.shape)}, {header.dtype.name}). Fetch it again."
        )


def parse_npy(data: bytes, name: str, numbers: re.Pattern = FLOATS) -> np.ndarray:
    """A file's array, a view of `data` in the file's own type and memory order.

    Raises:
      DataError: it is no such file, cut short, or without a number.
    """
    header = parse_npy_header(data[:PREFIX_BYTES], name, numbers)
    check_file_size(header, len(data), name)
    if 0 in header.shape:
        raise DataError(f"{name}: its shape is {header.shape}: there are no numbers in it.")
    return array_behind(header, data)


def array_behind(header: NpyHeader, data: bytes) -> np.ndarray:
    """The array that `header`, which agrees with the size of `data`, describes; it has at least one element."""
    values = np.frombuffer(data, header.dtype, offset=header.offset)
    return values.reshape(header.shape, order="F" if header.fortran_order else "C")


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


def _dtype(descr: str, name: str, numbers: re.Pattern) -> np.dtype:
    kind = descr[1:-1]
    if numbers.fullmatch(kind):
        return np.dtype(kind)
    letter = re.match(r"[<>=|]?([a-zA-Z])", kind)
    shown = "records" if descr[0] in "[(" else _KINDS.get(letter[1] if letter else "", "values")
    raise DataError(f"{name}: holds {shown} (type {descr[:40]}), not {_NEEDED[numbers]}.")


def _shape(text: str, name: str) -> tuple[int, ...]:
    if text.strip() and not _SHAPE.fullmatch(text):
        raise DataError(f"{name}: its shape is ({text.strip()[:60]}), which is none; the file is damaged.")
    return tuple(int(number) for number in re.findall("[0-9]+", text))
