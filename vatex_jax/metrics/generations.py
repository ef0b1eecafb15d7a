"""What k generations a question are worth: mean, spread and best (section 5.1, appendix C, Tables 6 and 7).

The paper defines mu, sigma and gamma as mean, standard deviation and best of the k scores, averaged over the data. But
its sigma is not 0 at k = 1: what it prints is the deviation over questions of their means, as the published script
computes it. Both are here, `k_std` and `data_std`, with divisors k and n; the paper's sigma compares with `data_std`.
The best of a distance (L2) is its minimum; the appendix has minimum and maximum the wrong way round.

The first k generations of a question count for k. Empty ones are left out, so a question's k may be less; a question
without any other is left out of the averages, and counted.

Dimension legend
    n  questions, of model a n_a, of b n_b      K  the most generations of a question
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float64, Int

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.metrics.ranking import mean_of_sums
from vatex_jax.metrics.significance import paired_bootstrap

KS = (1, 5, 10, 15)
STATISTICS = ("mean", "k_std", "best", "data_std")


def per_question(scores: Float64[np.ndarray, "n K"], k: int, lowest: bool) -> dict[str, Float64[np.ndarray, "n"]]:
    """Each question's mean, spread and best over its first k generations.

    Args:
        scores: NaN where there is nothing to score.
        k: how many generations count.
        lowest: whether the best score is the lowest.

    Returns:
        `mean`, `k_std` (divisor the number of scores; exactly 0 of one score), `best`; NaN where no score is.
    """
    first = scores[:, :k]
    there = ~np.isnan(first)
    count = there.sum(axis=1)
    several = np.where(count > 0, count, np.nan)
    mean = np.where(there, first, 0.0).sum(axis=1) / several
    off = np.where(there, first - mean[:, None], 0.0)
    outside = np.inf if lowest else -np.inf
    kept = np.where(there, first, outside)
    best = kept.min(axis=1, initial=outside) if lowest else kept.max(axis=1, initial=outside)
    return {
        "mean": mean,
        "k_std": np.sqrt((off**2).sum(axis=1) / several),
        "best": np.where(count > 0, best, np.nan),
    }


def summarise(scores: Mapping[str, Float64[np.ndarray, "n K"]], k: int | None = None) -> dict[str, float]:
    """Averages of each metric over questions.

    Args:
        scores: of each generation, a table a metric; metrics whose names end in `_l2` are better when lower.
        k: how many generations of a question count; all by default.

    Returns:
        For each metric `NAME/mean`, `NAME/k_std`, `NAME/best`, and `NAME/data_std`, the spread over questions of their
        means (divisor the number of questions). NaN where no question has a score.
    """
    found = {}
    for name, table in scores.items():
        items = per_question(table, table.shape[1] if k is None else k, lower_is_better(name))
        scored = ~np.isnan(items["mean"])
        for statistic, values in items.items():
            found[f"{name}/{statistic}"] = float(values[scored].mean()) if scored.any() else float("nan")
        found[f"{name}/data_std"] = float(items["mean"][scored].std()) if scored.any() else float("nan")
    return found


def count(generations: Sequence[Sequence[str]], k: int) -> dict[str, float]:
    """What there is among the first k generations.

    Returns:
        `scored` generations, `empty` ones (without a word), `unscored` questions (nothing but empty ones, or none),
        and questions with `fewer` than k generations, empty ones counted.
    """
    spoken = [sum(bool(text.strip()) for text in texts[:k]) for texts in generations]
    given = [len(texts[:k]) for texts in generations]
    return {
        "scored": float(sum(spoken)),
        "empty": float(sum(given) - sum(spoken)),
        "unscored": float(spoken.count(0)),
        "fewer": float(sum(several < k for several in given)),
    }


def choose_ks(most: int, ks: Sequence[int] | None = None) -> list[int]:
    """The numbers of generations to report.

    Args:
        most: the most generations of a question.
        ks: what is asked for; by default those of the paper (1, 5, 10, 15) that are no more than `most`, and `most`.

    Raises:
        ConfigError: a number below 1, or above `most`.
    """
    if ks is None:
        return sorted({k for k in KS if k <= most} | {max(1, most)})
    if isinstance(ks, (str, int)) or not list(ks) or any(isinstance(k, bool) or not isinstance(k, int) for k in ks):
        raise ConfigError(f"ks is {ks!r}: give whole numbers of generations, such as (1, 5).")
    wrong = [k for k in ks if not 1 <= k <= max(1, most)]
    if wrong:
        raise ConfigError(f"k = {wrong[0]}: no question has more than {most} generations, and k is at least 1.")
    return sorted(set(ks))


def lower_is_better(name: str) -> bool:
    """Whether a metric is a distance."""
    return name == "l2" or name.endswith("_l2")


def compare(
    a: Mapping[str, Float64[np.ndarray, "n_a K_a"]],
    b: Mapping[str, Float64[np.ndarray, "n_b K_b"]],
    k: int,
    statistic: str = "mean",
    groups: Int[np.ndarray, "n"] | None = None,
    samples: int = 1000,
    seed: int = 0,
) -> dict[str, dict[str, float]]:
    """Paired bootstrap between two models: how sure the difference of a metric is, had other questions been asked.

    Questions that one of the models has no score for are left out for both.

    Args:
        a, b: the models' scores of each generation, of the same questions in the same order.
        k: how many generations of a question count.
        statistic: `mean`, `k_std` or `best`, averaged over questions.
        groups: questions to draw together, such as those of an image, which are not independent: any number a group.
            By default each question is drawn alone.
        samples, seed: of the bootstrap.

    Returns:
        For each metric that both have: `difference` (a - b), `low`, `high`, `p` (see `paired_bootstrap`), and the
        number of `questions`.

    Raises:
        ConfigError: another statistic.
        DataError: the questions differ in number, or none has a score of both models.
    """
    if statistic not in STATISTICS[:3]:
        raise ConfigError(f"models can be compared by {', '.join(STATISTICS[:3])}, not {statistic!r}.")
    found = {}
    for name in (name for name in a if name in b):
        if len(a[name]) != len(b[name]):
            raise DataError(f"{name}: the models are scored on {len(a[name])} and {len(b[name])} questions.")
        values = [per_question(one[name], k, lower_is_better(name))[statistic] for one in (a, b)]
        both = ~np.isnan(values[0] + values[1])
        if not both.any():
            raise DataError(f"{name}: no question has a score of both models.")
        members = np.arange(len(both)) if groups is None else groups
        _, group = np.unique(members[both], return_inverse=True)
        sums = [np.stack([np.bincount(group, one[both]), np.bincount(group)], axis=1) for one in values]
        found[name] = paired_bootstrap(*sums, mean_of_sums, samples, seed) | {"questions": float(both.sum())}
    return found
