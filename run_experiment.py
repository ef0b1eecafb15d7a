"""Runs an experiment: `python run_experiment.py --config=configs/NAME.py[:VARIANT] [--workdir=DIR] [--mode=MODE]`.

configs/ holds an experiment a file, configs/tables/ the papers' tables; each file names its variants at its top. Any
field is set by --config.FIELD=VALUE, for example --config.seed=1 or --config.decode.beam=10; --mode=describe tells what
would run. This file reads flags and hands over; everything else is in vatex_jax.
"""

import importlib
import os
import sys
from pathlib import Path

from absl import app, flags, logging
from ml_collections import config_flags

from vatex_jax.errors import ConfigError, VatexError
from vatex_jax.experiments import EXPERIMENTS, after_interruption
from vatex_jax.training.interruption import Interrupted, Interruption

MODES = ("train_and_evaluate", "evaluate", "predict", "describe")

CONFIG = config_flags.DEFINE_config_file("config", None, "Configuration file, with a variant after a colon.")
WORKDIR = flags.DEFINE_string("workdir", None, "Folder of the run; runs/NAME[-VARIANT] by default.")
MODE = flags.DEFINE_enum("mode", MODES[0], MODES, "What to do.")
OVERWRITE = flags.DEFINE_bool("overwrite", False, "Start anew in a folder that holds a run.")


def default_workdir(config_flag: str) -> Path:
    """runs/NAME[-VARIANT] of `configs/NAME.py[:VARIANT]`."""
    path, _, variant = config_flag.partition(":")
    return Path("runs") / "-".join(part for part in (Path(path).stem, variant) if part)


def main(arguments: list[str]) -> None:
    if len(arguments) > 1:
        raise ConfigError(f"{arguments[1]!r} is no flag; flags begin with --, for example --config=configs/vmt.py.")
    config = CONFIG.value
    if config is None:
        raise ConfigError("Which experiment? Give --config, for example --config=configs/vmt.py.")
    if config.experiment not in EXPERIMENTS:
        raise ConfigError(f"config.experiment is {config.experiment!r}: there are {', '.join(EXPERIMENTS)}.")
    workdir = Path(WORKDIR.value) if WORKDIR.value else default_workdir(flags.FLAGS["config"].config_filename)
    importlib.import_module(EXPERIMENTS[config.experiment]).run(config, workdir, MODE.value, OVERWRITE.value)


def run_main(arguments: list[str]) -> int | None:
    try:
        with Interruption() as interruption:
            interruption.raises = True  # where there is nothing to save; training takes SIGTERM over while it runs
            main(arguments)
    except VatexError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.strerror is None:
            raise
        where = f"{error.filename}: " if error.filename else ""  # a full disk names none
        print(f"error: {where}{error.strerror}. Mend that and run the same command.", file=sys.stderr)
        return 2
    except Interrupted:
        print(f"SIGTERM: stopped; the same command {after_interruption(CONFIG.value.experiment)}.", file=sys.stderr)
    return None


def parse_flags(arguments: list[str]) -> list[str]:
    """Reads the flags; what a person can mend about them, or about the configuration they name, is said in a line."""
    file = Path()
    try:
        given = zip(arguments, [*arguments[1:], ""], strict=True)
        for path in (after if word in ("--config", "-config") else word.partition("=")[2] for word, after in given
                     if word.lstrip("-").partition("=")[0] == "config"):  # fmt: skip
            file = Path(path.partition(":")[0])
            if file.suffix != ".py" or not file.is_file() or "def get_config" not in file.read_text(encoding="utf-8"):
                raise ConfigError(
                    f"{file}: there is no such configuration file; configs/ holds them, and paths are from "
                    f"the current folder, {Path.cwd()}."
                )
        return flags.FLAGS(arguments)
    except (VatexError, flags.Error) as error:
        print(f"error: {str(error).splitlines()[0]}", file=sys.stderr)
    except (AttributeError, KeyError) as error:  # how ml_collections says that a --config.FIELD is unknown
        why = " ".join(str(getattr(error.args[0], "args", error.args)[0]).split())
        where = " (in a table, fields of runs are set by --config.run.FIELD)" if "tables" in file.parts else ""
        print(f"error: a --config.FIELD names no field of the configuration: {why}{where}", file=sys.stderr)
    except (TypeError, ValueError) as error:
        print(f"error: a --config.FIELD has a value of the wrong type: {error}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    logging.set_verbosity(logging.WARNING)
    sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may know no Chinese
    app.run(run_main, flags_parser=parse_flags)
