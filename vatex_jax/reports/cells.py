"""From a folder of results.json files to the cells of a table: one block a data set, one run a seed in each cell."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from vatex_jax.errors import DataError
from vatex_jax.metrics.significance import t_interval
from vatex_jax.reports import published, results

DECODED = "decoded"
"""Folder below a run's that holds its outputs decoded in other ways; no table counts them as runs of their own."""

PLACES = ("data.data_dir",)
"""Fields of a configuration that say where things lie on this machine, not what is run."""

_FREE_FIELDS = ("seed", "seeds", "workdir", *PLACES)  # the configurations of one cell may differ in these alone
_DATASET_KEY = ("name", "version", "split", "fingerprint", "simulated", "stand_in")

Where = dict[str, Any]
"""What a result holds at dotted paths: a value, or a function that says whether a value is meant."""


@dataclass(frozen=True)
class Row:
    """A row: its label, what its results hold, and the paper's row (None: not in the paper).

    `prefix` is what stands before the metrics of this row in results that hold several rows (`M.aq.gt_others/`). An
    optional row is shown only where something was run. `baseline` is the label of the row that it is compared with,
    the table's where empty. `kindred` is the paper's row of the same model on other inputs: its figures are told below
    the table, never beside ours.

    Rows of the revised evaluation have `generated` and `statistic`: of `H/k5/cider1/mean` a row of `k5` and `mean` has
    the metric `H/cider1`. What is the same in every model's run is `shared`: of each seed the first run's is shown.
    """

    label: str
    where: Where
    published: str | None = None
    optional: bool = False
    baseline: str = ""
    kindred: str | None = None
    prefix: str = ""
    generated: str = ""
    statistic: str = ""
    shared: bool = False


@dataclass(frozen=True)
class Column:
    """A column: as Row, with the metric it shows, and how many decimals of it.

    Results may lack the metric of an optional column; those of another are an error then. Where `compared` is False,
    rows are not compared by it: more or less is neither better nor worse. A `sparse` column is left out where no row
    has a figure of ours.
    """

    label: str
    where: Where
    metric: str
    published: str | None = None
    places: int = 2
    optional: bool = False
    compared: bool = True
    sparse: bool = False


class Picture(NamedTuple):
    """A picture of a table's results: file name, what it shows, and `draw(results, path)`."""

    file: str
    shows: str
    draw: Callable[[Sequence[dict[str, Any]], Path], None]


class Sheet(NamedTuple):
    """Outputs side by side: file name with `{seed}`, what it shows, `draw(predictions.jsonl by run, path, note)`."""

    file: str
    shows: str
    draw: Callable[[Mapping[str, Path], Path, str], None]


@dataclass(frozen=True)
class Table:
    """A table of a paper.

    Attributes:
      title, published, experiment: heading, name in published.json, and `experiment` of its results.
      rows, columns: the cells.
      baseline: the label of the row that the others are compared with; the first where empty.
      parameters: the paper's column of model sizes in millions, shown before the others; empty for none. A row of
        several models, one a language, counts them all.
      sheet: draws the first seed's outputs side by side.
      source: the data behind the paper's figures.
      of_runs: makes the table of the runs there are, where its rows are not known beforehand.
      picture: draws all runs.
      counted: figures are counted once over all data: there are no seeds and no intervals to show.
    """

    title: str
    published: str
    experiment: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    baseline: str = ""
    parameters: str = ""
    sheet: Sheet | None = None
    source: str = "VaTeX"
    of_runs: Callable[["Sequence[Run]"], "Table"] | None = None
    picture: Picture | None = None
    counted: bool = False

    def fitted(self, runs: "Sequence[Run]") -> "Table":
        """The table with the rows that these runs fill."""
        return self if self.of_runs is None else self.of_runs(runs)

    @property
    def base(self) -> Row:
        return self.row(self.baseline) or self.rows[0]

    def row(self, label: str) -> Row | None:
        """Returns the row of that label."""
        return next((row for row in self.rows if row.label == label), None)

    def base_of(self, row: Row) -> Row:
        """Returns the row that a row is compared with."""
        return self.row(row.baseline) or self.base

    def paper(self, row: Row, column: Column) -> float | None:
        """Returns the paper's figure, None where it has none."""
        if row.published is None or column.published is None:
            return None
        return published.figure(self.published, row.published, column.published)


@dataclass(frozen=True)
class Run:
    """A result and the folder it lies in; of a row with `generated` and `statistic` these too."""

    folder: Path
    result: dict[str, Any]
    generated: str = ""
    statistic: str = ""

    @property
    def seed(self) -> int:
        return self.result["seed"]

    def of_row(self, row: Row) -> "Run":
        """The run with the metrics of one row alone, under the names its columns have."""
        if not row.prefix and not row.generated:
            return self
        own, end = {}, f"/{row.statistic}"
        for name, value in self.result["metrics"].items():
            sets, _, rest = name.partition(f"/{row.generated}/")
            if row.generated and rest.endswith(end):
                own[f"{sets}/{rest.removesuffix(end)}"] = value
            elif not row.generated and name.startswith(row.prefix):
                own[name.removeprefix(row.prefix)] = value
        return Run(self.folder, {**self.result, "metrics": own}, row.generated, row.statistic)


@dataclass(frozen=True)
class Block:
    """The cells of one data set: {(row label, column label): runs in order of seed}, empty where nothing was run."""

    dataset: dict[str, Any]
    cells: dict[tuple[str, str], list[Run]]

    @property
    def label(self) -> str:
        """The data set in one line, with what kind of evidence it is."""
        data = self.dataset
        size = f"{data['sizes'][data['split']]} examples, " if data["split"] in data["sizes"] else ""
        return f"{data['name']} {data['version']}, {data['split']} split, {size}fingerprint {data['fingerprint']}: " + (
            kind(data)
        )


def kind(dataset: dict[str, Any]) -> str:
    """Returns what a data set's scores are evidence of, in words for readers."""
    if dataset["simulated"]:
        return "SIMULATED (a small world with known answers)"
    if dataset["stand_in"]:
        return "STAND-IN features (made from the captions' own words; exercises code, supports no claim)"
    return "real data"


def origin(dataset: dict[str, Any]) -> str:
    """Returns a data set and its kind in a few words, for pictures: `vatex_sim/default 1.1.0: SIMULATED`."""
    return f"{dataset['name']} {dataset['version']}: {kind(dataset).partition(' (')[0]}"


def one_dataset(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The data set of all these results, for a picture of them.

    Raises:
      DataError: there is none, or there are several.
    """
    datasets = {(one["dataset"]["name"], one["dataset"]["fingerprint"]): one["dataset"] for one in found}
    if len(datasets) != 1:
        names = ", ".join(f"{name} ({fingerprint})" for name, fingerprint in datasets) or "none"
        raise DataError(f"a picture is of results on one data set, but these are on: {names}; name other folders")
    return next(iter(datasets.values()))


def load_runs(folders: Iterable[Path]) -> list[Run]:
    """Returns all results under the folders, at any depth, by path; one file reached twice counts once.

    What a run has `DECODED` in other ways counts only where a folder given leads there itself.

    Raises:
      DataError: where a folder does not exist or a results.json breaks the schema.
    """
    paths = set()
    for folder in folders:
        if not folder.is_dir():
            raise DataError(f"{folder}: no such folder")
        found = (path.relative_to(folder) for path in folder.rglob(results.FILE_NAME))
        paths |= {(folder / path).resolve() for path in found if DECODED not in path.parts}
    return [Run(path.parent, results.read(path)) for path in sorted(paths)]


def blocks(table: Table, runs: Sequence[Run]) -> list[Block]:
    """Sorts runs into the cells of a table, one block a data set: real data first, then stand-ins, then simulated.

    Raises:
      DataError: where a cell mixes configurations or holds two different results of one seed, or a column mixes ways
        of scoring.
    """
    placed: dict[tuple, dict[tuple[str, str], list[Run]]] = {}
    datasets: dict[tuple, dict[str, Any]] = {}
    for run in runs:
        if run.result["experiment"] != table.experiment:
            continue
        key = tuple(run.result["dataset"][field] for field in _DATASET_KEY)
        for row in table.rows:
            own = run.of_row(row)
            if not own.result["metrics"]:
                continue
            for column in table.columns:
                lacks = column.optional and column.metric not in own.result["metrics"]
                if not lacks and _matches(run.result, {**row.where, **column.where}):
                    datasets.setdefault(key, run.result["dataset"])
                    cell = placed.setdefault(key, {}).setdefault((row.label, column.label), [])
                    if not row.shared or all(other.seed != own.seed for other in cell):
                        cell.append(own)
    order = sorted(datasets, key=lambda key: (key[4], key[5], key[:4]))
    return [_block(table, datasets[key], placed[key]) for key in order]


def shown_rows(table: Table, block: Block) -> list[Row]:
    """The rows of a table that a block shows."""
    return [row for row in table.rows
            if not row.optional or any(block.cells[row.label, column.label] for column in table.columns)]  # fmt: skip


def shown_columns(table: Table, block: Block) -> list[Column]:
    """The columns of a table that a block shows: of those with `sparse` the filled ones."""
    return [column for column in table.columns
            if not column.sparse or any(block.cells[row.label, column.label] for row in table.rows)]  # fmt: skip


def of_metric(signature: dict[str, str], metric: str) -> dict[str, str]:
    """What a signature says of a metric: of entries by language those of its own (`en/cider`), and the common ones."""
    prefix = f"{metric.partition('/')[0]}/"
    own = {name.removeprefix(prefix): text for name, text in signature.items() if name.startswith(prefix)}
    common = {name: text for name, text in signature.items() if "/" not in name}
    if match := _GENERATED.fullmatch(metric.rpartition("/")[2]):  # other metrics' entries may be lacking in other runs
        family = match[1] or match[2] or match[3]
        common = {name: text for name, text in common.items() if name == family or name not in _FAMILIES}
        own = {name: text for name, text in own.items() if name != "document_frequencies" or family == "cider"}
    return common | own


_FAMILIES = ("cider", "sbleu", "meteor", "bert", "fasttext")
_GENERATED = re.compile(r"(cider|sbleu)[1-4]|(meteor)1|(bert|fasttext)_(?:l2|cs)")
"""Metrics of the revised evaluation, and the entries of signatures that are about some of them alone."""


def is_row_of(row: Row, result: dict[str, Any]) -> bool:
    """Whether a result, or what is known of one before it is run, belongs to a row."""
    return _matches(result, row.where)


def scores(runs: Sequence[Run], metric: str) -> list[float]:
    """Returns a metric of each run.

    Raises:
      DataError: naming the run that lacks it.
    """
    for run in runs:
        if metric not in run.result["metrics"]:
            file = run.folder / results.FILE_NAME
            raise DataError(f"{file}: the metric {metric!r} is missing; evaluate the run anew")
    return [float(run.result["metrics"][metric]) for run in runs]


def mean_and_half_width(runs: Sequence[Run], metric: str) -> tuple[float, float]:
    """Returns the mean over seeds and half its 95% t-interval: NaN for both without runs, for the latter with one."""
    return t_interval(scores(runs, metric)) if runs else (math.nan, math.nan)


def parameters(block: Block, row: Row) -> int | None:
    """Returns how many parameters a row's models have together, None where one of its cells is empty.

    A row of several models, one a column, would else show the sum of those that happen to be there.
    """
    filled = [cell for (label, _), cell in block.cells.items() if label == row.label]
    if not all(filled):
        return None
    return sum({run.result["variant"]: run.result["parameters"] for cell in filled for run in cell}.values())


def signatures(block: Block, column: Column) -> dict[str, str]:
    """Returns how the scores of a column were counted, {} where nothing was run."""
    runs = (run for (_, label), cell in block.cells.items() if label == column.label for run in cell)
    return next((run.result["signature"] for run in runs), {})


def _block(table: Table, dataset: dict[str, Any], placed: dict[tuple[str, str], list[Run]]) -> Block:
    cells = {
        (row.label, column.label): _one_a_seed(placed.get((row.label, column.label), []))
        for row in table.rows
        for column in table.columns
    }
    for column in table.columns:
        runs = [run for row in table.rows for run in cells[row.label, column.label]]
        for run in runs[1:]:
            if of_metric(run.result["signature"], column.metric) != of_metric(
                runs[0].result["signature"], column.metric
            ):
                raise DataError(
                    f"{run.folder} and {runs[0].folder}: scores counted in different ways cannot share a column: "
                    f"{run.result['signature']} and {runs[0].result['signature']}"
                )
    return Block(dataset, cells)


def _one_a_seed(runs: list[Run]) -> list[Run]:
    """Returns a cell's runs by seed; copies of one result count once."""
    by_seed: dict[int, Run] = {}
    for run in runs:
        differ = _differing_fields(run.result["config"], runs[0].result["config"])
        if differ:
            raise DataError(
                f"{run.folder} and {runs[0].folder}: one cell cannot mix configurations; they differ in "
                f"{', '.join(differ)}. Name the folder of the table's own runs"
            )
        first = by_seed.setdefault(run.seed, run)
        if first.result["metrics"] != run.result["metrics"]:
            raise DataError(
                f"{run.folder} and {first.folder}: two different results of seed {run.seed}. Remove one, or name the "
                f"folder of the table's own runs"
            )
    return [by_seed[seed] for seed in sorted(by_seed)]


def _differing_fields(a: dict[str, Any], b: dict[str, Any], prefix: str = "") -> list[str]:
    differ = []
    for name in sorted(a.keys() | b.keys()):
        if prefix + name in _FREE_FIELDS:
            continue
        left, right = a.get(name), b.get(name)
        if isinstance(left, dict) and isinstance(right, dict):
            differ += _differing_fields(left, right, f"{prefix}{name}.")
        elif (name in a) != (name in b) or json.dumps(left) != json.dumps(right):
            differ.append(prefix + name)
    return differ


def _matches(result: dict[str, Any], where: Where) -> bool:
    found = ((_at(result, path.split(".")), wanted) for path, wanted in where.items())
    return all(wanted(value) if callable(wanted) else value == wanted for value, wanted in found)


def _at(value: Any, path: list[str]) -> Any:
    """Returns what lies at a path of keys, None where there is no such path."""
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value
