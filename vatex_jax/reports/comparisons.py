"""Two cells of a table compared: over seeds, and over the sentences or dialogues of the test split."""

import math
from collections.abc import Sequence

import numpy as np

from vatex_jax.metrics.significance import paired_bootstrap, paired_t, t_interval
from vatex_jax.reports import question_scores
from vatex_jax.reports.cells import Run, scores
from vatex_jax.reports.item_statistics import kind_of, paired


def compare(rows_a: Sequence[Run], rows_b: Sequence[Run], metric: str = "bleu4") -> dict[str, float] | None:
    """Compares two cells over the seeds both have; None where they have none in common.

    Returns:
      `seeds` in common; `difference` (mean of a - b), `low`, `high`, `p` of the paired t-test over seeds (NaN for one
      seed); `percent`, a in percent of b seed by seed, and `percent_half_width`, where every b is above 0; and, where
      every run has the metric's `item_statistics`, `bootstrap_difference`, `bootstrap_low`, `bootstrap_high`,
      `bootstrap_p` over sentences or dialogues, all seeds' outputs taken together.
    """
    by_seed_a, by_seed_b = ({run.seed: run for run in rows} for rows in (rows_a, rows_b))
    common = sorted(by_seed_a.keys() & by_seed_b.keys())
    if not common:
        return None
    a, b = [by_seed_a[seed] for seed in common], [by_seed_b[seed] for seed in common]
    compared = {"seeds": float(len(common)), **paired_t(scores(a, metric), scores(b, metric)), **_share(a, b, metric)}
    items = _over_items(a, b, metric)
    if a[0].generated and items and len(common) == 1 and abs(compared["difference"] - items["difference"]) > 1e-5:
        # Each model's mean is over the questions it answered; compared are those that both did.
        compared = {
            "seeds": 1.0,
            **{name: math.nan for name in ("low", "high", "p")},
            "difference": items["difference"],
        }
    return compared | {f"bootstrap_{name}": value for name, value in items.items()}


def _over_items(a: Sequence[Run], b: Sequence[Run], metric: str) -> dict[str, float]:
    if a[0].generated:
        if (a[0].generated, a[0].statistic) != (b[0].generated, b[0].statistic):
            return {}
        folders = ([run.folder for run in rows] for rows in (a, b))
        return question_scores.compare(*folders, *metric.split("/"), a[0].generated, a[0].statistic)
    kind, runs = kind_of(metric), [*a, *b]
    arrays = [] if kind is None else [kind.read(run.folder) for run in runs]
    if not arrays or any(array is None for array in arrays):
        return {}
    counts, of_counts = paired(kind, metric, arrays, [run.folder for run in runs])
    return paired_bootstrap(np.stack(counts[: len(a)]), np.stack(counts[len(a) :]), of_counts)


def _share(a: Sequence[Run], b: Sequence[Run], metric: str) -> dict[str, float]:
    """Mean over seeds of a / b in percent, and half its 95% t-interval; nothing where a b is not above 0."""
    pairs = list(zip(scores(a, metric), scores(b, metric), strict=True))
    if any(base <= 0 for _, base in pairs):
        return {}
    mean, half = t_interval([100.0 * value / base for value, base in pairs])
    return {"percent": mean, "percent_half_width": half}
