"""Builds a data set: `python tfds_builders/build.py NAME[/CONFIG] [--manual_dir=FOLDER] [--data_dir=FOLDER] ...`.

NAME is `vatex` or `visdial`, made from the folder that holds their official files (configs `i3d` and `none`; `v1.0` and
`v0.9`), or `vatex_sim` or `visdial_sim`, simulated worlds that need no files (configs `default`, `tiny`, and with
another world seed `default-w7`). A data set appears whole or not at all, whenever the process ends and however many
build at once.
"""

import argparse
import contextlib
import os
import pathlib
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if __name__ == "__main__":
    # Run as a script, Python looks for modules in this folder; they are found from the one above.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

from absl import logging

from tfds_builders import staging
from tfds_builders.data_sets import DATA_DIR_VARIABLE, DATA_SETS, DataSet, Options, Report, Vatex
from tfds_builders.from_files import MISSING_FEATURES
from vatex_jax.errors import ConfigError, DataError, VatexError

if TYPE_CHECKING:
    import tensorflow_datasets as tfds

NAMES = tuple(DATA_SETS)


def default_data_dir() -> pathlib.Path:
    """Where data sets are kept unless told: the folder named by `VATEX_JAX_DATA`, or `data/tfds` below the current."""
    return pathlib.Path(os.environ.get(DATA_DIR_VARIABLE) or pathlib.Path("data", "tfds"))


def known_names() -> str:
    """The names of all data sets, as words of a sentence."""
    return f"{', '.join(NAMES[:-1])} and {NAMES[-1]}"


def build(
    name: str,
    *,
    manual_dir: str | os.PathLike | None = None,
    data_dir: str | os.PathLike | None = None,
    features: str | None = None,
    image_features: Sequence[str | os.PathLike] = (),
    missing_features: str = "error",
    stand_in: bool = False,
    overwrite: bool = False,
    report: Report = print,
) -> "tfds.core.DatasetBuilder":
    """Builds a data set, or finds it built; returns its TFDS builder, ready for `as_data_source`.

    Args:
      name: `vatex`, `vatex/i3d`, `vatex/none`, `vatex_sim`, `vatex_sim/tiny`, `visdial`, `visdial/v0.9`, ...
      manual_dir: folder with the files of VaTeX or VisDial. Without it, a data set that is built already is used as it
        is; with it, the files must be the ones it was built from.
      data_dir: folder of the data sets; `default_data_dir()` unless given.
      features: of vatex, `i3d` or `none`, the same as the config of that name.
      image_features: of visdial, files and folders of image features; none for a data set without.
      missing_features: `error`, or `skip` to leave out videos and dialogues without features.
      stand_in: mark the features as stand-ins.
      overwrite: replace a data set that is built already; it stays until the new one is complete.
      report: called with each line for the person who builds.

    Raises:
      DataError: the files are missing, malformed, or not those the data set was built from.
      ConfigError: options that are unknown or do not go together.
    """
    data_set, config = _parse_name(name, features)
    options = Options(
        config,
        pathlib.Path(data_dir if data_dir is not None else default_data_dir()),
        pathlib.Path(manual_dir) if manual_dir is not None else None,
        tuple(map(pathlib.Path, image_features)),
        missing_features,
        stand_in,
        overwrite,
    )
    data_set.check(options)
    try:
        with _quiet_tfds():
            final = pathlib.Path(data_set.make(options, options.data_dir).data_dir)
            if not _is_usable(data_set, final, options, report):
                _prepare(data_set, final, options, report)
            return data_set.make(options, options.data_dir)
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        why = error.strerror or str(error)
        raise DataError(f"{what}cannot be read or written while building {name} ({why}).") from error


def current_version(name: str) -> str:
    """The version of a data set's content that `build` makes now; nothing is read or made.

    Raises:
      ConfigError: no such data set, or no such configuration of it.
    """
    data_set, config = _parse_name(name, None)
    with _quiet_tfds():
        data_set.tfds_config(config)
        return str(data_set.module().Builder.VERSION)


def _parse_name(name: str, features: str | None) -> tuple[DataSet, str]:
    base, _, config = name.partition("/")
    if base not in DATA_SETS:
        raise ConfigError(f"{name!r}: there is no such data set; there are {known_names()}.")
    return DATA_SETS[base], DATA_SETS[base].config_of(config, features)


@contextlib.contextmanager
def _quiet_tfds() -> Iterator[None]:
    """Without TFDS's warnings, such as one for each world whose config has no fixed name."""
    level = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(level)


def _is_usable(data_set: DataSet, final: pathlib.Path, options: Options, report: Report) -> bool:
    """Whether the data set is there and nothing was said that it would have to be compared with."""
    usable = staging.is_complete(final) and not options.overwrite and options.manual_dir is None
    if usable:
        report(f"{data_set.name}/{options.config} is built already: {final}")
    return usable


def _prepare(data_set: DataSet, final: pathlib.Path, options: Options, report: Report) -> None:
    started = time.monotonic()
    with staging.lock(options.data_dir, data_set.name, options.config, report):
        staging.clear(options.data_dir, final, data_set.name, options.config)  # what a killed build has left
        if _is_usable(data_set, final, options, report):  # another process built it, or the old one is back
            return
        if data_set.prepare(options, final, report):
            seconds = time.monotonic() - started
            report(f"{data_set.name}/{options.config} is in {final} ({seconds:.1f} s)")


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line's options, named as those of `build`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", metavar="NAME[/CONFIG]", help=f"{known_names()}, with /CONFIG or without")
    parser.add_argument("--manual_dir", help="folder with the official files of VaTeX or VisDial")
    parser.add_argument("--data_dir", help=f"where data sets are kept (${DATA_DIR_VARIABLE}, or else data/tfds)")
    parser.add_argument(
        "--features", choices=Vatex.configs, help="vatex: with I3D features (default) or captions alone"
    )
    parser.add_argument(
        "--image_features",
        action="append",
        default=[],
        metavar="PATH",
        help="visdial: folder of <image_id>.npy, or .npz or HDF5 file; can be repeated",
    )
    parser.add_argument(
        "--missing_features",
        choices=MISSING_FEATURES,
        default="error",
        help="videos and images without features: an error, or skip them",
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
