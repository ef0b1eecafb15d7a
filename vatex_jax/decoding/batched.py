"""Decoding jitted and spread over the devices, each leaving its loop when its own sentences are done."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, PartitionSpec

from vatex_jax.decoding.hypotheses import Hypotheses, State, Step

Begin = Callable[[Any, dict[str, jax.Array]], tuple[Step, State]]
"""`begin(params, batch) -> (step, first state)`: runs the encoders."""


def make_decoder(
    begin: Begin, search: Callable[[Step, State], Hypotheses], mesh: Mesh, jit: Callable[..., Any] = jax.jit
) -> Callable[[Any, dict[str, jax.Array]], Hypotheses]:
    """A jitted `decode(params, batch) -> Hypotheses` of host arrays.

    Args:
        begin: what the model offers, for one device's rows.
        search: beam search, greedy decoding or sampling with its options bound.
        mesh: devices along one axis `data`; `params` whole on each, `batch` split by rows.
        jit: `jax.jit`, or what compiles in its place.
    """

    def local(params, batch):
        return search(*begin(params, batch))

    rows = PartitionSpec("data")
    # Without shard_map the loop of one program would run until the last sentence of all devices is done.
    decode = jit(jax.shard_map(local, mesh=mesh, in_specs=(PartitionSpec(), rows), out_specs=rows, check_vma=False))

    def run(params: Any, batch: dict[str, jax.Array]) -> Hypotheses:
        found = decode(params, batch)
        if jax.process_count() > 1:
            found = multihost_utils.process_allgather(found, tiled=True)
        return jax.tree.map(np.asarray, found)

    return run
