"""The papers' tables, filled from results.json files alone.

    python -m vatex_jax.reports.tables runs/ --table=vatex_table5 [--format=text|markdown|csv]

One block a data set, never two in one column. A cell is the mean over seeds with its 95% t-interval; the paper's figure
stands beside it in a column of its own. Under each block every row is compared with one of them. A table is described
by data (`table_list`), so another one is a few lines more.
"""

import argparse
import csv
import io
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from vatex_jax.errors import DataError, VatexError
from vatex_jax.metrics.bleu import format_signature
from vatex_jax.reports import published, question_scores
from vatex_jax.reports.cells import (
    Block,
    Column,
    Row,
    Table,
    blocks,
    kind,
    load_runs,
    mean_and_half_width,
    of_metric,
    parameters,
    shown_columns,
    shown_rows,
    signatures,
)
from vatex_jax.reports.comparisons import compare
from vatex_jax.reports.grid import markdown_grid, text_grid
from vatex_jax.reports.item_statistics import kind_of
from vatex_jax.reports.table_list import TABLES

MISSING = "missing"
_CSV_HEADER = ("table", "dataset", "version", "split", "fingerprint", "kind", "row", "column", "metric", "seeds",
               "mean", "half_width_95", "paper", "parameters")  # fmt: skip
GRID_COLUMNS = 4  # of a table beside one another; more go below
NONE = "-"  # there cannot be a figure, for example the paper's for a row it does not have


def render(table: Table, found: Sequence[Block], form: str) -> str:
    """Returns the blocks of a table as `text`, `markdown` or `csv`."""
    if form == "csv":
        return _csv(table, found)
    heading = f"## {table.title}" if form == "markdown" else table.title
    return "\n\n".join([heading, *(_block_text(table, block, form) for block in found)])


def main_grid(table: Table, block: Block) -> tuple[list[str], list[list[str]]]:
    """Returns header and rows: for each column ours, then the paper's figure."""
    shown = shown_rows(table, block)
    header, rows = [""], [[row.label] for row in shown]
    if table.parameters:
        header += ["parameters: ours", f"parameters: paper ({table.source})"]
        for row, line in zip(shown, rows, strict=True):
            line += _parameter_texts(table, block, row)
    for column in shown_columns(table, block):
        header += [f"{column.label}: ours", f"{column.label}: paper ({table.source})"]
        for row, line in zip(shown, rows, strict=True):
            line += [_cell_text(table, block, row, column), _paper_text(table.paper(row, column), column.places)]
    return header, rows


def side_by_side(header: list[str], rows: list[list[str]]) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Cuts a wide grid into grids of `GRID_COLUMNS` figures and the paper's each, the labels before every one."""
    for start in range(1, len(header), 2 * GRID_COLUMNS):
        stop = start + 2 * GRID_COLUMNS
        yield [header[0], *header[start:stop]], [[line[0], *line[start:stop]] for line in rows]


def gap_grid(table: Table, block: Block) -> tuple[list[str], list[list[str]]]:
    """Returns header and rows comparing every row with its baseline, where both have seeds in common."""
    items = next((kind.items for column in table.columns if (kind := kind_of(column.metric))), question_scores.ITEMS)
    header = ["", "from", "column", "difference", "95% over seeds", "p (paired t)", "% of it", f"95% over {items}"]
    header += ["p (bootstrap)", "seeds", f"paper ({table.source})"]
    rows = []
    for column in (column for column in table.columns if column.compared):
        for row in shown_rows(table, block):
            base = table.base_of(row)
            runs, bases = block.cells[row.label, column.label], block.cells[base.label, column.label]
            compared = compare(runs, bases, column.metric) if row is not base else None
            if compared is None:
                continue
            ours, theirs = table.paper(row, column), table.paper(base, column)
            gap = NONE if ours is None or theirs is None else f"{ours - theirs:+.{column.places}f}"
            difference = f"{compared['difference']:+.{column.places}f}"
            tests = _tests(compared, column.places)
            rows.append([row.label, base.label, column.label, difference, *tests, gap])
    return header, rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a table; returns the exit status, 2 after an error of the person's."""
    parser = argparse.ArgumentParser(prog="python -m vatex_jax.reports.tables", description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, help="searched at any depth for results.json")
    parser.add_argument("--table", required=True, choices=sorted(TABLES))
    parser.add_argument("--format", default="text", choices=("text", "markdown", "csv"))
    chosen = parser.parse_args(arguments)
    table = TABLES[chosen.table]
    try:
        runs = load_runs(chosen.folders)
        table = table.fitted(runs)
        found = blocks(table, runs)
        if not found:
            where = ", ".join(map(str, chosen.folders))
            raise DataError(
                f"no results of {chosen.table} under {where}; make them with "
                f"python run_experiment.py --config=configs/{_maker(table)}.py"
            )
        print(render(table, found, chosen.format))
    except VatexError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _maker(table: Table) -> str:
    """The configuration that makes a table's results: where it is no sweep, the experiment's own."""
    return table.experiment if table.experiment == "corpus" else f"tables/{table.published}"


_OURS = "Ours: mean over seeds, +- half the 95% t-interval (number of seeds); in brackets the run's own 95% interval."
_OURS_COUNTED = "Ours: counted once over the whole corpus; nothing is drawn, so there are no seeds and no intervals."


def _block_text(table: Table, block: Block, form: str) -> str:
    draw = markdown_grid if form == "markdown" else text_grid
    header, rows = main_grid(table, block)
    parts = [f"Data: {block.label}"]
    for head, lines in (_filled(*grid) for grid in side_by_side(header, rows)):
        parts.append(draw(head, lines, [False] + [True] * (len(head) - 1)))
    parts += _gap_texts(*gap_grid(table, block), draw)
    notes = [_OURS_COUNTED if table.counted else _OURS]
    notes += [f"Paper: {published.tables()[table.published]['source']}, its own data and tokens."]
    notes += _kindred_notes(table, block) + _signature_notes(table, block)
    return "\n\n".join([*parts, ("  \n" if form == "markdown" else "\n").join(notes)])


def _filled(header: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """A grid without the columns in which no row has a figure."""
    kept = [place for place in range(len(header)) if place == 0 or any(row[place] != NONE for row in rows)]
    return [header[place] for place in kept], [[row[place] for place in kept] for row in rows]


def _gap_texts(header: list[str], gaps: list[list[str]], draw: Callable[..., str]) -> list[str]:
    """The comparison with a heading that says what need not stand in every line: one baseline, one seed."""
    bases, seeds = ({row[header.index(name)] for row in gaps} for name in ("from", "seeds"))
    if not gaps:
        return []
    base = f'"{min(bases)}"' if len(bases) == 1 else "the row that is named"
    several = seeds != {"1"}
    said = {"from"} if len(bases) == 1 else set()
    said |= set() if several else {"seeds"}
    kept = [place for place, name in enumerate(header) if name not in said]
    header, gaps = _filled([header[place] for place in kept], [[row[place] for place in kept] for row in gaps])
    texts = 1 + header.index("column")
    return [
        f"Difference from {base}{', over the seeds both have' if several else ''}",
        draw(header, gaps, [False] * texts + [True] * (len(header) - texts)),
    ]


def _kindred_notes(table: Table, block: Block) -> list[str]:
    """The paper's figures of rows that have other inputs than ours, a line each."""
    notes = []
    for row in shown_rows(table, block):
        figures = [
            f"{column.label} {figure:.{column.places}f}"
            for column in table.columns
            if row.kindred and column.published
            and (figure := published.figure(table.published, row.kindred, column.published)) is not None
        ]  # fmt: skip
        if figures:
            label = published.tables()[table.published]["rows"][row.kindred]["label"]
            notes.append(f"The paper's {label} ({table.source}): {', '.join(figures)}.")
    return notes


def _signature_notes(table: Table, block: Block) -> list[str]:
    """How scores were counted, a line for all columns that are counted alike."""
    columns: dict[str, list[str]] = {}
    for column in table.columns:
        own = of_metric(signatures(block, column), column.metric)
        if own:
            told = (
                format_signature(own, column.metric) if "tokeniser" in own else "; ".join(map(": ".join, own.items()))
            )
            columns.setdefault(told, []).append(column.label)
    if not columns:  # rows are in several languages, each with its own entries
        runs = [run for cell in block.cells.values() for run in cell]
        entries = dict(sorted({item for run in runs for item in run.result["signature"].items()}))
        return [f"Signature: {'; '.join(map(': '.join, entries.items()))}"] if entries else []
    every = len(table.columns) if len(table.columns) > 1 else math.inf
    return [
        f"Signature of {'all columns' if len(labels) == every else ', '.join(labels)}: {told}"
        for told, labels in columns.items()
    ]


def _cell_text(table: Table, block: Block, row: Row, column: Column) -> str:
    runs = block.cells[row.label, column.label]
    mean, half = mean_and_half_width(runs, column.metric)
    if not runs:
        return MISSING
    shown = f"{mean:.{column.places}f}"
    if not math.isnan(half):
        return f"{shown} +- {half:.{column.places}f} ({len(runs)})"
    low, high = (runs[0].result["metrics"].get(f"{column.metric}_{end}") for end in ("low", "high"))
    if low is not None and high is not None:
        return f"{shown} [{low:.{column.places}f}, {high:.{column.places}f}]"
    return shown if table.counted else f"{shown} ({len(runs)})"


def _parameter_texts(table: Table, block: Block, row: Row) -> list[str]:
    """Ours, whole, and the paper's in millions; each with how much more or less that is than the baseline's."""

    def paper(row: Row) -> float | None:
        return None if row.published is None else published.figure(table.published, row.published, table.parameters)

    ours, theirs = parameters(block, row), paper(row)
    return [
        MISSING if ours is None else f"{ours:,}{_change(ours, parameters(block, table.base))}",
        NONE if theirs is None else f"{theirs:.1f}M{_change(theirs, paper(table.base))}",
    ]


def _change(value: int | float, base: int | float | None) -> str:
    return "" if base is None or value == base else f" ({100 * (value - base) / base:+.1f}%)"


def _paper_text(figure: float | None, places: int) -> str:
    return NONE if figure is None else f"{figure:.{places}f}"


def _tests(compared: dict[str, float], places: int) -> list[str]:
    over_seeds = [NONE, NONE]
    if compared["seeds"] > 1:
        over_seeds = [_interval(compared["low"], compared["high"], places), _p(compared["p"])]
    share = f"{compared['percent']:.1f}" if "percent" in compared else NONE
    if "percent" in compared and compared["seeds"] > 1:
        share += f" +- {compared['percent_half_width']:.1f}"
    over_items = [NONE, NONE]
    if "bootstrap_p" in compared:
        over_items = [
            _interval(compared["bootstrap_low"], compared["bootstrap_high"], places),
            _p(compared["bootstrap_p"]),
        ]
    return [*over_seeds, share, *over_items, f"{compared['seeds']:.0f}"]


def _interval(low: float, high: float, places: int) -> str:
    return f"[{low:+.{places}f}, {high:+.{places}f}]"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _csv(table: Table, found: Sequence[Block]) -> str:
    """One line a cell, full precision, empty where there is no figure."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_CSV_HEADER)
    for block in found:
        data = block.dataset
        named = [table.published, data["name"], data["version"], data["split"], data["fingerprint"], kind(data)]
        for row in shown_rows(table, block):
            for column in table.columns:
                runs, paper = block.cells[row.label, column.label], table.paper(row, column)
                figures = [*mean_and_half_width(runs, column.metric), paper]
                blank = ["" if x is None or math.isnan(x) else repr(x) for x in figures]
                count = parameters(block, row)
                sizes = ["" if count is None else count]
                writer.writerow([*named, row.label, column.label, column.metric, len(runs), *blank, *sizes])
    return out.getvalue().rstrip("\n")


if __name__ == "__main__":
    sys.exit(main())
