"""The score of every generation, a file beside results.json: what a paired test between two models needs.

`question_scores.npz` holds, for each kind of reference sets (H, S, ...), `H/image_ids`, `H/rounds` and a table [n, K] a
metric, `H/cider1`: NaN where a question has fewer generations or one is empty.

Dimension legend
    n  questions      K  the most generations of a question
"""

import dataclasses
import io
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int64

from vatex_jax.errors import DataError
from vatex_jax.files import write_bytes_whole
from vatex_jax.metrics.generations import STATISTICS, lower_is_better, per_question
from vatex_jax.metrics.ranking import mean_of_sums
from vatex_jax.metrics.significance import paired_bootstrap

FILE = "question_scores.npz"
ITEMS = "images"


@dataclasses.dataclass(frozen=True)
class Scores:
    """The scores of one kind of reference sets, whose questions are told by image and round (from 0)."""

    image_ids: Int64[np.ndarray, "n"]
    rounds: Int64[np.ndarray, "n"]
    tables: Mapping[str, Float[np.ndarray, "n K"]]


def write(folder: Path, scores: Mapping[str, Scores]) -> None:
    """Writes the file, whole; scores in float32."""
    arrays = {}
    for name, one in scores.items():
        arrays |= {f"{name}/image_ids": one.image_ids, f"{name}/rounds": one.rounds}
        arrays |= {f"{name}/{metric}": table.astype(np.float32) for metric, table in one.tables.items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    write_bytes_whole(folder / FILE, buffer.getvalue())


def read(folder: str | os.PathLike) -> dict[str, Scores] | None:
    """What `write` wrote; None where there is no such file.

    Raises:
        DataError: where the file is something else.
    """
    path = Path(folder) / FILE
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        names = dict.fromkeys(name.partition("/")[0] for name in arrays)
        found = {}
        for name in names:
            own = {key.removeprefix(f"{name}/"): array for key, array in arrays.items() if key.startswith(f"{name}/")}
            ids, rounds = own.pop("image_ids"), own.pop("rounds")
            if any(table.ndim != 2 or len(table) != len(ids) for table in own.values()) or len(rounds) != len(ids):
                raise ValueError("tables of different lengths")
            found[name] = Scores(ids, rounds, own)
    except (OSError, ValueError, KeyError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: cannot be read as the scores of generations ({error}); run it anew.") from error
    return found


def compare(
    a: Sequence[Path], b: Sequence[Path], sets: str, metric: str, generated: str, statistic: str
) -> dict[str, float]:
    """Paired bootstrap over images between the runs of two models, all seeds' generations taken together.

    Questions that a run has no score for are left out for all.

    Args:
        a, b: folders of the runs.
        sets, metric: `H`, `cider1`.
        generated: how many generations count: `k5`.
        statistic: `mean`, `k_std` or `best`.

    Returns:
        As `paired_bootstrap`; {} where a run left no scores, or these are no scores of generations.

    Raises:
        DataError: naming the run that is not of the same questions.
    """
    if not generated.startswith("k") or statistic not in STATISTICS[:3]:
        return {}
    folders = [*a, *b]
    found = [read(folder) for folder in folders]
    if any(one is None or sets not in one or metric not in one[sets].tables for one in found):
        return {}
    first = found[0][sets]
    for folder, one in zip(folders, (one[sets] for one in found), strict=True):
        same = np.array_equal(one.image_ids, first.image_ids) and np.array_equal(one.rounds, first.rounds)
        if not same:
            raise DataError(f"{folder / FILE}: other questions were scored there than in {folders[0]}")
    k, lowest = int(generated[1:]), lower_is_better(metric)
    values = [per_question(one[sets].tables[metric].astype(np.float64), k, lowest)[statistic] for one in found]
    there = ~np.isnan(np.sum(values, axis=0))
    if not there.any():
        return {}
    _, image = np.unique(first.image_ids[there], return_inverse=True)
    sums = [np.stack([np.bincount(image, one[there]), np.bincount(image)], axis=1) for one in values]
    return paired_bootstrap(np.stack(sums[: len(a)]), np.stack(sums[len(a) :]), mean_of_sums)
