"""Builds a data set: `python tfds_builders/build.py NAME[/CONFIG] [--manual_dir=FOLDER] [--data_dir=FOLDER] ...`.

NAME is `vatex` (from the folder that holds its official files; configs `i3d` and `none`) or `vatex_sim` (the simulated
world, needs no files; configs `default`, `tiny`, and with another world seed `default-w7`). A data set appears whole or
not at all, whenever the process ends and however many build at once.
"""

import argparse
import contextlib
import dataclasses
import io
import json
import os
import pathlib
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if __name__ == "__main__":
    # Run as a script, Python looks for modules in this folder; they are found from the one above.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

from absl import logging

try:
    import fcntl
except ImportError:  # Windows has none: builds of one data set at once are not kept apart there
    fcntl = None

from vatex_jax.errors import ConfigError, DataError, VatexError

if TYPE_CHECKING:
    import tensorflow_datasets as tfds

NAMES = ("vatex", "vatex_sim")
FEATURES = ("i3d", "none")
DATA_DIR_VARIABLE = "VATEX_JAX_DATA"
Report = Callable[[str], object]


@dataclasses.dataclass(frozen=True)
class Options:
    """What is to be built, from which folder, into which; see the command line's help for the fields."""

    name: str
    config: str
    data_dir: pathlib.Path
    manual_dir: pathlib.Path | None = None
    missing_features: str = "error"
    stand_in: bool = False
    overwrite: bool = False


def default_data_dir() -> pathlib.Path:
    """Where data sets are kept unless told: the folder named by `VATEX_JAX_DATA`, or `data/tfds` below the current."""
    return pathlib.Path(os.environ.get(DATA_DIR_VARIABLE) or pathlib.Path("data", "tfds"))


def build(
    name: str,
    *,
    manual_dir: str | os.PathLike | None = None,
    data_dir: str | os.PathLike | None = None,
    features: str | None = None,
    missing_features: str = "error",
    stand_in: bool = False,
    overwrite: bool = False,
    report: Report = print,
) -> "tfds.core.DatasetBuilder":
    """Builds a data set, or finds it built; returns its TFDS builder, ready for `as_data_source`.

    Args:
      name: `vatex`, `vatex/i3d`, `vatex/none`, `vatex_sim`, `vatex_sim/tiny`, ...
      manual_dir: folder with VaTeX's files. Without it, a data set that is built already is used as it is; with it, the
        files must be the ones it was built from.
      data_dir: folder of the data sets; `default_data_dir()` unless given.
      features: `i3d` or `none`, the same as the config of that name.
      missing_features: `error`, or `skip` to leave out videos without features.
      stand_in: mark the features as stand-ins.
      overwrite: replace a data set that is built already; it stays until the new one is complete.
      report: called with each line for the person who builds.

    Raises:
      DataError: the files are missing, malformed, or not those the data set was built from.
      ConfigError: options that are unknown or do not go together.
    """
    base, config = _parse_name(name, features)
    if base == "vatex_sim" and (manual_dir is not None or stand_in or missing_features != "error"):
        raise ConfigError(
            "vatex_sim is made from a seed: manual_dir, missing_features and stand_in are for vatex alone."
        )
    options = Options(
        base,
        config,
        pathlib.Path(data_dir if data_dir is not None else default_data_dir()),
        pathlib.Path(manual_dir) if manual_dir is not None else None,
        missing_features,
        stand_in,
        overwrite,
    )
    make, prepare = (_vatex, _prepare_vatex) if base == "vatex" else (_vatex_sim, _prepare_vatex_sim)
    try:
        with _quiet_tfds():
            final = pathlib.Path(make(options, options.data_dir).data_dir)
            if not _is_usable(final, options, report):
                with _lock(options, report):
                    _clear(_staging(options), final)  # what a killed build has left
                    if not _is_usable(final, options, report):  # another process built it, or the old one is back
                        prepare(options, final, report)
            return make(options, options.data_dir)
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        why = error.strerror or str(error)
        raise DataError(f"{what}cannot be read or written while building {name} ({why}).") from error


def current_version(name: str) -> str:
    """The version of a data set's content that `build` makes now; nothing is read or made.

    Raises:
      ConfigError: no such data set, or no such configuration of it.
    """
    base, config = _parse_name(name, None)
    with _quiet_tfds():
        if base == "vatex":
            from tfds_builders.vatex.vatex_dataset_builder import Builder
        else:
            from tfds_builders.vatex_sim.vatex_sim_dataset_builder import Builder

            _world(config)
        return str(Builder.VERSION)


def _parse_name(name: str, features: str | None) -> tuple[str, str]:
    base, _, config = name.partition("/")
    if base not in NAMES:
        raise ConfigError(f"{name!r}: there is no such data set; there are {' and '.join(NAMES)}.")
    if base == "vatex_sim":
        if features is not None:
            raise ConfigError("features is an option of vatex; vatex_sim always has its simulated features.")
        return base, (config or "default").removesuffix("-w0")
    if features is not None and config and features != config:
        raise ConfigError(f"{name} and features={features} contradict each other. Give one of them.")
    config = config or features or "i3d"
    if config not in FEATURES:
        raise ConfigError(f"{config!r}: vatex has no such features; there are {' and '.join(FEATURES)}.")
    return base, config


def _full_name(options: Options) -> str:
    return f"{options.name}/{options.config}"


# TFDS is imported late: it takes a while, and `--help` and wrong options need none of it.


def _vatex(options: Options, data_dir: pathlib.Path, **inputs: object) -> "tfds.core.DatasetBuilder":
    from tfds_builders.vatex import vatex_dataset_builder

    return vatex_dataset_builder.Builder(data_dir=data_dir, config=options.config, **inputs)


def _vatex_sim(options: Options, data_dir: pathlib.Path) -> "tfds.core.DatasetBuilder":
    from tfds_builders.vatex_sim import vatex_sim_dataset_builder as sim

    return sim.Builder(data_dir=data_dir, config=_world(options.config))


def _world(config: str) -> "tfds.core.BuilderConfig":
    from tfds_builders.vatex_sim import vatex_sim_dataset_builder as sim

    size, marker, seed = config.partition("-w")
    if marker and not re.fullmatch(r"[0-9]{1,9}", seed):
        raise ConfigError(f"{config!r}: a world seed is a whole number, as in default-w7.")
    return sim.make_config(size, int(seed or 0))


@contextlib.contextmanager
def _quiet_tfds() -> Iterator[None]:
    """Without TFDS's warnings, such as one for each world whose config has no fixed name."""
    level = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(level)


def _is_complete(final: pathlib.Path) -> bool:
    return (final / "dataset_info.json").is_file()


def _is_usable(final: pathlib.Path, options: Options, report: Report) -> bool:
    """Whether the data set is there and nothing was said that it would have to be compared with."""
    usable = _is_complete(final) and not options.overwrite and options.manual_dir is None
    if usable:
        report(f"{_full_name(options)} is built already: {final}")
    return usable


@contextlib.contextmanager
def _lock(options: Options, report: Report) -> Iterator[None]:
    """Keeps builds of one data set apart; the system lets go of the lock when the process ends, however it ends."""
    options.data_dir.mkdir(parents=True, exist_ok=True)
    with (options.data_dir / f".{options.name}-{options.config}.lock").open("w") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                report(f"Another process is building {_full_name(options)}; waiting for it.")
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _prepare_vatex(options: Options, final: pathlib.Path, report: Report) -> None:
    from tfds_builders.vatex import inputs as inputs_lib

    started = time.monotonic()
    if options.manual_dir is None:
        why = "cannot be built anew without its files" if options.overwrite else "is not built yet"
        raise DataError(f"{_full_name(options)} {why}.\n{inputs_lib.INSTRUCTIONS}")
    inputs = inputs_lib.collect(
        options.manual_dir,
        with_features=options.config != "none",
        missing_features=options.missing_features,
        stand_in=options.stand_in,
    )
    if _is_complete(final) and not options.overwrite:
        _require_same(final, inputs.sources)
        report(f"{_full_name(options)} is built already, from these files: {final}")
        return
    for remark in inputs.remarks:
        report(remark)
    if inputs.sources["stand_in"]:
        report("The features are stand-ins: whatever is made from this data set says so.")
    _write(options, final, lambda data_dir: _vatex(options, data_dir, inputs=inputs))
    columns = ("videos", "en", "zh", "pairs", "skipped")
    rows = [(split, *(described[c] for c in columns)) for split, described in inputs.sources["splits"].items()]
    for line in _table(("split", *columns), rows):
        report(line)
    report(f"{_full_name(options)} is in {final} ({time.monotonic() - started:.1f} s)")


def _prepare_vatex_sim(options: Options, final: pathlib.Path, report: Report) -> None:
    started = time.monotonic()
    report(f"Making {_full_name(options)} ...")
    _write(options, final, lambda data_dir: _vatex_sim(options, data_dir))
    splits = _vatex_sim(options, options.data_dir).info.splits
    for line in _table(("split", "videos"), [(name, split.num_examples) for name, split in splits.items()]):
        report(line)
    report(f"{_full_name(options)} is in {final} ({time.monotonic() - started:.1f} s)")


def _require_same(built: pathlib.Path, wanted: dict[str, object]) -> None:
    from tfds_builders.vatex import inputs as inputs_lib
    from tfds_builders.vatex.vatex_dataset_builder import SOURCES_FILE

    path = built / SOURCES_FILE
    try:
        sources = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError) as error:
        raise DataError(f"{path}: missing or damaged. Say --overwrite to build the data set anew.") from error
    differing = inputs_lib.differences(sources if isinstance(sources, dict) else {}, wanted)
    if differing:
        raise DataError(
            f"{built} was built from other files: {'; '.join(differing)}. Say --overwrite to replace it, or choose "
            "another --data_dir."
        )


def _staging(options: Options) -> pathlib.Path:
    return options.data_dir / f".building-{options.name}-{options.config}"


def _write(options: Options, final: pathlib.Path, make: Callable[[pathlib.Path], "tfds.core.DatasetBuilder"]) -> None:
    """Builds in a folder beside and moves the result to `final`; called with the lock held."""
    import tensorflow_datasets as tfds

    staging = _staging(options)
    try:
        builder = make(staging)
        config = tfds.download.DownloadConfig(try_download_gcs=False, manual_dir=options.manual_dir)
        # TFDS announces the folder beside as the result, and its bars are many and longer than a line.
        tfds.disable_progress_bar()
        with contextlib.redirect_stdout(io.StringIO()):
            builder.download_and_prepare(download_config=config, file_format="array_record")
        for path in sorted((staging / options.name / ".config").glob("*")):  # names the default config
            target = options.data_dir / options.name / ".config" / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
        final.parent.mkdir(parents=True, exist_ok=True)
        if final.exists():
            final.rename(staging / "replaced")
        pathlib.Path(builder.data_dir).rename(final)
    finally:
        tfds.enable_progress_bar()
        _clear(staging, final)


def _clear(staging: pathlib.Path, final: pathlib.Path) -> None:
    """Clears what a build left, however it ended; a data set it was about to replace comes back."""
    replaced = staging / "replaced"
    if replaced.is_dir() and not final.exists():
        replaced.rename(final)
    if staging.exists():
        shutil.rmtree(staging)


def _table(head: Sequence[str], rows: Sequence[Sequence[str | int]]) -> list[str]:
    """Lines of a table whose first column is text and whose others are numbers."""
    cells = [list(head)] + [[row[0], *(f"{number:,}" for number in row[1:])] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in cells
    ]


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line's options, named as those of `build`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", metavar="NAME[/CONFIG]", help="vatex or vatex_sim, with /CONFIG or without")
    parser.add_argument("--manual_dir", help="folder with VaTeX's caption, feature and label files")
    parser.add_argument("--data_dir", help=f"where data sets are kept (${DATA_DIR_VARIABLE}, or else data/tfds)")
    parser.add_argument("--features", choices=FEATURES, help="vatex: with I3D features (default) or captions alone")
    parser.add_argument(
        "--missing_features", choices=("error", "skip"), default="error", help="videos without features"
    )
    parser.add_argument(
        "--stand_in", action="store_true", help="mark the features as stand-ins, not those of the videos"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a data set that is built already")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status: 0, or 2 for what the person at the keyboard can mend."""
    flags = vars(parse_arguments(arguments))
    try:
        build(flags.pop("name"), **flags)
    except VatexError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted; nothing was written.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # file names may hold bytes that are no text
    sys.exit(main())
