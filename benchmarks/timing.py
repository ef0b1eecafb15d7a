"""What the benchmarks share: a process a side, timing in turn, the machine's matrix rate, and the line of results.

Each side runs in a process of its own, so that neither's threads, allocator or memory disturb the other's, and so that
peak memory is one side's alone. One call runs at a time, anywhere: the other processes wait for work.
"""

import contextlib
import importlib.metadata
import importlib.util
import json
import multiprocessing
import os
import pathlib
import platform
import resource
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

REST_SECONDS = 0.3
"""Pause before each measurement: OpenMP threads of the process that ran before spin for up to 0.2 s."""


class Side:
    """An object that lives in a process of its own; its methods are called one at a time from here."""

    def __init__(self, make: Callable[..., Any], *args: Any):
        """Starts the process and makes the object there.

        Args:
            make: class or function, importable by name in the new process.
            args: what to call it with; must pickle.
        """
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make, args), daemon=True)
        self._process.start()
        theirs.close()
        self._answer()

    def call(self, method: str, *args: Any) -> Any:
        """What the method returns."""
        return self.timed(method, *args)[1]

    def timed(self, method: str, *args: Any) -> tuple[float, Any]:
        """(seconds, result) of a call, the arguments' way into the process not counted.

        Raises:
            RuntimeError: the method raised, or the process died; the message holds its traceback.
        """
        self._connection.send((method, args))
        return self._answer()

    def close(self) -> None:
        self._connection.close()
        self._process.join()

    def __enter__(self) -> "Side":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _answer(self) -> tuple[float, Any]:
        try:
            problem, *answer = self._connection.recv()
        except EOFError as error:
            self._process.join()
            raise RuntimeError(f"The process of a side died with status {self._process.exitcode}.") from error
        if problem:
            raise RuntimeError(f"A side failed:\n{problem}")
        return tuple(answer)


def _serve(connection: Connection, make: Callable[..., Any], args: Sequence[Any]) -> None:
    """The process of a side: makes its object, then answers calls until the other end closes."""
    try:
        made = make(*args)
    except Exception:
        connection.send((traceback.format_exc(), 0.0, None))
        return
    connection.send((None, 0.0, None))
    while True:
        try:
            method, arguments = connection.recv()
        except EOFError:
            return
        try:
            time.sleep(REST_SECONDS)
            start = time.perf_counter()
            result = getattr(made, method)(*arguments)
            connection.send((None, time.perf_counter() - start, result))
        except Exception:
            connection.send((traceback.format_exc(), 0.0, None))


def in_turn(measurements: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """Takes every measurement once a round, the order turned round each time, so that none has a favoured place."""
    seconds: dict[str, list[float]] = {name: [] for name in measurements}
    for number in range(repeats):
        names = list(measurements)
        for name in names if number % 2 == 0 else reversed(names):
            seconds[name].append(measurements[name]())
    return seconds


class MatrixRate:
    """Times jitted float32 products of two square matrices in JAX; the best of them is the machine's peak."""

    def __init__(self, side: int):
        import jax
        import jax.numpy as jnp

        self._multiply = jax.jit(jnp.matmul)
        self._matrices = [jax.random.normal(jax.random.key(number), (side, side)) for number in range(2)]
        self._operations = 2 * side**3
        self._multiply(*self._matrices).block_until_ready()

    def measure(self) -> float:
        """Operations a second of one product."""
        start = time.perf_counter()
        self._multiply(*self._matrices).block_until_ready()
        return self._operations / (time.perf_counter() - start)


def peak_memory_gb(children: bool = False) -> float:
    """The most memory this process, or one of the programs it ran and that have ended, has held at once: 1e9 bytes."""
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_CHILDREN if children else resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def threads() -> int:
    """Processors this process may use: what XLA's thread pool takes, and what PyTorch is told to take."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def without_bfloat16(cpuinfo: str = "/proc/cpuinfo") -> str | None:
    """Why this processor cannot multiply bfloat16 numbers itself; None where it can."""
    path = pathlib.Path(cpuinfo)
    if not path.exists():
        return f"{cpuinfo} does not exist, so the processor's instructions are unknown"
    words = set(path.read_text(encoding="utf-8", errors="replace").split())
    wanted = ("avx512_bf16", "amx_bf16", "bf16")
    return None if words & set(wanted) else f"{cpuinfo} lists none of {', '.join(wanted)}"


def require_torch() -> None:
    """Ends the script with a line for the person where PyTorch, the peer, is not installed."""
    if importlib.util.find_spec("torch") is None:
        sys.exit("error: the peer is PyTorch, which is not installed: pip install -e .[bench]")


def software() -> dict[str, Any]:
    """Versions and threads, for the line of results; without those of what is not installed."""
    versions = {}
    for name in ("jax", "torch", "numpy", "scipy"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {"python": platform.python_version(), **versions, "threads": threads()}


def print_line(benchmark: str, results: Mapping[str, Any]) -> None:
    """The last line of a benchmark: one JSON object, floats to four significant digits."""
    numbers = {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in results.items()}
    print(json.dumps({"benchmark": benchmark, **numbers, **software()}))
