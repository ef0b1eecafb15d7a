"""Ward's agglomerative clustering of numbers, many rows at once: `cluster_of` (paper, appendix D, "Agglomerative").

Ward's method starts with a cluster a value and merges the two whose union adds least to the sum of squares within
clusters, |a| |b| / (|a| + |b|) (mean_a - mean_b)^2, again and again. Three facts make a row cheap:

- Of numbers, the two always lie side by side in sorted order. So a row is a list of boundaries between its sorted
  values, and a merge takes one of them away.
- Two clusters that are each other's nearest are merged whatever happens elsewhere, so all such pairs of all rows are
  merged in one step: some ten steps instead of one a candidate.
- Costs of later merges are no smaller. So k clusters are those between the k - 1 boundaries that were dearest to take
  away, and which pair was merged when does not matter.

Equal values are one cluster from the start, which is what merging them at no cost comes to.

Where two costs that compete are equal, or differ by rounding, these facts do not say which merge comes first. Such rows
(about two of ten thousand rows of single-precision correlations) are handed to SciPy's `ward`, which scikit-learn's
AgglomerativeClustering calls too, and get its choice.

Dimension legend
    r  rows      m  values a row      K  clusters of all rows, row after row, those of a row in ascending order
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float64, Int
from scipy.cluster import hierarchy

_RELATIVE = 1e-9
_ABSOLUTE = 1e-13  # times the row's largest value: what rounding does to means


def cluster_of(
    values: Float64[np.ndarray, "r m"], anchor: Int[np.ndarray, "r"], clusters: int
) -> Bool[np.ndarray, "r m"]:
    """Which values share the anchor's cluster.

    Args:
        values: finite.
        anchor: place of a value in each row.
        clusters: how many a row is to have, 1 or more. A row with fewer distinct values has one for each of them: equal
            values are never parted. (SciPy's tree would part them in the order in which they stand.)
    """
    ascending = np.sort(values, axis=1)
    heights, undecided = _heights(ascending)
    kept, close = _dearest(heights, clusters)
    members = _between_boundaries(values, ascending, kept, values[np.arange(len(values)), anchor])
    distinct = (heights[:, 1:] > 0).sum(axis=1) + 1
    tied = np.flatnonzero((undecided | close) & (distinct > clusters) & (clusters > 1))
    if len(tied):
        members[tied] = _scipy_cluster_of(values[tied], anchor[tied], clusters)
    return members


@dataclasses.dataclass
class _Clusters:
    """The clusters of all rows that still have something to merge.

    Attributes:
        place: of the smallest member, among the sorted values of all rows, one row after the other.
        size, mean: members and their mean.
        last: whether it is its row's last.
    """

    place: np.ndarray
    size: np.ndarray
    mean: np.ndarray
    last: np.ndarray

    def costs(self) -> Float64[np.ndarray, "K_and_1"]:
        """Square root of the cost of merging each with the next; infinite at a row's end. The first is infinite too."""
        a, b = self.size[:-1], self.size[1:]
        found = np.full(len(self.size) + 1, np.inf)
        found[1:-1] = np.sqrt(a * b / (a + b)) * (self.mean[1:] - self.mean[:-1])
        found[1:][self.last] = np.inf
        return found

    def merge(self, first: Int[np.ndarray, "p"]) -> None:
        """Merges each of these with the one after it, which is left to be dropped."""
        second = first + 1
        a, b = self.size[first], self.size[second]
        self.mean[first] += b / (a + b) * (self.mean[second] - self.mean[first])
        self.size[first] += b
        self.last[first] = self.last[second]

    def keep(self, wanted: Bool[np.ndarray, "K"]) -> None:
        places = np.flatnonzero(wanted)
        for field in ("place", "size", "mean", "last"):
            setattr(self, field, getattr(self, field).take(places))


def _one_a_value(ascending: Float64[np.ndarray, "r m"]) -> _Clusters:
    """A cluster a distinct value."""
    first = np.ones(ascending.shape, bool)
    first[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    place = np.flatnonzero(first)
    last = np.zeros(len(place), bool)
    last[first.sum(axis=1).cumsum() - 1] = True
    size = np.diff(place, append=first.size).astype(np.float64)
    return _Clusters(place, size, ascending.ravel()[place], last)


def _heights(ascending: Float64[np.ndarray, "r m"]) -> tuple[Float64[np.ndarray, "r m"], Bool[np.ndarray, "r"]]:
    """(square root of the cost of taking away the boundary before each value, whether a tie leaves a row undecided).

    The boundary before the first value is never taken away; that between equal values costs nothing.
    """
    r, m = ascending.shape
    heights = np.zeros((r, m))
    heights[:, 0] = np.inf
    undecided = np.zeros(r, bool)
    rounding = _ABSOLUTE * np.abs(ascending[:, [0, -1]]).max(axis=1)
    clusters = _one_a_value(ascending)
    while len(clusters.place):
        costs = clusters.costs()
        before, cost, after = costs[:-2], costs[1:-1], costs[2:]  # K - 1: the last of all ends its row
        first = np.flatnonzero((cost < before) & (cost <= after))
        paid = cost[first]
        heights.ravel()[clusters.place[first + 1]] = paid
        row = clusters.place[first] // m
        rival = np.minimum(before[first], after[first]) - paid
        undecided[row[rival <= _RELATIVE * paid + rounding[row]]] = True
        clusters.merge(first)
        wanted = np.isfinite(costs[:-1]) | np.isfinite(costs[1:])  # a row's only cluster has nothing to merge with
        wanted[first + 1] = False
        clusters.keep(wanted)
    return heights, undecided


def _dearest(
    heights: Float64[np.ndarray, "r m"], clusters: int
) -> tuple[Bool[np.ndarray, "r m"], Bool[np.ndarray, "r"]]:
    """(boundaries of so many clusters, whether the dearest taken away costs as much as the cheapest that stays)."""
    r, m = heights.shape
    if clusters >= m:
        return heights > 0, np.zeros(r, bool)
    # Place 0 counts as one: the boundary before the first value, which alone is infinite.
    ordered = np.partition(heights, (m - clusters - 1, m - clusters), axis=1)
    stays, goes = ordered[:, m - clusters], ordered[:, m - clusters - 1]
    return heights >= stays[:, None], stays - goes <= _RELATIVE * stays


def _between_boundaries(
    values: Float64[np.ndarray, "r m"],
    ascending: Float64[np.ndarray, "r m"],
    kept: Bool[np.ndarray, "r m"],
    wanted: Float64[np.ndarray, "r"],
) -> Bool[np.ndarray, "r m"]:
    """Which values lie between the same boundaries as the wanted one."""
    below = np.where(kept & (ascending <= wanted[:, None]), ascending, -np.inf).max(axis=1)
    above = np.where(kept & (ascending > wanted[:, None]), ascending, np.inf).min(axis=1)
    return (values >= below[:, None]) & (values < above[:, None])


def _scipy_cluster_of(
    values: Float64[np.ndarray, "r m"], anchor: Int[np.ndarray, "r"], clusters: int
) -> Bool[np.ndarray, "r m"]:
    """The same by SciPy's tree, a call a row; the trees are cut together."""
    r, m = values.shape
    trees = np.stack([hierarchy.ward(row[:, None])[:, :2] for row in values]).astype(np.int64)
    label = np.tile(np.arange(m), (r, 1))
    for step in range(m - clusters):
        for side in (0, 1):
            label[label == trees[:, step, side, None]] = m + step
    return label == label[np.arange(r), anchor][:, None]
