"""A run's folder: which configuration it holds, and refusing another one."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_collections

from vatex_jax.errors import CheckpointError
from vatex_jax.files import read_json, write_json_whole
from vatex_jax.reports.cells import DECODED

CONFIG_NAME = "config.json"

PLACES = ("data.data_dir",)
"""Fields that say where things lie on this machine, not what is run."""


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
    outputs are scored (section `eval`) does not count.
    """
    there, now = flat(read_config(workdir / CONFIG_NAME)), flat(config.to_dict())
    names = [name for name in _differing(there, now) if not name.startswith("eval.")]
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
    workdir = Path(workdir).absolute()
    path = workdir / CONFIG_NAME
    try:
        if overwrite and path.exists():
            read_config(path)  # refuses a folder that is no run of ours
            aside = workdir.with_name(f".{workdir.name}.overwritten")
            shutil.rmtree(aside, ignore_errors=True)
            workdir.rename(aside)  # at once, so that a kill leaves no half-emptied run
            shutil.rmtree(aside)
        if not path.exists():
            return _begin(workdir, path, config, must_exist)
    except OSError as error:
        raise CheckpointError(f"{workdir}: cannot be used as a run's folder ({error.strerror or error}).") from error
    differing = differences(read_config(path), config, may_differ)
    if differing:
        raise CheckpointError(
            f"{workdir} holds a run of another configuration:\n{differing}\n"
            "Give another folder with --workdir, or start anew with --overwrite."
        )
    return workdir


def _begin(workdir: Path, path: Path, config: ml_collections.ConfigDict, must_exist: bool) -> Path:
    if must_exist:
        raise CheckpointError(
            f"{workdir} holds no run: train first (--mode=train_and_evaluate) or give the right --workdir."
        )
    if workdir.exists() and any(not entry.name.endswith(".partial") for entry in workdir.iterdir()):
        raise CheckpointError(
            f"{workdir} holds files but no {CONFIG_NAME}, so it is no run of this program. "
            "Give another folder with --workdir."
        )
    workdir.mkdir(parents=True, exist_ok=True)
    write_json_whole(path, config.to_dict())
    return workdir


def read_config(path: Path) -> dict[str, Any]:
    """The configuration a run was made with.

    Raises:
        CheckpointError: the file holds something else.
    """
    if not path.exists():
        raise CheckpointError(f"{path.parent} holds no run: train first, or give the right folder.")
    held = read_json(path)
    if not isinstance(held, dict) or not {"experiment", "seed"} <= held.keys():
        raise CheckpointError(f"{path} is no configuration of this program. Give another folder with --workdir.")
    return held
