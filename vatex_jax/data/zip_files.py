"""The one file in a zip archive, read into memory: nothing is extracted, so no name in an archive can lead anywhere."""

import pathlib
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from vatex_jax.data.json_files import check_regular, shorten
from vatex_jax.errors import DataError

MAX_BYTES = 4 << 30
"""Ten times the largest official file: an archive that promises more is a trap, or not one of these."""

# What zipfile and the decompressors raise on damaged archives, besides OSError.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError, LookupError)


def read_zipped(path: pathlib.Path, member: str) -> bytes:
    """The bytes of the file `member`, which must be all that the archive holds.

    Raises:
      DataError: it holds another file or several, is encrypted, damaged, or no zip file at all.
    """
    with open_zip(path) as archive:
        return read_member(archive, _only_member(archive, path, member), path)


def holds_same_file(path: pathlib.Path, member: str, content: bytes) -> bool:
    """Whether `member`, all that the archive holds, is the file with these bytes, by its size and checksum.

    Raises:
      DataError: see `read_zipped`.
    """
    with open_zip(path) as archive:
        info = _only_member(archive, path, member)
        return info.file_size == len(content) and zlib.crc32(content) == info.CRC


@contextmanager
def open_zip(path: pathlib.Path) -> Iterator[zipfile.ZipFile]:
    """An archive to read from; what goes wrong with it meanwhile becomes a `DataError`."""
    check_regular(path)
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error
    except _DAMAGE as error:
        raise DataError(f"{path}: not a zip file that can be read ({error}). Fetch it again.") from error


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: pathlib.Path) -> bytes:
    """The bytes of one file in the archive at `path`; called within `open_zip`.

    Raises:
      DataError: it is encrypted, packed in an unusual way, too large, or ends in the middle.
    """
    place = f"{path}, {shorten(info.filename)}"
    if info.flag_bits & 0x1:
        raise DataError(f"{place}: is encrypted. Put the unpacked file into the folder.")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataError(f"{place}: is packed in a way that is not read here. Put the unpacked file into the folder.")
    if info.file_size > MAX_BYTES:
        raise DataError(f"{place}: would be {info.file_size:,} bytes, more than the {MAX_BYTES:,} that are read.")
    with archive.open(info) as file:
        # A byte more than promised: the checksum is held against the content where it ends, and no more than this
        # is unpacked of an archive that lies about its size.
        data = file.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise DataError(f"{place}: ends in the middle. Fetch the archive again.")
    return data


def _only_member(archive: zipfile.ZipFile, path: pathlib.Path, member: str) -> zipfile.ZipInfo:
    infos = archive.infolist()
    if len(infos) != 1:
        names = shorten([info.filename for info in infos])
        raise DataError(f"{path}: holds {len(infos)} files ({names}), not {member} alone. Put that file beside it.")
    (info,) = infos
    if info.filename != member or stat.S_ISLNK(info.external_attr >> 16):
        raise DataError(f"{path}: holds {shorten(info.filename)}, not the file {member}. Fetch the official archive.")
    return info
