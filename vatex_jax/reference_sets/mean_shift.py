"""Mean shift of numbers, many rows at once: `cluster_of` (paper, appendix D, "Meanshift"; Comaniciu and Meer, 2002).

From each value of a row a mean moves to the mean of the values within the bandwidth of it, until it rests; where means
came to rest and how many values were within the bandwidth make the clusters. The numbers are those of scikit-learn's
MeanShift as it comes: bandwidth estimated at quantile 0.3, a flat kernel, every value a start, at most 300 steps more
than one, rest at 0.001 of the bandwidth.

The values within the bandwidth of a mean are a stretch of the sorted row, so its two ends are all that is looked for,
by bisection, and its mean is a difference of two running sums. Means that meet go on as one: from a hundred starts, a
few remain after some steps.

Dimension legend
    r  rows      m  values a row      M  means of all rows that still move, row after row, ascending within a row
    E  places of rest, at most, of a row
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float64, Int

_QUANTILE = 0.3
_REST = 1e-3  # of the bandwidth
_STEPS = 301


def cluster_of(values: Float64[np.ndarray, "r m"], anchor: Int[np.ndarray, "r"]) -> Bool[np.ndarray, "r m"]:
    """Which values share the anchor's cluster.

    Where the bandwidth is 0, because most values have their nearest 0.3 m equal to them (in rows of fewer than 7 values
    that counts a value itself alone), each distinct value is a cluster. So it is by the definition; scikit-learn finds
    the same or raises, as the means of equal numbers happen to round.

    Args:
        values: finite.
        anchor: place of a value in each row.
    """
    rows = np.arange(len(values))
    members = values == values[rows, anchor][:, None]
    ascending = np.sort(values, axis=1)
    width = bandwidth(ascending)
    wide = np.flatnonzero(width > 0)
    if len(wide):
        label = _labels(values[wide], ascending[wide], width[wide])
        members[wide] = label == label[np.arange(len(wide)), anchor[wide]][:, None]
    return members


def bandwidth(ascending: Float64[np.ndarray, "r m"]) -> Float64[np.ndarray, "r"]:
    """Mean distance from a value to the int(0.3 m)-th nearest, itself the first, in rows sorted in ascending order.

    The k nearest of a value are k neighbours in the row, of which it is one: the farthest is at one of their ends.
    """
    m = ascending.shape[1]
    k = max(1, int(m * _QUANTILE))
    columns = np.ascontiguousarray(ascending.T)
    farthest = np.full(columns.shape, np.inf)
    stretches = m - k + 1
    low, high = columns[:stretches], columns[k - 1 :]
    distance, other = np.empty_like(low), np.empty_like(low)
    for place in range(k):
        of = slice(place, place + stretches)
        np.subtract(columns[of], low, out=distance)
        np.subtract(high, columns[of], out=other)
        np.maximum(distance, other, out=distance)
        np.minimum(farthest[of], distance, out=farthest[of])
    return farthest.mean(axis=0)


def _labels(
    values: Float64[np.ndarray, "r m"], ascending: Float64[np.ndarray, "r m"], width: Float64[np.ndarray, "r"]
) -> Int[np.ndarray, "r m"]:
    """The number of each value's cluster: that of the nearest centre, of two as near the one with more values."""
    nearest = np.full(values.shape, np.inf)
    label = np.zeros(values.shape, np.int64)
    for number, (row, centre) in enumerate(_centres(*_rests(ascending, width), width)):
        distance = np.abs(values[row] - centre[:, None])
        closer = distance < nearest[row]
        nearest[row] = np.where(closer, distance, nearest[row])
        label[row] = np.where(closer, number, label[row])
    return label


def _centres(
    place: Float64[np.ndarray, "r E"], count: Int[np.ndarray, "r E"], width: Float64[np.ndarray, "r"]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """A centre of each row that has another, the rows and the centres: those with most values first.

    A place within the bandwidth of a centre that has more values, or as many and is larger, is none.
    """
    row = np.arange(len(place))
    while True:
        most = count.max(axis=1)
        left = most > 0
        if not left.all():
            row, place, count, width, most = row[left], place[left], count[left], width[left], most[left]
        if not len(row):
            return
        centre = np.where(count == most[:, None], place, -np.inf).max(axis=1)
        yield row, centre
        count = np.where(np.abs(place - centre[:, None]) <= width[:, None], 0, count)


def _rests(
    ascending: Float64[np.ndarray, "r m"], width: Float64[np.ndarray, "r"]
) -> tuple[Float64[np.ndarray, "r E"], Int[np.ndarray, "r E"]]:
    """Where means come to rest, and of how many values they are then the mean: 0 where a row has fewer places."""
    r, m = ascending.shape
    sums = np.zeros((r, m + 1))
    np.cumsum(ascending, axis=1, out=sums[:, 1:])
    padded = np.full((r, 1 << m.bit_length()), np.inf)
    padded[:, :m] = ascending
    row, mean = np.repeat(np.arange(r), m), ascending.ravel()
    found = []
    for step in range(_STEPS):
        row, mean = _distinct(row, mean)
        reach = width.take(row)
        first = _places(padded, row, mean - reach, np.less)
        end = _places(padded, row, mean + reach, np.less_equal)
        end = np.maximum(end, first + 1)  # a mean between two values as far as the bandwidth may lose both to rounding
        count = end - first
        moved = _means(ascending, sums, row, first, end)
        rests = (np.abs(moved - mean) <= _REST * reach) | (step == _STEPS - 1)
        found.append((row[rests], moved[rests], count[rests]))
        row, mean = row[~rests], moved[~rests]
        if not len(row):
            break
    return _by_row(r, *(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _means(
    ascending: Float64[np.ndarray, "r m"],
    sums: Float64[np.ndarray, "r m+1"],
    row: Int[np.ndarray, "M"],
    first: Int[np.ndarray, "M"],
    end: Int[np.ndarray, "M"],
) -> Float64[np.ndarray, "M"]:
    """Mean of each stretch of a row; never outside of what it is the mean of, however the sums round."""
    m = ascending.shape[1]
    base = row * (m + 1)
    mean = (sums.ravel().take(base + end) - sums.ravel().take(base + first)) / (end - first)
    base = row * m
    return np.clip(mean, ascending.ravel().take(base + first), ascending.ravel().take(base + end - 1), out=mean)


def _distinct(row: Int[np.ndarray, "M"], mean: Float64[np.ndarray, "M"]) -> tuple[np.ndarray, np.ndarray]:
    """Means that have met, once: what is within their bandwidth is the same, and so is all that follows."""
    new = np.ones(len(row), bool)
    new[1:] = (mean[1:] != mean[:-1]) | (row[1:] != row[:-1])
    kept = np.flatnonzero(new)
    return row.take(kept), mean.take(kept)


def _places(
    padded: Float64[np.ndarray, "r p"], row: Int[np.ndarray, "M"], bound: Float64[np.ndarray, "M"], below: np.ufunc
) -> Int[np.ndarray, "M"]:
    """How many values of a row are below the bound, by bisection; rows are filled up with infinity to 2^j values."""
    size = padded.shape[1]
    base = row * size
    place = base.copy()
    step = size // 2
    while step:
        place += step * below(padded.ravel().take(place + (step - 1)), bound)
        step //= 2
    return place - base


def _by_row(
    r: int, row: Int[np.ndarray, "f"], place: Float64[np.ndarray, "f"], count: Int[np.ndarray, "f"]
) -> tuple[Float64[np.ndarray, "r E"], Int[np.ndarray, "r E"]]:
    """A line a row."""
    order = np.argsort(row, kind="stable")
    row = row[order]
    number = np.arange(len(row)) - np.searchsorted(row, row)
    shape = (r, int(number.max(initial=0)) + 1)
    places, counts = np.zeros(shape), np.zeros(shape, np.int64)
    places[row, number], counts[row, number] = place[order], count[order]
    return places, counts
