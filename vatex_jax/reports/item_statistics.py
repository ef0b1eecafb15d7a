"""Sums by item, a sentence or a dialogue, that a run leaves beside its result for paired tests against other runs.

Dimension legend
    n  items of the test split      k  sums of each
"""

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Real

from vatex_jax.errors import DataError
from vatex_jax.files import write_bytes_whole
from vatex_jax.metrics import bleu, ranking, recovery
from vatex_jax.metrics.significance import Metric


@dataclass(frozen=True)
class Kind:
    """A kind of statistics: its file, what an item is, the metrics it serves, k, the type of its numbers."""

    file: str
    items: str
    metrics: tuple[str, ...]
    size: int
    kinds: str
    holds: str

    def write(self, folder: Path, statistics: Real[np.ndarray, "n k"]) -> None:
        """Writes the file, whole: int32 or float32."""
        buffer = io.BytesIO()
        np.save(buffer, statistics.astype(np.int32 if self.kinds == "iu" else np.float32), allow_pickle=False)
        write_bytes_whole(folder / self.file, buffer.getvalue())

    def read(self, folder: str | os.PathLike) -> Real[np.ndarray, "n k"] | None:
        """What `write` wrote; None where there is no such file.

        Raises:
          DataError: where the file is something else.
        """
        path = Path(folder) / self.file
        if not path.exists():
            return None
        try:
            loaded = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise DataError(f"{path}: cannot be read: {error}") from error
        array = isinstance(loaded, np.ndarray)
        if not array or loaded.ndim != 2 or loaded.shape[1] != self.size or loaded.dtype.kind not in self.kinds:
            raise DataError(f"{path}: must hold {self.holds} [{self.items}, {self.size}]")
        return loaded


BLEU = Kind(
    "bleu_statistics.npy", "sentences", ("bleu4",), bleu.STATISTICS, "iu", "BLEU statistics, an array of integers"
)
RANKING = Kind(
    "ranking_statistics.npy", "dialogues", ranking.METRICS, len(ranking.STATISTICS), "f", "sums of ranking metrics"
)
RECOVERY = {
    kind: Kind(
        f"{kind}_recovery_statistics.npy", "sentences", (f"{kind}_recovery",), 2, "iu", "counts of recovered words"
    )
    for kind in ("noun", "verb")
}
KINDS = (BLEU, RANKING, *RECOVERY.values())


def kind_of(metric: str) -> Kind | None:
    """The statistics that tell a metric of any choice of items; None where no run leaves such."""
    return next((kind for kind in KINDS if metric in kind.metrics), None)


def paired(
    kind: Kind, metric: str, arrays: Sequence[Real[np.ndarray, "n k"]], folders: Sequence[Path]
) -> tuple[list[Real[np.ndarray, "m j"]], Metric]:
    """Of several runs on the same items the sums behind one metric, and the metric as a function of summed sums.

    Raises:
      DataError: naming the run that is not of the same items.
    """
    for folder, array in zip(folders, arrays, strict=True):
        if len(array) != len(arrays[0]):
            raise DataError(f"{folder / kind.file}: {len(array)} {kind.items}, but {folders[0]} has {len(arrays[0])}")
    if kind is BLEU:
        return list(arrays), bleu.bleu_from_statistics
    if kind in RECOVERY.values():
        return list(arrays), recovery.percent
    sums = [ranking.sums_of(array, metric) for array in arrays]
    for folder, array in zip(folders, sums, strict=True):
        if not np.array_equal(array[:, 1], sums[0][:, 1]):
            raise DataError(f"{folder / kind.file}: other questions were ranked there than in {folders[0]}")
    asked = sums[0][:, 1] > 0
    return [array[asked] for array in sums], ranking.mean_of_sums
