"""One code path from one CPU to a pod: a mesh with one `data` axis, parameters everywhere, batches split by rows."""

import contextlib
import os
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from vatex_jax.errors import ConfigError

LAST_WORK_SECONDS = 6 * 3600
"""How long processes that are done wait for the first, which scores and draws alone; dead ones are noticed earlier."""


def initialize_distributed(
    coordinator_address: str | None = None, process_count: int | None = None, process_index: int | None = None
) -> None:
    """Joins the other processes of a run, where there are any; to be called before any device is used.

    What is not given is read from JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID. Without an address,
    jobs of several processes under SLURM, Open MPI or a TPU pod are recognised; anything else is a run of one process.
    """
    if jax.distributed.is_initialized():
        return
    address = coordinator_address or os.environ.get("JAX_COORDINATOR_ADDRESS")
    count = process_count if process_count is not None else _integer_variable("JAX_NUM_PROCESSES")
    index = process_index if process_index is not None else _integer_variable("JAX_PROCESS_ID")
    if not address:
        if count is not None and count > 1:
            raise ConfigError(f"{count} processes but no coordinator: set JAX_COORDINATOR_ADDRESS to host:port.")
        if _cluster_processes() > 1:
            jax.distributed.initialize(shutdown_timeout_seconds=LAST_WORK_SECONDS)
        return
    if count is None or index is None:
        raise ConfigError(
            "JAX_COORDINATOR_ADDRESS is set: set JAX_NUM_PROCESSES too, and in each process JAX_PROCESS_ID (0, 1, ...)."
        )
    if not 0 <= index < count:
        raise ConfigError(f"process index {index} of {count}: it must be from 0 to {count - 1}.")
    # Without it a CPU process sees its own devices only; other platforms never read it.
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, count, index, shutdown_timeout_seconds=LAST_WORK_SECONDS)


def split_cpu(devices: int) -> None:
    """Splits the CPU into `devices` devices, where it is more than 0; to be called before any device is used.

    The products of a small model are too small for several threads, but its batches divide well: on two cores, two
    devices train the small translator nearly twice as fast as one. Accelerators are not affected.
    """
    if devices > 0 and jax.config.jax_num_cpu_devices != devices:
        try:
            jax.config.update("jax_num_cpu_devices", devices)
        except RuntimeError:  # a notebook has used JAX already
            warnings.warn(
                f"JAX is in use already: the CPU stays {jax.device_count()} device(s) instead of {devices}. "
                "Results are the same save for rounding; small models train more slowly.",
                stacklevel=2,
            )


@contextlib.contextmanager
def first_process_first(name: str) -> Iterator[None]:
    """Process 0 runs the body, then all the others do: for what one process makes and the rest find."""
    if jax.process_count() == 1:
        yield
        return
    if jax.process_index() != 0:
        multihost_utils.sync_global_devices(name)
    try:
        yield
    finally:  # an error of process 0 must not leave the others waiting
        if jax.process_index() == 0:
            multihost_utils.sync_global_devices(name)


def make_mesh() -> Mesh:
    """All devices of all processes along one axis, `data`."""
    # Auto: under the explicit axes that are the default now, Linen's recurrent modules fail.
    return jax.make_mesh((jax.device_count(),), ("data",), axis_types=(AxisType.Auto,))


def replicated(mesh: Mesh) -> NamedSharding:
    """Sharding of what every device holds whole: the training state."""
    return NamedSharding(mesh, PartitionSpec())


def by_rows(mesh: Mesh) -> NamedSharding:
    """Sharding of a batch: the first axis split over all devices."""
    return NamedSharding(mesh, PartitionSpec("data"))


def replicate(mesh: Mesh, tree: Any) -> Any:
    """Host arrays, equal in every process, as arrays every device holds whole."""
    sharding = replicated(mesh)

    def place(value: np.ndarray | np.generic) -> jax.Array:
        array = np.asarray(value)
        return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])

    return jax.tree.map(place, tree)


def check_batch_size(rows: int, devices: int, field: str = "the batch size") -> None:
    """Raises ConfigError, naming `field`, where `devices` devices cannot share a batch of `rows` rows evenly."""
    if rows % devices:
        below, above = rows // devices * devices, -(-rows // devices) * devices
        choices = f"{below} or {above}" if below else f"{above}"
        raise ConfigError(
            f"A global batch of {rows} rows cannot be split evenly over {devices} devices: "
            f"set {field} to a multiple of {devices}, such as {choices}."
        )


def shard_batch(mesh: Mesh, batch: Mapping[str, np.ndarray]) -> dict[str, jax.Array]:
    """A global batch of host arrays, equal in every process, with its rows split over the devices.

    Each process hands only the rows of its own devices on.
    """
    sharding = by_rows(mesh)
    check_batch_size(len(next(iter(batch.values()))), mesh.size)
    return {
        name: jax.make_array_from_process_local_data(sharding, array, global_shape=array.shape)
        for name, array in batch.items()
    }


def _integer_variable(name: str) -> int | None:
    """An environment variable as a number; None where it is unset."""
    text = os.environ.get(name)
    if not text:
        return None
    try:
        return int(text)
    except ValueError as error:
        raise ConfigError(f"The environment variable {name} is {text!r}: set it to a whole number.") from error


def _cluster_processes() -> int:
    """Processes of the surrounding job step, as far as its launcher says; 1 where nothing does."""
    hosts = os.environ.get("TPU_WORKER_HOSTNAMES", "")
    counts = [
        _integer_variable("SLURM_STEP_NUM_TASKS"),
        _integer_variable("OMPI_COMM_WORLD_SIZE"),
        hosts.count(",") + 1,
    ]
    return max(count for count in counts if count is not None)
