"""Means and joint covariance of views, from aligned rows or from distinct items and counts of their pairs.

All sums are float64 over centred rows, a piece of the rows at a time.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse
from jaxtyping import Float, Int, Real

from vatex_jax.errors import DataError

_PIECE = 16_384  # rows in float64 at once: 40 MB at 300 columns


@dataclasses.dataclass(frozen=True)
class Moments:
    """What CCA needs of its data.

    Attributes:
        means: a float64 [n_i] for each view.
        covariance: of the views side by side; divisor the sum of the weights less 1.
        rows: observations that count at all.
    """

    means: tuple[np.ndarray, ...]
    covariance: Float[np.ndarray, "N N"]
    rows: int


@dataclasses.dataclass(frozen=True)
class Rows:
    """The rows `ids` of a table of distinct items, without making them: `table[ids]`."""

    table: Real[np.ndarray, "items n"]
    ids: Int[np.ndarray, "m"]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, piece: slice) -> Real[np.ndarray, "rows n"]:
        return self.table[self.ids[piece]]


def moments(views: Sequence[Real[np.ndarray, "m _"] | Rows], weights: Real[np.ndarray, "m"] | None = None) -> Moments:
    """Moments of aligned rows, weighted.

    Raises:
        DataError: fewer than two views, different lengths, numbers that are not finite, weights that are negative or
            sum to 1 or less.
    """
    if len(views) < 2:
        raise DataError(f"CCA needs two or more views, not {len(views)}.")
    views = [_checked(view, f"view {number}") for number, view in enumerate(views)]
    lengths = [len(view) for view in views]
    if len(set(lengths)) > 1:
        raise DataError(f"CCA: the views have {', '.join(map(str, lengths))} rows: they must be aligned.")
    weights = np.ones(lengths[0]) if weights is None else _checked_counts(weights, lengths[0], "weights")
    total = _total(weights)
    means = tuple(_mean(view, weights, total) for view in views)
    size = sum(len(mean) for mean in means)
    scatter = np.zeros((size, size))
    for piece in _pieces(lengths[0]):
        rows = np.concatenate([view[piece] - mean for view, mean in zip(views, means, strict=True)], axis=1)
        rows *= np.sqrt(weights[piece])[:, None]
        scatter += rows.T @ rows
    return Moments(means, _symmetric(scatter) / (total - 1.0), int(np.count_nonzero(weights)))


def pair_moments(
    a: Real[np.ndarray, "n_a d_a"],
    b: Real[np.ndarray, "n_b d_b"],
    rows: Int[np.ndarray, "pairs"],
    columns: Int[np.ndarray, "pairs"],
    counts: Real[np.ndarray, "pairs"],
) -> Moments:
    """Moments of `[a[rows], b[columns]]` weighted by `counts`: sums over distinct items, not over pairs.

    Raises:
        DataError: lists of different lengths, an index outside of the items, and as in `moments`.
    """
    a, b = _checked(a, "a"), _checked(b, "b")
    if not len(rows) == len(columns) == len(counts):
        raise DataError(f"CCA: {len(rows)} rows, {len(columns)} columns and {len(counts)} counts are not pairs.")
    _check_ids(rows, a, "rows")
    _check_ids(columns, b, "columns")
    counts = _checked_counts(counts, len(rows), "counts")
    total = _total(counts)
    table = scipy.sparse.coo_array((counts, (rows, columns)), shape=(len(a), len(b))).tocsr()
    weights_a, weights_b = np.asarray(table.sum(axis=1)).ravel(), np.asarray(table.sum(axis=0)).ravel()
    mean_a, mean_b = _mean(a, weights_a, total), _mean(b, weights_b, total)
    size_a = len(mean_a)
    scatter = np.zeros((size_a + len(mean_b),) * 2)
    scatter[size_a:, size_a:] = _scatter(b, mean_b, weights_b)
    scatter[:size_a, :size_a] = _scatter(a, mean_a, weights_a)
    scatter[:size_a, size_a:] = _cross(a, mean_a, b, mean_b, table)
    scatter[size_a:, :size_a] = scatter[:size_a, size_a:].T
    return Moments((mean_a, mean_b), _symmetric(scatter) / (total - 1.0), int(table.count_nonzero()))


def _scatter(items: np.ndarray, mean: np.ndarray, weights: np.ndarray) -> np.ndarray:
    found = np.zeros((len(mean), len(mean)))
    for piece in _pieces(len(items)):
        rows = (items[piece] - mean) * np.sqrt(weights[piece])[:, None]
        found += rows.T @ rows
    return found


def _cross(
    a: np.ndarray, mean_a: np.ndarray, b: np.ndarray, mean_b: np.ndarray, table: scipy.sparse.csr_array
) -> np.ndarray:
    centred = b - mean_b
    found = np.zeros((len(mean_a), len(mean_b)))
    for piece in _pieces(len(a)):
        found += (a[piece] - mean_a).T @ (table[piece] @ centred)
    return found


def _mean(items: np.ndarray | Rows, weights: np.ndarray, total: float) -> np.ndarray:
    return sum((weights[piece] @ items[piece].astype(np.float64) for piece in _pieces(len(items))), 0.0) / total


def _pieces(count: int) -> Iterator[slice]:
    return (slice(start, min(start + _PIECE, count)) for start in range(0, count, _PIECE))


def _symmetric(scatter: np.ndarray) -> np.ndarray:
    return (scatter + scatter.T) / 2.0


def _total(weights: np.ndarray) -> float:
    total = float(weights.sum())
    if total <= 1.0:
        raise DataError(f"CCA: the rows count {total:g} together: the covariance, with divisor sum - 1, needs above 1.")
    return total


def _checked(items: np.ndarray | Rows, what: str) -> np.ndarray | Rows:
    """The items as floats: float32 stays, so that a large table is not copied."""
    if isinstance(items, Rows):
        _check_ids(items.ids, items.table, f"{what}: its ids")
        return Rows(_checked(items.table, f"{what}, table"), items.ids)
    items = np.asarray(items)
    if items.ndim != 2 or items.shape[1] == 0 or items.dtype.kind not in "fiub":
        raise DataError(f"CCA: {what} must be an array of rows of numbers, not {items.dtype} {items.shape}.")
    if items.dtype.kind != "f":
        items = items.astype(np.float64)
    for piece in _pieces(len(items)):
        finite = np.isfinite(items[piece])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise DataError(
                f"CCA: {what}: row {piece.start + row}, column {column} is {items[piece][row, column]}. Remove the "
                "row or mend what made it."
            )
    return items


def _check_ids(ids: np.ndarray, items: np.ndarray, what: str) -> None:
    if len(ids) and not 0 <= ids.min() <= ids.max() < len(items):
        raise DataError(f"CCA: {what} go from {ids.min()} to {ids.max()}, but there are {len(items)} items, from 0.")


def _checked_counts(counts: np.ndarray, length: int, what: str) -> np.ndarray:
    counts = np.asarray(counts, np.float64)
    if counts.shape != (length,):
        raise DataError(f"CCA: {what} must be {length} numbers, not an array {counts.shape}.")
    if not (np.isfinite(counts) & (counts >= 0)).all():
        raise DataError(f"CCA: {what} must be finite and not negative.")
    return counts
