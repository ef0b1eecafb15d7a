"""Checkpoints: the one file that knows Orbax.

A checkpoint is a folder that appears by one rename and holds a training state, the host's part of the run and the
fingerprint of what it was trained on, so that none of the three can be restored without the others:

    checkpoints/last-00000400/   arrays/ (Orbax), checkpoint.json, manifest.json (size and SHA-256 of every other file)
    checkpoints/last-00000300/   kept in case the newest turns out damaged
    checkpoints/best-00000300/   parameters alone; kept while a `last` names it as its best

`best` is written before the `last` that names it, so a kill between the two leaves a run that will write it again.
"""

import hashlib
import json
import math
import shutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import ml_dtypes
import numpy as np
import orbax.checkpoint as ocp
from etils import epath
from jax.experimental import multihost_utils
from orbax.checkpoint.options import MultiprocessingOptions

from vatex_jax.errors import CheckpointError
from vatex_jax.files import write_json_whole

KEPT = 2  # newest `last` checkpoints
SHOWN = 5  # differing names an error lists
_PARTIAL, _OLD = ".partial-", ".old-"  # a checkpoint being written; one whose place is being taken
BLOCK = 16 << 20  # bytes; arrays are stored end to end up to about this much


class _Damaged(Exception):
    """A checkpoint whose files are not what was written."""


class _Shape(NamedTuple):
    """Shape and type of an array that is not read yet."""

    shape: tuple[int, ...]
    dtype: np.dtype


class Checkpoints:
    """The checkpoints of one run.

    All processes of a run call the methods together; process 0 alone writes. The folder is shared by all.

    Args:
      folder: where the checkpoints lie; made when the first is written.
      fingerprint: what a checkpoint restored here must have been made with (configuration, vocabularies), by name.
    """

    def __init__(self, folder: Path, fingerprint: Mapping[str, str]):
        self.folder = Path(folder).absolute()
        self.fingerprint = dict(fingerprint)

    def save_last(self, step: int, state: Any, host: dict) -> Path:
        """Writes the run as it stands; drops what is no longer needed; returns the checkpoint's folder.

        Args:
          step: steps done.
          state: tree of arrays, on devices or not.
          host: values for JSON; `best_step`, where not None, names the `best` to keep.
        """
        path = self._write(f"last-{step:08d}", step, state, host)
        if jax.process_index() == 0:
            self._drop_old()
        _wait_for_all("vatex-jax last checkpoint written")
        return path

    def save_best(self, step: int, params: Any) -> Path:
        """Writes the parameters of the best evaluation so far; returns the checkpoint's folder."""
        path = self._write(f"best-{step:08d}", step, params, {})
        _wait_for_all("vatex-jax best checkpoint written")
        return path

    def restore_last(self, make_template: Callable[[dict], Any]) -> tuple[Any, dict] | None:
        """The newest readable run: (state as host arrays, host values), or None where there is no checkpoint.

        A damaged one is passed over with a warning and put aside as `damaged-*`.

        Args:
          make_template: given the host values, a tree of arrays or shapes like the state that was saved.

        Raises:
          CheckpointError: every checkpoint is damaged, or the newest readable one belongs to another configuration or
            model.
        """
        if jax.process_index() == 0:
            self._clear_up()
        _wait_for_all("vatex-jax leftovers removed")
        restored, damaged = self._restore_newest(make_template)
        _wait_for_all("vatex-jax checkpoint read")
        if jax.process_index() == 0 and restored is not None:
            for path in damaged:
                aside = path.with_name(f"damaged-{path.name}")
                shutil.rmtree(aside, ignore_errors=True)
                path.rename(aside)
        return restored

    def newest(self) -> Path | None:
        """Folder of the newest `last` checkpoint, None where there is none."""
        return next(iter(self._newest_first("last")), None)

    def load_best(self, template: Any, step: int | None = None) -> tuple[Any, int]:
        """Parameters of the best evaluation as host arrays, and the step they are from.

        Args:
          template: a tree of arrays or shapes like the parameters.
          step: the best step, where the caller knows it; otherwise as the newest checkpoints name it.

        Raises:
          CheckpointError: there is none, none is readable, or it belongs to another configuration or model.
        """
        named = ([] if step is None else [step]) + self._named_best_steps()
        steps = [step for step in dict.fromkeys(named) if (self.folder / f"best-{step:08d}").is_dir()]
        if not steps:
            raise CheckpointError(
                f"{self.folder} holds no parameters of an evaluated model: train first (--mode=train_and_evaluate), "
                "give the right --workdir, or, where they were lost, train anew with --overwrite."
            )
        for step in steps:
            path = self.folder / f"best-{step:08d}"
            try:
                record, arrays = _read(path)
            except _Damaged as damage:
                warnings.warn(f"The checkpoint {path} is damaged ({damage}); trying the one before.", stacklevel=2)
                continue
            self._check_fingerprint(path, record)
            return _fill(path, template, record, arrays), step
        raise CheckpointError(
            f"No checkpoint of the best model in {self.folder} is readable: restore the folder from a copy, or train "
            "anew with --overwrite."
        )

    def _clear_up(self) -> None:
        """Puts back what a kill in the middle of a replacement has left nameless; removes what it left half-written."""
        for old in self.folder.glob(f"{_OLD}*"):
            path = self.folder / old.name.removeprefix(_OLD)
            if not path.exists():
                old.rename(path)
        for leftover in self.folder.glob(".*"):
            if leftover.is_dir():  # a shared folder's own files (.nfs..., .DS_Store) are not ours
                shutil.rmtree(leftover)

    def _write(self, name: str, step: int, tree: Any, host: dict) -> Path:
        path = self.folder / name
        if jax.process_index() != 0:
            return path
        partial = self.folder / f"{_PARTIAL}{name}"
        try:
            self._clear_up()
            self._fill_folder(partial, step, tree, host)
            self._replace(path, partial)
        except (OSError, ValueError) as error:  # Orbax reports a full disk as a ValueError
            shutil.rmtree(partial, ignore_errors=True)
            raise CheckpointError(
                f"{path}: the checkpoint cannot be written ({error}). The one before is kept: make room, or the folder "
                "writable, and run the same command."
            ) from error
        return path

    def _replace(self, path: Path, partial: Path) -> None:
        old = self.folder / f"{_OLD}{path.name}"
        if path.exists():
            path.rename(old)
        partial.rename(path)
        shutil.rmtree(old, ignore_errors=True)

    def _fill_folder(self, partial: Path, step: int, tree: Any, host: dict) -> None:
        partial.mkdir(parents=True)
        arrays = _by_name(jax.device_get(tree))
        record = {
            "step": step,
            "host": host,
            "fingerprint": self.fingerprint,
            "arrays": {key: {"shape": list(a.shape), "dtype": a.dtype.name} for key, a in arrays.items()},
        }
        write_json_whole(partial / "checkpoint.json", record)
        _handler().save(epath.Path(partial / "arrays"), args=ocp.args.PyTreeSave(_pack(arrays)))
        write_json_whole(partial / "manifest.json", _manifest(partial))

    def _drop_old(self) -> None:
        """Removes all `last` but the newest, and every `best` that none of those kept names."""
        last = self._newest_first("last")
        for path in last[KEPT:]:
            shutil.rmtree(path)
        named = set(self._named_best_steps())
        for path in self._newest_first("best"):
            if _step_of(path) not in named:
                shutil.rmtree(path)

    def _named_best_steps(self) -> list[int]:
        """Best steps named by the `last` checkpoints, the newest's first; unreadable ones name nothing."""
        steps = []
        for path in self._newest_first("last")[:KEPT]:
            try:
                best = json.loads((path / "checkpoint.json").read_text("utf-8"))["host"].get("best_step")
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                warnings.warn(f"The checkpoint {path} is damaged ({error}).", stacklevel=3)
                continue
            if best is not None and best not in steps:
                steps.append(best)
        return steps

    def _newest_first(self, kind: str) -> list[Path]:
        return sorted(self.folder.glob(f"{kind}-*"), key=_step_of, reverse=True)

    def _restore_newest(self, make_template: Callable[[dict], Any]) -> tuple[tuple[Any, dict] | None, list[Path]]:
        damaged = []
        for path in self._newest_first("last"):
            try:
                record, arrays = _read(path)
            except _Damaged as damage:
                warnings.warn(f"The checkpoint {path} is damaged ({damage}); trying the one before.", stacklevel=3)
                damaged.append(path)
                continue
            self._check_fingerprint(path, record)
            return (_fill(path, make_template(record["host"]), record, arrays), record["host"]), damaged
        if damaged:
            raise CheckpointError(
                f"None of the {len(damaged)} checkpoints in {self.folder} is readable: "
                "restore the folder from a copy, or start anew with --overwrite."
            )
        return None, damaged

    def _check_fingerprint(self, path: Path, record: dict) -> None:
        saved = record["fingerprint"]
        differing = [key for key in sorted({*saved, *self.fingerprint}) if saved.get(key) != self.fingerprint.get(key)]
        if differing:
            key = differing[0]
            raise CheckpointError(
                f"The checkpoint {path} was made with another {', '.join(differing)} "
                f"({key}: {saved.get(key)} there, {self.fingerprint.get(key)} here): "
                "use another --workdir, or start anew with --overwrite."
            )


def load_best_params(folder: Path, template: Any, fingerprint: Mapping[str, str]) -> Any:
    """Parameters of the best evaluation of the run whose checkpoints lie in `folder`, as host arrays.

    Args:
      folder: the run's `checkpoints` folder.
      template: a tree of arrays or shapes like the parameters (`jax.eval_shape(task.init, key)`).
      fingerprint: as in training.

    Raises:
      CheckpointError: there is none, none is readable, or it belongs to another configuration or model.
    """
    return Checkpoints(folder, fingerprint).load_best(template)[0]


def _handler() -> ocp.PyTreeCheckpointHandler:
    # Each process reads, and process 0 writes, what all hold whole: Orbax has nobody to wait for. On a model of 47
    # million parameters OCDBT took three times as long, and compression eight times, to make files 8% smaller.
    alone = MultiprocessingOptions(
        primary_host=jax.process_index(),
        active_processes={jax.process_index()},
        barrier_sync_key_prefix=f"process{jax.process_index()}",
    )
    return ocp.PyTreeCheckpointHandler(
        use_ocdbt=False, use_zarr3=True, use_compression=False, multiprocessing_options=alone
    )


def _blocks(arrays: Mapping[str, Any]) -> dict[str, list[str]]:
    """Names of arrays stored end to end as one, by the name of that block: of one type, and of BLOCK bytes or so.

    An array costs Orbax five files or folders; writing and removing many small ones costs more than a brief epoch.
    """
    blocks: dict[str, list[str]] = {}
    room: dict[str, tuple[str, int]] = {}  # the block being filled, and its bytes so far, by type
    for name, array in arrays.items():
        kind, size = np.dtype(array.dtype).name, math.prod(array.shape)
        if size == 0:  # Orbax refuses empty arrays
            continue
        block, filled = room.get(kind, ("", BLOCK))
        if filled >= BLOCK:
            block, filled = f"{kind}-{len(blocks):03d}", 0
            blocks[block] = []
        blocks[block].append(name)
        room[kind] = block, filled + size * np.dtype(array.dtype).itemsize
    return blocks


def _pack(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        block: np.concatenate([np.reshape(arrays[name], -1) for name in names])
        for block, names in _blocks(arrays).items()
    }


def _unpack(blocks: Mapping[str, np.ndarray], shapes: Mapping[str, "_Shape"]) -> dict[str, np.ndarray]:
    arrays = {name: np.zeros(wanted.shape, wanted.dtype) for name, wanted in shapes.items() if 0 in wanted.shape}
    for block, names in _blocks(shapes).items():
        ends = np.cumsum([math.prod(shapes[name].shape) for name in names])
        for name, piece in zip(names, np.split(blocks[block], ends[:-1]), strict=True):
            arrays[name] = piece.reshape(shapes[name].shape)
    return arrays


def _manifest(folder: Path) -> dict[str, dict]:
    """Size and SHA-256 of every file of a checkpoint, by path within it."""
    manifest = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path != folder / "manifest.json":
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            manifest[path.relative_to(folder).as_posix()] = {"bytes": path.stat().st_size, "sha256": digest}
    return manifest


def _read(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """The record and the arrays by name of a checkpoint, once all its files are known to be what was written."""
    try:
        written = json.loads((path / "manifest.json").read_text("utf-8"))
        found = _manifest(path)
    except (OSError, ValueError) as error:
        raise _Damaged(str(error)) from error
    if written != found:
        names = [*written, *found] if isinstance(written, dict) else ["manifest.json"]
        wrong = next(name for name in names if not isinstance(written, dict) or written.get(name) != found.get(name))
        raise _Damaged(f"{wrong} is not as written")
    record = json.loads((path / "checkpoint.json").read_text("utf-8"))
    shapes = {name: _Shape(tuple(a["shape"]), _dtype(a["dtype"])) for name, a in record["arrays"].items()}
    as_numpy = {block: ocp.RestoreArgs(restore_type=np.ndarray) for block in _blocks(shapes)}
    blocks = _handler().restore(epath.Path(path / "arrays"), args=ocp.args.PyTreeRestore(restore_args=as_numpy))
    return record, _unpack(blocks, shapes)


def _fill(path: Path, template: Any, record: dict, arrays: dict[str, np.ndarray]) -> Any:
    """The arrays in the shape of `template`; CheckpointError naming the first that do not fit."""
    wanted = _by_name(template)
    differing = []
    for name in [*wanted, *(name for name in record["arrays"] if name not in wanted)]:
        here = f"{list(wanted[name].shape)} {np.dtype(wanted[name].dtype).name}" if name in wanted else "absent"
        there = f"{list(arrays[name].shape)} {arrays[name].dtype.name}" if name in arrays else "absent"
        if here != there:
            differing.append(f"{name}: {there} in the checkpoint, {here} in this model")
    if differing:
        more = f"; and {len(differing) - SHOWN} more" if len(differing) > SHOWN else ""
        raise CheckpointError(
            f"The checkpoint {path} (step {record['step']}) belongs to another model: "
            f"{'; '.join(differing[:SHOWN])}{more}. Use another --workdir, or start anew with --overwrite."
        )
    return jax.tree.unflatten(jax.tree.structure(template), [arrays[name] for name in wanted])


def _by_name(tree: Any) -> dict[str, Any]:
    """Leaves by their path (`params/encoder/kernel`), in the tree's order."""
    paths, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in paths}


def _dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def _step_of(path: Path) -> int:
    """Step in a checkpoint's name; -1 for a folder somebody else made."""
    digits = path.name.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else -1


def _wait_for_all(what: str) -> None:
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices(what)
