"""A paper's table: every row, direction and seed of a configuration run in turn, resumed where it stopped."""

import importlib
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ml_collections

from vatex_jax.data.sources import current_version
from vatex_jax.errors import ConfigError, DataError, VatexError
from vatex_jax.experiments import EXPERIMENTS
from vatex_jax.experiments.workdir import differences
from vatex_jax.metrics.java import kept_running
from vatex_jax.reports import caption_sheet, cells, question_scores, results, tables
from vatex_jax.reports.item_statistics import KINDS

MODES = ("train_and_evaluate", "describe")
OTHER_FOLDER = "Give another --config.results_dir, or run the table anew with --overwrite."


def run(config: ml_collections.ConfigDict, workdir: Path, mode: str, overwrite: bool = False) -> dict[str, Any] | None:
    """Runs what is missing of a table and prints it.

    A finished run's results.json and `item_statistics` are copied to RUN in the `kept_folder`; a run found there with
    the same configuration is not run again. What runs lack is told before the first is started.
    """
    if mode not in MODES:
        raise ConfigError(f"--mode={mode} has no meaning for a table: it must be one of {', '.join(MODES)}.")
    if config.get("table") not in tables.TABLES:
        raise ConfigError(f"config.table is {config.get('table')!r}: there are {', '.join(tables.TABLES)}.")
    if not config.seeds or len(set(config.seeds)) < len(config.seeds) or min(config.seeds) < 0:
        raise ConfigError(f"config.seeds is {tuple(config.seeds)}: name one or more, each once, none negative.")
    if mode == "describe":
        describe(config)
        return None
    runs, kept = list(planned(config)), kept_folder(config, workdir)
    missing = [(name, one) for name, one in runs if overwrite or not is_done(kept / name, one)]
    print(f"{len(runs)} runs: {len(runs) - len(missing)} are in {kept}, {len(missing)} to go.", flush=True)
    _check_inputs([one for _, one in missing])
    result = None
    with kept_running():
        for number, (name, one) in enumerate(missing, 1):
            print(f"\n[{number} of {len(missing)}] {name}", flush=True)
            result = _run_one(name, one, workdir, kept, overwrite)
    if missing and result is None:
        return None
    table = tables.TABLES[config.table]
    there = cells.load_runs([kept / name for name, _ in runs])
    table = table.fitted(there)
    found = cells.blocks(table, there)
    if not found:
        raise DataError(
            f"None of the runs has what {config.table} shows: their metrics are of "
            f"{', '.join(sorted({name.partition('/')[0] for run in there for name in run.result['metrics']}))}. Name "
            "sets of references as the table does, H=FILE or S=FILE, and look whether anything could be scored."
        )
    print("\n" + tables.render(table, found, "text"))
    if table.sheet:
        _draw_sheet(table.sheet, runs, workdir)
    if table.picture:
        path = workdir / "figures" / table.picture.file
        table.picture.draw([run.result for run in there], path)
        print(f"\n{table.picture.shows}: {path}")
    return None


def _run_one(
    name: str, config: ml_collections.ConfigDict, workdir: Path, kept: Path, overwrite: bool
) -> dict[str, Any] | None:
    """Runs, and keeps the result; None in all but the first of several processes."""
    started = time.monotonic()
    try:
        result = importlib.import_module(EXPERIMENTS[config.experiment]).run(
            config, workdir / name, "train_and_evaluate", overwrite
        )
    except VatexError as error:
        raise type(error)(f"{name}: {error}{_of_runs(str(error))}") from error
    if result is not None:  # of several processes, the first alone keeps and prints
        _keep(workdir / name, kept / name)
        print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)
    return result


def kept_folder(config: ml_collections.ConfigDict, workdir: Path) -> Path:
    """Where a table's results are kept and looked for: `config.results_dir`, and where that is empty by the data.

    Those of the bundled worlds are in results/TABLE (another table's where they share runs), a part of this repository
    from which its README is made; those of a person's own data stay in the work folder.
    """
    if config.results_dir:
        return Path(config.results_dir)
    bundled = config.run.data.name.partition("/")[0].endswith("_sim") and not _models(config)
    return Path("results", config.get("results_of", config.table)) if bundled else workdir


def _check_inputs(runs: Sequence[ml_collections.ConfigDict]) -> None:
    """Raises ConfigError with what runs lack, for experiments that can tell beforehand; once for each row."""
    lacking: dict[str, dict[str, None]] = {}
    for one in {(one.variant, one.get("direction")): one for one in runs}.values():
        check = getattr(importlib.import_module(EXPERIMENTS[one.experiment]), "check_inputs", None)
        try:
            if check is not None:
                check(one)
        except VatexError as error:
            lacking.setdefault(str(error), {})[one.variant] = None
    if lacking:
        reasons = "\n".join(f"{', '.join(variants)}: {reason}" for reason, variants in lacking.items())
        raise ConfigError(f"Some rows cannot be run, so none is:\n{reasons}{_of_runs(reasons)}")


def _of_runs(reasons: str) -> str:
    """How the fields that reasons name are set in a table."""
    return "\nIn a table, fields of runs are set by --config.run.FIELD." if "config." in reasons else ""


def describe(config: ml_collections.ConfigDict) -> None:
    """Prints what would run, a line a row of the table with its models' parameters; needs no data."""
    table = tables.TABLES[config.table]
    first = {(one.variant, one.get("direction")): one for _, one in planned(config)}
    print(f"{table.title}: {len(list(planned(config)))} runs on {config.run.data.name}, seeds {tuple(config.seeds)}")
    told = set()
    for row in table.rows:
        counts = {}
        for (variant, direction), one in first.items():
            if cells.is_row_of(row, {"variant": variant, "config": one.to_dict()}):
                count = importlib.import_module(EXPERIMENTS[one.experiment]).parameters(one)
                counts.setdefault(direction, {})[variant] = count
        for direction, by_variant in counts.items():
            label = f"{row.label}{'' if direction is None else f', {direction}'}"
            runs = (direction, *by_variant)
            print(f"{label}: {'the same run' if runs in told else _sizes(by_variant)}")  # a run may measure many rows
            told.add(runs)


def _sizes(counts: dict[str, int | None]) -> str:
    """A row's models and their parameters, in all and each; None is a number that only the data tell."""
    if None in counts.values():
        return f"- parameters, which the data decide: {', '.join(counts)}"
    total = sum(counts.values())
    models = ", ".join(f"{variant} {count:,}" for variant, count in counts.items())
    millions = f" ({total / 1e6:.1f}M)" if total >= 1e6 else ""
    return f"{total:,} parameters{millions}: {models}"


def planned(config: ml_collections.ConfigDict) -> Iterator[tuple[str, ml_collections.ConfigDict]]:
    """(name, configuration) of each run, seed by seed, so that a table cut short holds whole seeds."""
    for seed in config.seeds:
        for direction in config.get("directions", ("",)):
            for variant, changes in (_models(config) or config.rows).items():
                one = config.run.copy_and_resolve_references()
                one.update(changes)
                one.variant, one.seed = changes.get("variant", variant), seed
                if direction:
                    one.direction = direction
                if "vocabulary_size" in config:
                    one.vocabulary_size = config.vocabulary_size
                data = "files" if _models(config) else one.data.name.replace("/", "-")
                yield f"{data}/{direction}{'-' if direction else ''}{variant}-seed{seed}", one


def _models(config: ml_collections.ConfigDict) -> dict[str, dict[str, str]]:
    """Rows of a table of other people's models: `config.models` is NAME=FILE,NAME=FILE, files of generations.

    Raises:
        ConfigError: a part has no name or no file, or two names would be one row; several seeds, which files have not.
    """
    found: dict[str, dict[str, str]] = {}
    plain: set[str] = set()
    for part in filter(None, config.get("models", "").split(",")):
        name, path = (side.strip() for side in part.partition("=")[::2])
        row = name.casefold().replace("-", "_")
        if not _MODEL.fullmatch(name) or not path or row in plain:
            raise ConfigError(
                f"config.models: {part!r} must be NAME=FILE, a model and its generations; names of up to 60 letters, "
                "digits and . _ + -, each once whatever the capitals."
            )
        plain.add(row)
        found[name] = {"generations": path}
    if found and len(config.seeds) > 1:
        raise ConfigError("config.seeds: generations in files are of one seed; name each seed's file as a model.")
    return found


_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,59}")


def is_done(folder: Path, config: ml_collections.ConfigDict) -> bool:
    """Whether `folder` holds the result of this very configuration on the data set as it is now.

    Raises:
        ConfigError: it holds another configuration's, naming the fields, or one on another version of the data set.
    """
    path = folder / results.FILE_NAME
    if not path.exists():
        return False
    there = results.read(path)
    differing = differences(there["config"], config)
    if differing:
        raise ConfigError(f"{path} is the result of another configuration:\n{differing}\n{OTHER_FOLDER}")
    of_files = getattr(importlib.import_module(EXPERIMENTS[config.experiment]), "is_of_files", None)
    if of_files is not None and config.generations:
        return of_files(config, there)
    version = current_version(config.data.name)
    if there["dataset"]["version"] != version:
        raise ConfigError(
            f"{path} is a result on {config.data.name} {there['dataset']['version']}, which is {version} now. "
            f"{OTHER_FOLDER}"
        )
    return True


def _draw_sheet(sheet: cells.Sheet, runs: Sequence[tuple[str, ml_collections.ConfigDict]], workdir: Path) -> None:
    """Outputs of the first seed's runs side by side, of those that are in the work folder."""
    seed = runs[0][1].seed
    of_seed = [name for name, one in runs if one.seed == seed]
    written = {name: workdir / name / "predictions.jsonl" for name in of_seed}
    there = {Path(name).name.removesuffix(f"-seed{seed}"): path for name, path in written.items() if path.exists()}
    if there:
        path = workdir / "figures" / sheet.file.format(seed=seed)
        try:
            sheet.draw(there, path, caption_sheet.origin_of(next(iter(there.values())).parent))
            print(f"\n{sheet.shows} of seed {seed} side by side: {path}")
        except DataError as error:  # the table is there all the same
            print(f"\n{sheet.shows} of seed {seed} are not drawn: {error}")


def _keep(folder: Path, kept: Path) -> None:
    if folder == kept:
        return
    kept.mkdir(parents=True, exist_ok=True)
    for name in (
        *(kind.file for kind in KINDS),
        question_scores.FILE,
        results.FILE_NAME,
    ):  # the result last: it says that the run is done
        if (folder / name).exists():
            shutil.copyfile(folder / name, kept / f".{name}.partial")
            (kept / f".{name}.partial").replace(kept / name)
    sys.stdout.flush()
