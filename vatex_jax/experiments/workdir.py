"""A run's folder: which configuration it holds, and refusing another one."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_collections

from vatex_jax.errors import CheckpointError
from vatex_jax.files import read_json, write_json_whole

CONFIG_NAME = "config.json"


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"train.epochs": 8, ...}; tuples as lists, as JSON has them."""
    found = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = list(value) if isinstance(value, tuple) else value
    return found


def open_workdir(
    workdir: Path, config: ml_collections.ConfigDict, *, overwrite: bool = False, may_differ: Sequence[str] = ()
) -> Path:
    """Makes the folder and its config.json, or checks that it holds this very configuration.

    Args:
        workdir: the run's folder.
        config: the configuration of this run.
        overwrite: empty the folder first.
        may_differ: sections (`decode`, `eval`) whose fields a run may change, as `evaluate` and `predict` may.

    Raises:
        CheckpointError: the folder holds another configuration, naming the fields that differ.
    """
    workdir = Path(workdir).absolute()
    path = workdir / CONFIG_NAME
    if overwrite and path.exists():
        shutil.rmtree(workdir)
    wanted = config.to_dict()
    if not path.exists():
        if workdir.exists() and any(workdir.iterdir()):
            raise CheckpointError(
                f"{workdir} holds files but no {CONFIG_NAME}, so it is no run of this program. "
                "Give another folder with --workdir."
            )
        workdir.mkdir(parents=True, exist_ok=True)
        write_json_whole(path, wanted)
        return workdir
    held, asked = flat(read_json(path)), flat(wanted)
    differing = [
        name
        for name in sorted(held.keys() | asked.keys())
        if held.get(name) != asked.get(name) and name.partition(".")[0] not in may_differ
    ]
    if differing:
        lines = "\n".join(f"  {name}: {held.get(name)!r} there, {asked.get(name)!r} now" for name in differing)
        raise CheckpointError(
            f"{workdir} holds a run of another configuration:\n{lines}\n"
            "Give another folder with --workdir, or start anew with --overwrite."
        )
    return workdir
