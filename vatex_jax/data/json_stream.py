"""Long JSON lists read record by record, plain or gzipped: memory does not grow with the file."""

import codecs
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vatex_jax.data.json_files import check_regular
from vatex_jax.errors import DataError
from vatex_jax.files import fields_once

_CHUNK = 1 << 20
_LONGEST = 1 << 26  # characters of a record; beyond, it is none
_CUT = 16  # characters at a buffer's end within which an error, or a number's end, may only mean that more is to come
_WHITE = " \t\n\r"


class JSONList:
    """The records of a file that holds one JSON list; iterate over it once.

    Raises:
        DataError: (while iterating) the file cannot be read, is damaged, ends in the middle, is no list or goes on
            after it: naming the file and the record.
    """

    def __init__(self, path: Path):
        self._path, self._buffer, self._place, self._number, self._ended = path, "", 0, 0, False

    def __iter__(self) -> Iterator[Any]:
        check_regular(self._path)
        try:
            with self._path.open("rb") as file:
                gzipped = file.peek(2)[:2] == b"\x1f\x8b"
                yield from self._records(gzip.GzipFile(fileobj=file) if gzipped else file)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self._error(
                f"the compressed file is damaged or cut short ({error}); fetch or write it again"
            ) from error
        except UnicodeDecodeError as error:
            raise self._error(f"is not UTF-8 ({error.reason}); fetch or write the file again") from error
        except OSError as error:
            raise DataError(f"{self._path}: cannot be read ({error.strerror or error}).") from error

    def _records(self, file: Any) -> Iterator[Any]:
        self._file, self._decoder = file, codecs.getincrementaldecoder("utf-8-sig")()
        if self._next_sign() != "[":
            raise DataError(f"{self._path}: must hold a JSON list of records.")
        self._place += 1
        closed = self._next_sign() == "]"
        while not closed:
            self._number += 1
            yield self._record()
            sign = self._next_sign()
            if sign not in (",", "]"):
                raise self._error("is followed by neither a comma nor the list's end" if sign else _ENDED)
            self._place += 1
            closed = sign == "]"
        self._place += not self._number  # the bracket of an empty list
        if self._next_sign():
            raise DataError(f"{self._path}: goes on after the end of its list: {self._buffer[self._place :][:40]!r}.")

    def _record(self) -> Any:
        self._next_sign()
        while True:
            try:
                record, end = _DECODER.raw_decode(self._buffer, self._place)
                near = end > len(self._buffer) - _CUT and type(record) in (int, float)  # a number may go on
                if near and not self._ended:
                    self._more()
                    continue
                self._place = end
                return record
            except json.JSONDecodeError as error:
                within = error.msg.startswith("Unterminated string")
                rest = self._buffer[error.pos :] if error.pos > len(self._buffer) - _CUT else None
                if (rest is None and not within) or len(self._buffer) - self._place > _LONGEST:
                    raise self._error(f"is not JSON ({error.msg})") from error
                if not self._more():
                    # What goes on to the bracket that ends the list was not cut, but is wrong.
                    whole = not within and rest.rstrip(_WHITE).endswith("]")
                    raise self._error(f"is not JSON ({error.msg})" if whole else _ENDED) from error
            except (ValueError, RecursionError) as error:
                raise self._error(f"cannot be read ({error})") from error

    def _next_sign(self) -> str:
        """The next character that is no white space, not taken; "" at the end."""
        while True:
            while self._place < len(self._buffer):
                if self._buffer[self._place] not in _WHITE:
                    return self._buffer[self._place]
                self._place += 1
            if not self._more():
                return ""

    def _more(self) -> bool:
        """Reads on; False at the end of the file."""
        chunk = self._file.read(_CHUNK)
        self._buffer = self._buffer[self._place :] + self._decoder.decode(chunk, final=not chunk)
        self._place, self._ended = 0, not chunk
        return not self._ended

    def _error(self, problem: str) -> DataError:
        return DataError(f"{self._path}, record {max(1, self._number)}: {problem}.")


_ENDED = "the file ends in the middle; fetch or write it again"

_DECODER = json.JSONDecoder(object_pairs_hook=fields_once)
