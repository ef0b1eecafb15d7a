"""Canonical correlation analysis of two or more views (visual dialogue paper, section 2.2).

A v = lambda B v, with A the joint covariance of all views, its diagonal blocks included, and B its diagonal blocks
alone (Kettenring, 1971; Bach and Jordan, 2002). The k largest eigenvalues are kept: for two views lambda = 1 + rho,
rho the canonical correlations.

Dimension legend
    m  training rows      n  rows to project      N  sum of the views' sizes      k  components
"""

import dataclasses
import io
import os
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence

import numpy as np
import scipy.linalg
from jaxtyping import Float, Float32, Int, Real

from vatex_jax.cca.covariance import Moments, Rows, moments, pair_moments
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.files import write_bytes_whole

NORMALIZATIONS = ("unit", "B")
_PIECE = 16_384  # items in double precision at once: 40 MB at 300 columns

# What reading a damaged .npz raises, by where it is damaged.
_DAMAGE = (OSError, EOFError, ValueError, TypeError, KeyError, AttributeError, IndexError, RuntimeError,
           zipfile.BadZipFile, zlib.error)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class CCA:
    """A fitted model.

    Attributes:
        eigenvalues: float64 [k], descending, from 0 to the number of views.
        weights: a float64 [n_i, k] for each view, W_i.
        means: a float64 [n_i] for each view, of the training rows.
    """

    eigenvalues: Float[np.ndarray, "k"]
    weights: tuple[np.ndarray, ...]
    means: tuple[np.ndarray, ...]

    @property
    def k(self) -> int:
        """Number of components."""
        return len(self.eigenvalues)

    def project(self, view: int, x: Real[np.ndarray, "n d"], p: float = 1.0) -> Float[np.ndarray, "n k"]:
        """phi(x; W) = D_lambda^p W^T x, each row an item; not centred (section 2.2).

        Args:
            view: position of the view in `views`, from 0.
            x: items of that view.
            p: power of the eigenvalues, 0 or more.

        Raises:
            ConfigError: no such view, or p is negative.
            DataError: x has another number of columns than the view.
        """
        return _finite(self._checked(view, x, p) @ self._scaled(view, p), p)

    def embed(self, view: int, x: Real[np.ndarray, "n d"], p: float = 1.0) -> Float[np.ndarray, "n k"]:
        """psi(x) / |psi(x)|, psi the projection less the training mean's; zero where psi is.

        Products of these are correlations. Arguments and errors as in `project`.
        """
        return self._unit(view, x, p)

    def directions(self, view: int, x: Real[np.ndarray, "n d"], p: float = 1.0) -> Float32[np.ndarray, "n k"]:
        """`embed` in single precision, some items at a time: of all of VisDial's answers the double one takes 3 GB."""
        found = np.empty((len(x), self.k), np.float32)
        for first in range(0, len(x), _PIECE):
            found[first : first + _PIECE] = self._unit(view, x[first : first + _PIECE], p, first)
        return found

    def correlate(
        self, view_a: int, a: Real[np.ndarray, "n d_a"], view_b: int, b: Real[np.ndarray, "m d_b"], p: float = 1.0
    ) -> Float[np.ndarray, "n m"]:
        """corr(a, b), the cosine of the centred projections (section 2.2), from -1 to 1.

        An item exactly on its view's mean has no direction: its correlation with everything is 0. Arguments and errors
        as in `project`; the two views may be the same.
        """
        return np.clip(self.embed(view_a, a, p) @ self.embed(view_b, b, p).T, -1.0, 1.0)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model to a .npz, whole or not at all."""
        arrays = {"eigenvalues": self.eigenvalues}
        for view, (weights, mean) in enumerate(zip(self.weights, self.means, strict=True)):
            arrays |= {f"weights_{view}": weights, f"mean_{view}": mean}
        file = io.BytesIO()
        np.savez(file, **arrays)
        write_bytes_whole(path, file.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike) -> "CCA":
        """Reads what `save` wrote.

        Raises:
            DataError: the file cannot be read or holds something else.
        """
        try:
            with np.load(path, allow_pickle=False) as arrays:
                views = sum(name.startswith("weights_") for name in arrays.files)
                found = cls(
                    arrays["eigenvalues"],
                    tuple(arrays[f"weights_{view}"] for view in range(views)),
                    tuple(arrays[f"mean_{view}"] for view in range(views)),
                )
        except _DAMAGE as error:
            raise DataError(f"{path}: cannot be read as a CCA model ({error!r}). Fit it again.") from error
        arrays = (found.eigenvalues, *found.weights, *found.means)
        if views < 2 or any(array.dtype != np.float64 or not np.isfinite(array).all() for array in arrays):
            raise DataError(f"{path}: its arrays do not make a CCA model. Fit it again.")
        sizes = [(mean.shape, weights.shape) for mean, weights in zip(found.means, found.weights, strict=True)]
        k = found.eigenvalues.shape
        if len(k) != 1 or any(len(mean) != 1 or weights != mean + k for mean, weights in sizes):
            raise DataError(f"{path}: its arrays do not make a CCA model. Fit it again.")
        return found

    def _unit(self, view: int, x: np.ndarray, p: float, first: int = 0) -> np.ndarray:
        centred = (self._checked(view, x, p) - self.means[view]) @ self._scaled(view, p)
        return unit_rows(_finite(centred, p, first))

    def _scaled(self, view: int, p: float) -> np.ndarray:
        return self.weights[view] * self.eigenvalues**p

    def _checked(self, view: int, x: np.ndarray, p: float) -> np.ndarray:
        if not 0 <= view < len(self.weights):
            raise ConfigError(f"view {view}: this model has {len(self.weights)} views, counted from 0.")
        if not p >= 0:
            raise ConfigError(f"p is {p}: the power of the eigenvalues must be 0 or more.")
        x = np.asarray(x, np.float64)
        if x.ndim != 2 or x.shape[1] != len(self.means[view]):
            raise DataError(
                f"items of view {view} must be rows of {len(self.means[view])} numbers, not an array {x.shape}."
            )
        return x


def _finite(projections: np.ndarray, p: float, first: int = 0) -> np.ndarray:
    """Overflow would look like an item on the mean, correlated with nothing; `first` is the number of the first."""
    if not np.isfinite(projections).all():
        row = int(np.argmin(np.isfinite(projections).all(axis=1)))
        raise DataError(
            f"CCA: the projection of item {first + row} is not finite with p = {p:g}. Lower p, or mend the item."
        )
    return projections


def unit_rows(x: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """Rows of length 1; a zero row stays zero."""
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return np.divide(x, lengths, out=np.zeros_like(x), where=lengths > 0)


def fit(
    views: Sequence[Real[np.ndarray, "m _"] | Rows],
    k: int,
    *,
    weights: Real[np.ndarray, "m"] | None = None,
    regularization: float = 1e-12,
    normalization: str = "unit",
) -> CCA:
    """Fits CCA to aligned rows.

    Args:
        views: two or more arrays [m, n_i], row r of each an observation of one thing; or `Rows` of a table, which are
            gathered some at a time.
        k: components; more than the smallest view has columns is capped, with a warning.
        weights: how often each row counts; a whole number w is the row repeated w times. None: once each.
        regularization: added to the diagonals of A and B; relative to nothing, so of the unit of the covariances.
        normalization: of each stacked eigenvector v: `unit`, |v| = 1, or `B`, v'Bv = 1.

    Raises:
        ConfigError: k, regularization or normalization cannot be meant.
        DataError: fewer than two views, views of different lengths, numbers that are not finite, or views whose
            columns the rows cannot tell apart (too few rows, constant or dependent columns).
    """
    _check_settings(k, regularization, normalization)
    return _solve(moments(views, weights), k, regularization, normalization)


def fit_pairs(
    a: Real[np.ndarray, "n_a d_a"],
    b: Real[np.ndarray, "n_b d_b"],
    rows: Int[np.ndarray, "pairs"],
    columns: Int[np.ndarray, "pairs"],
    counts: Real[np.ndarray, "pairs"],
    k: int,
    *,
    regularization: float = 1e-12,
    normalization: str = "unit",
) -> CCA:
    """Fits two views given as distinct items and a list of pairs, which is never expanded.

    Equals `fit([a[rows], b[columns]], k, weights=counts)`: means weighted by the counts, divisor sum(counts) - 1.

    Args:
        a, b: the distinct items.
        rows, columns: items of `a` and `b` that make a pair; a pair may be listed more than once.
        counts: how often each pair counts.
        k, regularization, normalization: as in `fit`.

    Raises:
        ConfigError, DataError: as in `fit`, and for rows or columns outside of the items.
    """
    _check_settings(k, regularization, normalization)
    return _solve(pair_moments(a, b, rows, columns, counts), k, regularization, normalization)


def _check_settings(k: int, regularization: float, normalization: str) -> None:
    if k < 1:
        raise ConfigError(f"k is {k}: CCA needs one component or more.")
    if not 0 <= regularization < np.inf:
        raise ConfigError(f"regularization is {regularization}: it must be 0 or more, and finite.")
    if normalization not in NORMALIZATIONS:
        raise ConfigError(f"normalization is {normalization!r}: there are {', '.join(NORMALIZATIONS)}.")


def _solve(data: Moments, k: int, regularization: float, normalization: str) -> CCA:
    sizes = [len(mean) for mean in data.means]
    if k > min(sizes):
        warnings.warn(f"CCA: k is {k}, but a view has {min(sizes)} columns: k is {min(sizes)} now.", stacklevel=3)
        k = min(sizes)
    if data.rows <= k:
        raise DataError(f"CCA: {data.rows} rows cannot give {k} components. Use more rows than k, or lower k.")
    joint = data.covariance + regularization * np.eye(sum(sizes))
    blocks = np.zeros_like(joint)
    for view, place in enumerate(_places(sizes)):
        blocks[place, place] = joint[place, place]
        _check_rank(data.covariance[place, place], regularization, view, data.rows)
    last = sum(sizes) - 1
    values, vectors = scipy.linalg.eigh(joint, blocks, subset_by_index=[last - k + 1, last])
    values, vectors = values[::-1], vectors[:, ::-1]
    if normalization == "unit":
        vectors = vectors / np.linalg.norm(vectors, axis=0)
    # An eigenvector's sign is free; the same data give the same bits with the largest entry above 0.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(k)])
    # A is positive semi-definite: what lies below 0 is rounding, and no power of it is defined.
    return CCA(np.maximum(values, 0.0), tuple(vectors[place] for place in _places(sizes)), data.means)


def _places(sizes: Sequence[int]) -> Iterator[slice]:
    start = 0
    for size in sizes:
        yield slice(start, start + size)
        start += size


def _check_rank(block: np.ndarray, regularization: float, view: int, rows: int) -> None:
    """A view whose covariance is singular has components in which training rows do not differ, and others may."""
    size = len(block)
    values = np.linalg.eigvalsh(block)
    largest = max(float(values[-1]), 0.0)
    rounding = size * np.finfo(np.float64).eps * largest
    constant = np.flatnonzero(np.diag(block) <= rounding)
    if len(constant) == size:
        raise DataError(f"CCA: view {view}: all its rows are the same. Give it rows that differ.")
    enough = np.sqrt(np.finfo(np.float64).eps) * largest
    if values[0] > rounding or regularization >= enough:
        return
    told = f"a regularization of {1.05 * enough:.1e} or more"  # rounded up: what is told must suffice
    if len(constant):
        raise DataError(
            f"CCA: view {view}: column {constant[0]} is constant ({len(constant)} of {size} are). Leave such columns "
            f"out, or set {told}."
        )
    raise DataError(
        f"CCA: view {view}: its {rows} rows span {int((values > rounding).sum())} of {size} columns. Give more rows, "
        f"fewer columns (vectors of fewer dimensions), or {told}."
    )
