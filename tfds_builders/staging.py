"""Data sets that appear whole or not at all: written in a folder beside, under a lock, then moved.

Whenever the process ends, and however many build at once, a data set is there complete or not there; one that was to be
replaced stays until the new one is complete.
"""

import contextlib
import io
import os
import pathlib
import shutil
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING

try:
    import fcntl
except ImportError:  # Windows has none: builds of one data set at once are not kept apart there
    fcntl = None

if TYPE_CHECKING:
    import tensorflow_datasets as tfds


def is_complete(final: pathlib.Path) -> bool:
    """Whether a data set is in its folder."""
    return (final / "dataset_info.json").is_file()


@contextlib.contextmanager
def lock(data_dir: pathlib.Path, name: str, config: str, report: Callable[[str], object]) -> Iterator[None]:
    """Keeps builds of one data set apart; the system lets go of the lock when the process ends, however it ends.

    Only a process that is killed leaves the file of the lock behind, which does no harm.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    path = data_dir / f".{name}-{config}.lock"
    with _locked(path, lambda: report(f"Another process is building {name}/{config}; waiting for it.")):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)  # while the lock is held: whoever waits for it sees that and makes another


@contextlib.contextmanager
def _locked(path: pathlib.Path, wait: Callable[[], object]) -> Iterator[None]:
    """Holds a lock on the file that is at `path`, not on one that its holder has removed meanwhile."""
    while True:
        with path.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                wait()
                fcntl.flock(file, fcntl.LOCK_EX)
            if _is_at(file, path):
                yield
                return


def _is_at(file: IO[str], path: pathlib.Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def write(
    data_dir: pathlib.Path,
    final: pathlib.Path,
    name: str,
    config: str,
    make: Callable[[pathlib.Path], "tfds.core.DatasetBuilder"],
) -> None:
    """Builds what `make` makes of a folder beside, and moves the result to `final`; called with the lock held."""
    import tensorflow_datasets as tfds

    staging = _staging(data_dir, name, config)
    try:
        builder = make(staging)
        download = tfds.download.DownloadConfig(try_download_gcs=False)
        # TFDS announces the folder beside as the result, and its bars are many and longer than a line.
        tfds.disable_progress_bar()
        with contextlib.redirect_stdout(io.StringIO()):
            builder.download_and_prepare(download_config=download, file_format="array_record")
        for path in sorted((staging / name / ".config").glob("*")):  # names the default config
            target = data_dir / name / ".config" / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
        final.parent.mkdir(parents=True, exist_ok=True)
        if final.exists():
            final.rename(staging / "replaced")
        pathlib.Path(builder.data_dir).rename(final)
    finally:
        tfds.enable_progress_bar()
        clear(data_dir, final, name, config)


def clear(data_dir: pathlib.Path, final: pathlib.Path, name: str, config: str) -> None:
    """Clears what a build left, however it ended; a data set it was about to replace comes back."""
    staging = _staging(data_dir, name, config)
    replaced = staging / "replaced"
    if replaced.is_dir() and not final.exists():
        replaced.rename(final)
    if staging.exists():
        shutil.rmtree(staging)


def _staging(data_dir: pathlib.Path, name: str, config: str) -> pathlib.Path:
    return data_dir / f".building-{name}-{config}"
