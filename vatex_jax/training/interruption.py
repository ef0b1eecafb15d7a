"""SIGTERM, as clusters send it before they take a machine away: save and leave with exit status 0."""

import signal
import threading
from types import FrameType
from typing import Any


class Interrupted(BaseException):
    """Raised inside an evaluation that SIGTERM cuts short; a BaseException so that no evaluation catches it."""


class Interruption:
    """Takes note of SIGTERM while active (a context manager); the handler found before is put back afterwards.

    Python lets only the main thread handle signals: in any other, SIGTERM keeps the effect it had.

    Attributes:
      requested: SIGTERM has come.
      raises: let a SIGTERM raise `Interrupted` at once, for work that can be thrown away.
    """

    def __init__(self) -> None:
        self.requested = False
        self.raises = False
        self._before: Any = None
        self._active = False

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._note)
            self._active = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._active:
            # None stands for a handler that was not installed from Python and cannot be put back.
            signal.signal(signal.SIGTERM, signal.SIG_DFL if self._before is None else self._before)
            self._active = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        if self.raises:
            raise Interrupted
