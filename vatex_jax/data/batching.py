"""Length buckets and batches: few compiled shapes, little padding, and data order a pure function of the step.

Dimension legend
    N  examples      D  lengths an example has (source, target, segments, say)      J  shapes      B  rows of a batch
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import grain
import numpy as np
from jaxtyping import Int, Int32

from vatex_jax.errors import DataError

MAX_SHAPES = 6
"""Compiled shapes a run at most."""

_SAMPLE, _REACH, _SWEEPS = 2000, 3, 20
_PREFETCH = 4


@runtime_checkable
class Examples(Protocol):
    """What batches are made of.

    Attributes:
        cost: [D]; relative cost of a unit of each length.
        words: how many of the lengths, the first ones, count words.
    """

    cost: np.ndarray
    words: int

    def __len__(self) -> int: ...

    def lengths(self) -> Int32[np.ndarray, "N D"]:
        """The lengths a shape must hold."""

    def arrays(
        self, rows: Sequence[int] | np.ndarray, shape: Sequence[int] | np.ndarray, batch_size: int, *, targets: bool
    ) -> dict[str, np.ndarray]:
        """Arrays of `batch_size` rows, the first of them these examples, padded to `shape`; with or without targets."""


def choose_shapes(
    lengths: Int[np.ndarray, "N D"], cost: np.ndarray, count: int = MAX_SHAPES
) -> Int32[np.ndarray, "J D"]:
    """At most `count` shapes that hold all examples at little cost, cheapest first.

    An example goes to the cheapest shape that holds it. From quantiles of the cost, one shape after the other moves to
    the best place near it until none moves. The last shape is the largest length along each axis.
    """
    if len(lengths) == 0:
        raise DataError("There are no examples to make batches of.")
    sample = lengths[np.random.default_rng(0).permutation(len(lengths))[:_SAMPLE]].astype(np.int64)
    kinds, weights = np.unique(sample, axis=0, return_counts=True)
    by_cost = sample[np.argsort(sample @ cost, kind="stable")]
    inner = by_cost[[len(by_cost) * j // count for j in range(1, count)]]
    shapes = np.concatenate([inner, lengths.max(axis=0, keepdims=True)])
    best = np.inf
    for _ in range(_SWEEPS):
        before = best
        for j in range(len(shapes) - 1):
            best = min(best, _move(kinds, weights, shapes, j, cost))
        if best == before:
            break
    shapes = np.unique(
        shapes[np.isin(np.arange(len(shapes)), [*assign_shapes(lengths, shapes, cost), len(shapes) - 1])], axis=0
    )
    return shapes[np.argsort(shapes @ cost, kind="stable")].astype(np.int32)


def _move(kinds, weights, shapes, j, cost) -> float:
    """Moves shape j to the best of the lengths near it; returns the total cost of all shapes then."""
    near = []
    for d in range(kinds.shape[1]):
        values = np.unique(kinds[:, d])
        place = np.searchsorted(values, shapes[j, d])
        near.append(values[max(0, place - _REACH) : place + _REACH + 1])
    candidates = np.stack(np.meshgrid(*near, indexing="ij"), axis=-1).reshape(-1, kinds.shape[1])
    others = np.delete(shapes, j, axis=0)
    without = np.where((kinds[:, None] <= others).all(-1), others @ cost, np.inf).min(axis=1)
    own = np.where((kinds[:, None] <= candidates).all(-1), candidates @ cost, np.inf)
    totals = weights @ np.minimum(own, without[:, None])
    shapes[j] = candidates[int(totals.argmin())]
    return float(totals.min())


def assign_shapes(
    lengths: Int[np.ndarray, "N D"], shapes: Int[np.ndarray, "J D"], cost: np.ndarray
) -> Int32[np.ndarray, "N"]:
    """The number of the cheapest shape that holds each example."""
    fits = (lengths[:, None] <= shapes[None]).all(-1)
    return np.where(fits, shapes @ cost, np.inf).argmin(axis=1).astype(np.int32)


@dataclasses.dataclass(frozen=True)
class Buckets:
    """Examples sorted into shapes, and the batches of an epoch.

    Attributes:
        shapes: int32 [J, D], cheapest first.
        members: the examples of each shape.
        batch_size: B.
        seed: of the data order.
    """

    shapes: Int32[np.ndarray, "J D"]
    members: tuple[np.ndarray, ...]
    batch_size: int
    seed: int

    @classmethod
    def of(cls, examples: Examples, batch_size: int, seed: int, count: int = MAX_SHAPES) -> "Buckets":
        """Buckets of at most `count` shapes."""
        lengths = examples.lengths()
        shapes = choose_shapes(lengths, examples.cost, count)
        assigned = assign_shapes(lengths, shapes, examples.cost)
        return cls(shapes, tuple(np.flatnonzero(assigned == j) for j in range(len(shapes))), batch_size, seed)

    @functools.cached_property
    def steps_per_epoch(self) -> int:
        return len(self.epoch(0))

    def epoch(self, epoch: int) -> list[tuple[int, np.ndarray]]:
        """(shape, examples) of each batch of an epoch, in random order; every example stands in one of them.

        What a shape has left after its whole batches moves on to the next shape that holds it, so that at most a few
        batches are not full. How many batches there are does not depend on the epoch.
        """
        rng = np.random.default_rng([self.seed, epoch])
        pools = [rng.permutation(members) for members in self.members]
        batches = []
        for j, pool in enumerate(pools):
            whole = len(pool) // self.batch_size * self.batch_size
            batches += [(j, pool[i : i + self.batch_size]) for i in range(0, whole, self.batch_size)]
            rest = pool[whole:]
            larger = [k for k in range(j + 1, len(pools)) if (self.shapes[k] >= self.shapes[j]).all()]
            if len(rest) and larger:
                pools[larger[0]] = np.concatenate([rest, pools[larger[0]]])
            elif len(rest):
                batches.append((j, rest))
        return [batches[i] for i in rng.permutation(len(batches))]

    def padding(self, examples: Examples) -> float:
        """Share of an epoch's word positions that hold padding."""
        held = sum(self.batch_size * int(self.shapes[j][: examples.words].sum()) for j, _ in self.epoch(0))
        return 1 - float(examples.lengths()[:, : examples.words].sum()) / held


class TrainingBatches:
    """Training batches by step (training.task.Batches), through a Grain pipeline that reads ahead."""

    def __init__(self, examples: Examples, *, batch_size: int, seed: int, shapes: int = MAX_SHAPES):
        if len(examples) == 0:
            raise DataError("The training split holds no captions of the kind wanted: there is nothing to train on.")
        self.examples = examples
        self.buckets = Buckets.of(examples, batch_size, seed, shapes)
        self.steps_per_epoch = self.buckets.steps_per_epoch
        self._epoch = functools.lru_cache(maxsize=2)(self.buckets.epoch)
        self._next, self._iterator = -1, iter(())

    def batch(self, step: int) -> dict[str, np.ndarray]:
        """Batch number `step` of the run; asking for them in order is fastest."""
        if step != self._next:
            self._iterator = self._from(step)
        self._next = step + 1
        return next(self._iterator)

    def of_each_shape(self) -> Iterator[dict[str, np.ndarray]]:
        """A batch of each shape there is, of one example, cheapest first."""
        for members, shape in zip(self.buckets.members, self.buckets.shapes, strict=True):
            yield assemble(self.examples, members[:1], shape, self.buckets.batch_size)

    def _from(self, step: int) -> Iterator[dict[str, np.ndarray]]:
        # The order is a function of the step, so the position of a resume is the step: no iterator state to keep.
        steps = grain.MapDataset.source(_StepsFrom(step)).map(self._load)
        options = grain.ReadOptions(num_threads=1, prefetch_buffer_size=_PREFETCH)
        return iter(steps.to_iter_dataset(options))

    def _load(self, step: int) -> dict[str, np.ndarray]:
        epoch, place = divmod(step, self.steps_per_epoch)
        shape, rows = self._epoch(epoch)[place]
        return assemble(self.examples, rows, self.buckets.shapes[shape], self.buckets.batch_size)


class _StepsFrom:
    """The numbers from `start` on, as a random-access source without an end."""

    def __init__(self, start: int):
        self.start = start

    def __len__(self) -> int:
        return 1 << 40

    def __getitem__(self, index: int) -> int:
        return self.start + int(index)

    def __repr__(self) -> str:
        return f"_StepsFrom({self.start})"


def assemble(
    examples: Examples,
    rows: Sequence[int] | np.ndarray,
    shape: Sequence[int] | np.ndarray,
    batch_size: int,
    *,
    targets: bool = True,
) -> dict[str, np.ndarray]:
    """A batch of `batch_size` rows of the given shape; rows past the examples are all padding, with index -1."""
    index = np.full(batch_size, -1, np.int32)
    index[: len(rows)] = rows
    return {"index": index, **examples.arrays(rows, shape, batch_size, targets=targets)}


def decoding_batches(
    examples: Examples, batch_size: int, round_to: int = 8
) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """(rows, batch) over all examples without their targets, those of like length together, longest first.

    The first of the lengths counts, rounded up to a multiple of `round_to`, so that few shapes are compiled.
    """
    lengths = examples.lengths()
    order, most = np.argsort(-lengths[:, 0], kind="stable"), lengths.max(axis=0, initial=0)
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        first = -(-int(lengths[rows, 0].max()) // round_to) * round_to
        yield rows, assemble(examples, rows, [first, *most[1:].tolist()], batch_size, targets=False)
