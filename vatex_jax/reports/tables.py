"""The papers' tables, filled from results.json files alone.

    python -m vatex_jax.reports.tables runs/ --table=vatex_table5 [--format=text|markdown|csv]

One block a data set, never two in one column. A cell is the mean over seeds with its 95% t-interval; the paper's figure
stands beside it in a column of its own. Under each block every row is compared with one of them. A table is described
by data (`TABLES`), so another one is a few lines more.
"""

import argparse
import csv
import io
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from vatex_jax.errors import DataError, VatexError
from vatex_jax.metrics.bleu import format_signature
from vatex_jax.reports import published
from vatex_jax.reports.cells import (
    Block,
    Column,
    Row,
    Table,
    blocks,
    compare,
    kind,
    load_runs,
    mean_and_half_width,
    of_metric,
    parameters,
    shown_rows,
    signatures,
)
from vatex_jax.reports.grid import markdown_grid, text_grid

MISSING = "missing"
_CSV_HEADER = ("table", "dataset", "version", "split", "fingerprint", "kind", "row", "column", "metric", "seeds",
               "mean", "half_width_95", "paper", "parameters")  # fmt: skip
GRID_COLUMNS = 4  # of a table beside one another; more go below
NONE = "-"  # there cannot be a figure, for example the paper's for a row it does not have

TABLES = {
    "vatex_table5": Table(
        title="Video-guided machine translation, BLEU-4",
        published="vatex_table5",
        experiment="translation",
        rows=(
            Row("NMT without video", {"variant": "none"}, "none"),
            Row("+ average video feature", {"variant": "average"}, "average"),
            Row("+ LSTM video, no attention", {"variant": "final"}, "final"),
            Row("+ LSTM video, attention (VMT)", {"variant": "attention"}, "attention"),
            Row("shuffled video (control)", {"variant": "shuffled"}),
        ),
        columns=tuple(
            Column(direction, {"config.direction": direction}, "bleu4", f"{direction}/bleu4")
            for direction in ("en2zh", "zh2en")
        ),
    ),
}


def _one_of(*values: str) -> Callable[[Any], bool]:
    return lambda value: value in values


def _knows(language: str) -> Callable[[Any], bool]:
    return lambda languages: isinstance(languages, (list, tuple)) and language in languages


TABLES["vatex_table4"] = Table(
    title="Multilingual video captioning",
    published="vatex_table4",
    experiment="captioning",
    rows=(
        Row("Base w/o WT (two models)", {"variant": _one_of("base_en_untied", "base_zh_untied")}, "base_untied"),
        Row("Base (two models)", {"variant": _one_of("base_en", "base_zh")}, "base"),
        Row("Shared Enc", {"variant": "shared_enc"}, "shared_encoder"),
        Row("Shared Enc-Dec", {"variant": "shared_enc_dec"}, "shared_encoder_decoder"),
        Row("shuffled video (control)", {"variant": "shuffled"}),
    ),
    columns=tuple(
        Column(f"{language} {title}", {"config.model.languages": _knows(language)}, *[f"{language}/{metric}"] * 2)
        for language in ("en", "zh")
        for metric, title in (("bleu4", "BLEU-4"), ("meteor", "METEOR"), ("rouge_l", "ROUGE-L"), ("cider", "CIDEr"))
    ),
    baseline="Base (two models)",
    parameters="parameters_million",
    sheet=True,
)


_RANKING = (("mr", "MR", 2), ("r@1", "R@1", 2), ("r@5", "R@5", 2), ("r@10", "R@10", 2), ("mrr", "MRR", 4),
            ("ndcg", "NDCG", 4))  # fmt: skip
# variant, its label, whether the vectors are GloVe's, image features: the paper's rows, and no CCA with GloVe vectors.
_RANKERS = (
    ("nn_aq", "NN-AQ", False, ""),
    ("nn_aq", "NN-AQ", True, ""),
    ("nn_aqi", "NN-AQI", False, "resnet34"),
    ("nn_aqi", "NN-AQI", True, "vgg16"),
    ("none", "no CCA", False, ""),
    ("none", "no CCA", True, ""),
    ("aq", "CCA-AQ", False, ""),
    ("aq", "CCA-AQ", True, ""),
    ("aqi", "CCA-AQI (Q)", False, "resnet34"),
    ("aqi", "CCA-AQI (Q)", True, "vgg16"),
    ("aqi", "CCA-AQI (Q)", True, "vgg19"),
)


def _visdial_table5(version: str, of_version: Callable[[Any], bool], metrics: Sequence[tuple[str, str, int]]) -> Table:
    """Appendix A's rows that rank without a model of dialogue, by the vectors and image features they have."""
    rows = []
    for variant, label, glove, images in _RANKERS:
        where = {"variant": variant, "config.data.name": of_version, "config.vectors.source": _is_glove(glove)}
        where |= {"config.data.image_features": images} if images else {}
        features = " ".join(filter(None, (images, "GloVe" if glove else "FastText or learned")))
        name = "/".join([version or "v1.0", variant, *([images or "glove"] if glove else [])])
        rows.append(Row(f"{label} ({features})", where, name, optional=glove))
    return Table(
        title=f"Ranking by CCA and nearest neighbours{version and f', VisDial {version}'}",
        published="visdial_table5",
        experiment="cca",
        rows=tuple(rows),
        columns=tuple(
            Column(title, {}, metric, metric, places, optional=metric == "ndcg") for metric, title, places in metrics
        ),
        baseline="no CCA (FastText or learned)",
        source="VisDial",
    )


def _is_glove(wanted: bool) -> Callable[[Any], bool]:
    """Whether word vectors are GloVe's goes by the name of their source; learned ones stand where FastText's do."""
    return lambda source: ("glove" in str(source).rpartition("/")[2].lower()) == wanted


TABLES["visdial_table5"] = _visdial_table5("", lambda name: name != "visdial/v0.9", _RANKING)
TABLES["visdial_table5_v09"] = _visdial_table5("v0.9", lambda name: name == "visdial/v0.9", _RANKING[:-1])


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
    for column in table.columns:
        header += [f"{column.label}: ours", f"{column.label}: paper ({table.source})"]
        for row, line in zip(shown, rows, strict=True):
            line += [_cell_text(block, row, column), _paper_text(table.paper(row, column), column.places)]
    return header, rows


def side_by_side(header: list[str], rows: list[list[str]]) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Cuts a wide grid into grids of `GRID_COLUMNS` figures and the paper's each, the labels before every one."""
    for start in range(1, len(header), 2 * GRID_COLUMNS):
        stop = start + 2 * GRID_COLUMNS
        yield [header[0], *header[start:stop]], [[line[0], *line[start:stop]] for line in rows]


def gap_grid(table: Table, block: Block) -> tuple[list[str], list[list[str]]]:
    """Returns header and rows comparing every row with the baseline, where both have seeds in common."""
    header = ["", "column", "difference", "95% over seeds", "p (paired t)", "% of it", "95% over sentences"]
    header += ["p (bootstrap)", "seeds", f"paper ({table.source})"]
    first, rows = table.base, []
    for column in table.columns:
        for row in shown_rows(table, block):
            if row is first:
                continue
            runs, base = block.cells[row.label, column.label], block.cells[first.label, column.label]
            compared = compare(runs, base, column.metric)
            if compared is None:
                continue
            ours, theirs = table.paper(row, column), table.paper(first, column)
            gap = NONE if ours is None or theirs is None else f"{ours - theirs:+.{column.places}f}"
            difference = f"{compared['difference']:+.{column.places}f}"
            rows.append([row.label, column.label, difference, *_tests(compared), gap])
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
        found = blocks(table, load_runs(chosen.folders))
        if not found:
            where = ", ".join(map(str, chosen.folders))
            raise DataError(
                f"no results of {chosen.table} under {where}; make them with "
                f"python run_experiment.py --config=configs/tables/{table.published}.py"
            )
        print(render(table, found, chosen.format))
    except VatexError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _block_text(table: Table, block: Block, form: str) -> str:
    draw = markdown_grid if form == "markdown" else text_grid
    header, rows = main_grid(table, block)
    parts = [f"Data: {block.label}"]
    parts += [draw(head, lines, [False] + [True] * (len(head) - 1)) for head, lines in side_by_side(header, rows)]
    header, gaps = gap_grid(table, block)
    if gaps:
        parts += [
            f'Difference from "{table.base.label}", over the seeds both have',
            draw(header, gaps, [False, False] + [True] * (len(header) - 2)),
        ]
    notes = [
        "Ours: mean over seeds, +- half the 95% t-interval (number of seeds); in brackets the run's own 95% interval."
    ]
    notes += [f"Paper: {published.tables()[table.published]['source']}, its own data and tokens."]
    notes += _signature_notes(table, block)
    return "\n\n".join([*parts, ("  \n" if form == "markdown" else "\n").join(notes)])


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
    return [f"Signature of {', '.join(labels)}: {told}" for told, labels in columns.items()]


def _cell_text(block: Block, row: Row, column: Column) -> str:
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
    return f"{shown} ({len(runs)})"


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


def _tests(compared: dict[str, float]) -> list[str]:
    over_seeds = [NONE, NONE]
    if compared["seeds"] > 1:
        over_seeds = [_interval(compared["low"], compared["high"]), _p(compared["p"])]
    share = f"{compared['percent']:.1f}" if "percent" in compared else NONE
    if "percent" in compared and compared["seeds"] > 1:
        share += f" +- {compared['percent_half_width']:.1f}"
    over_sentences = [NONE, NONE]
    if "bootstrap_p" in compared:
        over_sentences = [
            _interval(compared["bootstrap_low"], compared["bootstrap_high"]),
            _p(compared["bootstrap_p"]),
        ]
    return [*over_seeds, share, *over_sentences, f"{compared['seeds']:.0f}"]


def _interval(low: float, high: float) -> str:
    return f"[{low:+.2f}, {high:+.2f}]"


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
