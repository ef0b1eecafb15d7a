"""Which splits an experiment trains, validates and tests on."""

from collections.abc import Callable

from vatex_jax.data.sources import Source, Split
from vatex_jax.errors import ConfigError, DataError

HALF = "validation_half"
"""The second half of validation, by id, as the test split; the first half validates."""


def find_splits(
    source: Source,
    wanted: str,
    scored: Callable[[Split], bool],
    lacking: str,
    report: Callable[[str], object],
    usable: Callable[[Split], bool] | None = None,
) -> tuple[dict[str, Split], str]:
    """train, validation and test; halves validation where the test split has nothing to score against.

    Args:
        source: the data set.
        wanted: the test split; empty for `test` or `public_test`, or `HALF` where that cannot be scored.
        scored: whether a split holds what outputs are scored against.
        lacking: what a split that is not `scored` lacks, for messages.
        report: called with what a person should know.
        usable: whether a split that cannot be scored can be decoded, where that is all that is asked; else None.

    Returns:
        The splits by role and the test split's name.

    Raises:
        DataError: a split is missing, or the wanted one cannot be used.
        ConfigError: the wanted one is what training uses.
    """
    for name in ("train", "validation"):
        if name not in source.splits:
            raise DataError(
                f"{source.name} has no split {name}, and training needs one; it has {', '.join(source.splits)}. A "
                "split is there only if its file is and one of its videos can be used."
            )
    found = {name: source.split(name) for name in ("train", "validation")}
    name = wanted or ("test" if source.simulated else "public_test")
    if name in found:
        raise ConfigError(f"config.data.test_split is {name!r}, which training uses; take {HALF} or another split.")
    if name != HALF:
        test = source.split(name) if name in source.splits or wanted else None
        if test is not None and scored(test):
            return found | {"test": test}, name
        if wanted and usable is not None and usable(test):
            report(f"Split {name} of {source.name} has no {lacking}: its outputs are not scored.")
            return found | {"test": test}, name
        if wanted:
            raise DataError(
                f"Split {name} of {source.name} has no {lacking} to score against: set config.data.test_split={HALF} "
                "to test on half of validation, or decode it without references by --mode=predict."
            )
        why = "is not there" if test is None else f"has no {lacking}"
        report(
            f"Split {name} of {source.name} {why}: the second half of validation (by id) is the test split instead, "
            f"the first half validates (config.data.test_split={HALF})."
        )
    validation = found["validation"]
    by_id = sorted(range(len(validation.videos)), key=lambda i: validation.videos[i].video_id)
    middle = len(by_id) // 2
    found["validation"] = validation.subset(by_id[:middle], "validation")
    return found | {"test": validation.subset(by_id[middle:], HALF)}, HALF


def trained_on(source: Source, splits: dict[str, Split], test_split: str) -> tuple[Split, ...]:
    """The splits training reads, validation whole: what a checkpoint was made from, whichever split is decoded."""
    return splits["train"], source.split("validation") if test_split == HALF else splits["validation"]
