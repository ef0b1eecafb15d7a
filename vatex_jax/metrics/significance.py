"""How sure a score or a difference is: bootstrap over sentences, t-intervals over seeds.

The two answer different questions. The bootstrap holds the trained models fixed and asks what other test sentences
would have given; the t-interval holds the test set fixed and asks what other seeds would have given.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Float, Real
from scipy.special import stdtr, stdtrit

from vatex_jax.errors import DataError
from vatex_jax.metrics.bleu import bleu_from_statistics

Metric = Callable[[np.ndarray], np.ndarray]

_ROUNDING = 1e-12
_CHUNK = 4_000_000  # sentence draws held at once: 32 MB of indices


def bootstrap_interval(
    statistics: Real[np.ndarray, "n k"] | Real[np.ndarray, "seeds n k"],
    metric: Metric = bleu_from_statistics,
    samples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[float, float]:
    """Returns the percentile bootstrap interval of a corpus metric.

    Args:
      statistics: counts of each sentence; with a leading axis of seeds, a sentence is drawn with all its seeds, and
        the metric is that of all seeds' outputs together.
      metric: from summed statistics [samples, k] to scores [samples].
      samples: resampled corpora, each of n sentences drawn with replacement.
      seed: of NumPy's generator.
      level: share of the resampled scores inside the interval.

    Raises:
      DataError: where there is no sentence.
    """
    summed = _over_seeds(statistics)
    scores = np.concatenate([metric(counts @ summed) for counts in _draws(len(summed), samples, seed)])
    return _percentiles(scores, level)


def paired_bootstrap(
    a: Real[np.ndarray, "n_a k"] | Real[np.ndarray, "seeds_a n_a k"],
    b: Real[np.ndarray, "n_b k"] | Real[np.ndarray, "seeds_b n_b k"],
    metric: Metric = bleu_from_statistics,
    samples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, float]:
    """Compares two systems on the same sentences (paired bootstrap resampling; Koehn, 2004).

    Both systems are scored on each resampled corpus. With a leading axis of seeds a sentence is drawn with all the
    seeds of both systems, whose outputs are scored together: the seeds are taken as given, not resampled (`paired_t`
    speaks about seeds).

    Args:
      a, b: counts of each sentence, the same n sentences in the same order.
      metric, samples, seed, level: as in `bootstrap_interval`.

    Returns:
      `difference`: metric(a) - metric(b) on the whole corpus;
      `low`, `high`: the percentile interval of the resampled differences d_1..d_samples;
      `p`: two-sided, min(1, 2 (1 + min(#{d <= 0}, #{d >= 0})) / (1 + samples)), so 1 for equal systems and never 0.

    Raises:
      DataError: where there is no sentence, or the numbers of sentences differ.
    """
    summed_a, summed_b = _over_seeds(a), _over_seeds(b)
    if summed_a.shape != summed_b.shape:
        raise DataError(
            f"paired bootstrap: the systems must have translated the same sentences, but one has {len(summed_a)} "
            f"and the other {len(summed_b)}"
        )
    pairs = [(metric(counts @ summed_a), metric(counts @ summed_b)) for counts in _draws(len(summed_a), samples, seed)]
    differences = np.concatenate([of_a - of_b for of_a, of_b in pairs])
    # Equal scores that were summed in another order differ by rounding, which must not decide p.
    size = np.concatenate([np.maximum(1.0, np.maximum(np.abs(of_a), np.abs(of_b))) for of_a, of_b in pairs])
    differences[np.abs(differences) <= _ROUNDING * size] = 0.0
    low, high = _percentiles(differences, level)
    tail = min(int(np.sum(differences <= 0)), int(np.sum(differences >= 0)))
    return {
        "difference": float(metric(summed_a.sum(axis=0)) - metric(summed_b.sum(axis=0))),
        "low": low,
        "high": high,
        "p": min(1.0, 2 * (1 + tail) / (1 + samples)),
    }


def t_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Returns the mean over seeds and half the width of its Student t interval: t_{n-1} s / sqrt(n).

    The half width is NaN for a single value, which tells nothing about other seeds.

    Raises:
      DataError: where there is no value.
    """
    if len(values) == 0:
        raise DataError("a mean over seeds needs at least one value")
    mean = float(np.mean(values))
    if len(values) == 1:
        return mean, math.nan
    return mean, float(stdtrit(len(values) - 1, (1 + level) / 2) * np.std(values, ddof=1) / math.sqrt(len(values)))


def paired_t(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> dict[str, float]:
    """Compares two systems' scores seed by seed (a[i] and b[i] share a seed).

    Returns:
      `difference` (mean of a - b), its t interval `low`, `high`, and the two-sided `p` of the paired t-test; the last
      three are NaN for one seed.

    Raises:
      DataError: where the numbers of seeds differ or are 0.
    """
    if len(a) != len(b):
        raise DataError(f"a paired t-test needs the same seeds on both sides, not {len(a)} and {len(b)}")
    differences = np.subtract(a, b)
    mean, half = t_interval(differences.tolist(), level)
    if math.isnan(half):
        return {"difference": mean, "low": math.nan, "high": math.nan, "p": math.nan}
    error = float(np.std(differences, ddof=1)) / math.sqrt(len(a))
    t = -math.inf if error == 0 else -abs(mean) / error  # one difference at every seed: certain, as far as seeds go
    p = 1.0 if mean == 0 else float(2 * stdtr(len(a) - 1, t))
    return {"difference": mean, "low": mean - half, "high": mean + half, "p": p}


def _draws(n: int, samples: int, seed: int) -> Iterator[Float[np.ndarray, "chunk n"]]:
    """Yields how often each sentence is drawn: rows of multinomial counts, as floats for a BLAS product."""
    generator = np.random.default_rng(seed)
    chunk = max(1, _CHUNK // n)
    for start in range(0, samples, chunk):
        rows = min(chunk, samples - start)
        drawn = generator.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def _over_seeds(statistics: np.ndarray) -> Float[np.ndarray, "n k"]:
    """Sums a sentence's seeds: a sentence drawn with all its seeds contributes their sum."""
    summed = statistics.sum(axis=0) if statistics.ndim == 3 else statistics
    if len(summed) == 0:
        raise DataError("the bootstrap needs at least one sentence")
    return summed.astype(np.float64)


def _percentiles(scores: np.ndarray, level: float) -> tuple[float, float]:
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
