"""A run's folder: which configuration it holds, and refusing another one."""

import contextlib
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_collections

try:
    import fcntl
except ImportError:  # Windows has none: two runs in one folder are not kept apart there
    fcntl = None

from vatex_jax.errors import CheckpointError, DataError
from vatex_jax.files import read_json, write_json_whole
from vatex_jax.reports.cells import DECODED, PLACES
from vatex_jax.reports.earlier import completed
from vatex_jax.reports.results import FILE_NAME
from vatex_jax.text.vocabulary import Vocabulary
from vatex_jax.training.writers import METRICS_NAME

CONFIG_NAME = "config.json"
LOCK_NAME = ".lock"


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"train.epochs": 8, ...}; tuples as lists, as JSON has them."""
    found = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = list(value) if isinstance(value, tuple) else value
    return found


def differences(held: Mapping[str, Any], config: ml_collections.ConfigDict, may_differ: Sequence[str] = ()) -> str:
    """A line for each field in which a kept configuration is another one than `config`; empty where none is."""
    there, now = flat(held), flat(config.to_dict())
    return "\n".join(
        f"  {name}: {there.get(name)!r} there, {now.get(name)!r} now"
        for name in _differing(there, now)
        if not {name, name.partition(".")[0]} & {*may_differ}
    )


def _differing(there: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    names = sorted(there.keys() | now.keys())
    return [name for name in names if there.get(name) != now.get(name) and name not in PLACES]


def outputs_folder(workdir: Path, config: ml_collections.ConfigDict) -> Path:
    """Where a run's outputs go: its own folder, or one below it where they are decoded in another way than the run's.

    So a run's results.json and predictions.jsonl always belong together: a beam of 1 goes to `decoded/beam=1`. How the
    outputs are scored (section `eval`) and how many are decoded at once does not count.
    """
    there, now = flat(read_config(workdir / CONFIG_NAME)), flat(config.to_dict())
    names = [name for name in _differing(there, now) if not name.startswith("eval.") and name != "decode.batch_size"]
    if not names:
        return workdir
    return workdir / DECODED / ",".join(f"{name.rpartition('.')[2]}={now.get(name)}" for name in names)


def open_workdir(
    workdir: Path,
    config: ml_collections.ConfigDict,
    *,
    overwrite: bool = False,
    must_exist: bool = False,
    may_differ: Sequence[str] = (),
) -> Path:
    """Makes the folder and its config.json, or checks that it holds this very configuration.

    Args:
        workdir: the run's folder.
        config: the configuration of this run.
        overwrite: empty the folder first.
        must_exist: the run must have been made before, as `evaluate` and `predict` need it.
        may_differ: fields, and sections (`decode`) all of whose fields, that `evaluate` and `predict` may change.

    Raises:
        CheckpointError: the folder holds another configuration, naming the fields that differ, or other files; there is
            no run in it where there must be one; it cannot be written.
    """
    workdir = Path(workdir).resolve()  # a run kept elsewhere behind a link stays there
    path = workdir / CONFIG_NAME
    try:
        if overwrite and workdir.exists():
            _empty(workdir)
        if not path.exists():
            return _begin(workdir, path, config, must_exist)
        differing = differences(read_config(path), config, may_differ)
        if differing and not must_exist and not _has_begun(workdir):
            # Nothing was trained here: a mistake in the first command must not bind the next one.
            with locked(workdir):  # unless another process is still loading there
                for vocabulary in workdir.glob("vocabulary_*.json"):
                    vocabulary.unlink()
                write_json_whole(path, config.to_dict())
            return workdir
    except OSError as error:
        raise CheckpointError(f"{workdir}: cannot be used as a run's folder ({error.strerror or error}).") from error
    if differing:
        raise CheckpointError(
            f"{workdir} holds a run of another configuration:\n{differing}\n"
            "Set these fields as they are there (--config.FIELD=VALUE), give another folder with --workdir, or start "
            "anew with --overwrite."
        )
    return workdir


@contextlib.contextmanager
def locked(workdir: Path) -> Iterator[None]:
    """Keeps a run's folder to one process; the system lets go of it when the process ends, however it ends.

    Raises:
        CheckpointError: another process works in the folder.
    """
    with (workdir / LOCK_NAME).open("w") as file:
        _take(file, workdir)
        yield


def _take(file: Any, workdir: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise CheckpointError(
            f"Another process works in {workdir}: wait for it, stop it, or give another folder with --workdir."
        ) from error
    except OSError as error:  # some network file systems have no locks
        warnings.warn(
            f"{workdir}: cannot be locked ({error.strerror}); see that one run at a time uses it.", stacklevel=3
        )


def _empty(workdir: Path) -> None:
    """Moves a run away at once, so that a kill leaves no half-emptied one, and removes it; refuses other folders."""
    if not (workdir / CONFIG_NAME).exists():
        return
    if not _is_ours(workdir):
        raise CheckpointError(
            f"{workdir / CONFIG_NAME} is no configuration of this program. Give another folder with --workdir."
        )
    aside = workdir.with_name(f".{workdir.name}.overwritten")
    with locked(workdir):
        shutil.rmtree(aside, ignore_errors=True)
        workdir.rename(aside)
        shutil.rmtree(aside)


def _is_ours(workdir: Path) -> bool:
    """Whether a folder's config.json is a run's; a damaged one is, where a run's other files lie beside it."""
    try:
        held = read_json(workdir / CONFIG_NAME)
    except DataError:
        return _has_begun(workdir)
    return isinstance(held, dict) and {"experiment", "seed"} <= held.keys()


def _has_begun(workdir: Path) -> bool:
    """Whether a run has left anything that took training, or a result."""
    kept = workdir / "checkpoints"
    left = any((workdir / name).exists() for name in (METRICS_NAME, FILE_NAME))
    return left or (kept.is_dir() and any(kept.iterdir()))


def _begin(workdir: Path, path: Path, config: ml_collections.ConfigDict, must_exist: bool) -> Path:
    if must_exist:
        raise CheckpointError(
            f"{workdir} holds no run: train first (--mode=train_and_evaluate) or give the right --workdir."
        )
    held = [entry.name for entry in workdir.iterdir()] if workdir.exists() else []
    if any(name != LOCK_NAME and not name.endswith(".partial") for name in held):
        raise CheckpointError(
            f"{workdir} holds files but no {CONFIG_NAME}, so it is no run of this program. "
            "Give another folder with --workdir."
        )
    workdir.mkdir(parents=True, exist_ok=True)
    write_json_whole(path, config.to_dict())
    return workdir


def read_config(path: Path) -> dict[str, Any]:
    """The configuration a run was made with, completed with the fields that are younger than it.

    Raises:
        CheckpointError: the file holds something else.
    """
    if not path.exists():
        raise CheckpointError(f"{path.parent} holds no run: train first, or give the right folder.")
    try:
        held = read_json(path)
    except DataError as error:
        raise CheckpointError(f"{error} Restore it from a copy, or start anew with --overwrite.") from error
    if not isinstance(held, dict) or not {"experiment", "seed"} <= held.keys():
        raise CheckpointError(f"{path} is no configuration of this program. Give another folder with --workdir.")
    return completed(held)


def keep_vocabularies(vocabularies: Mapping[str, Vocabulary], workdir: Path) -> None:
    """Saves a run's vocabularies, or checks that they are those it has.

    Raises:
        CheckpointError: they are not.
    """
    for language, vocabulary in vocabularies.items():
        path = workdir / f"vocabulary_{language}.json"
        if not path.exists():
            vocabulary.save(path)
        elif Vocabulary.load(path).fingerprint != vocabulary.fingerprint:
            raise CheckpointError(
                f"{path} is not the vocabulary of this data set: the run was made from other captions. "
                "Give another folder with --workdir, or start anew with --overwrite."
            )
