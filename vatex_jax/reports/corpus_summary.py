"""What a person reads at the end of a corpus analysis: Tables 2 and 3 of these corpora, and what was rejected."""

import os
from collections.abc import Sequence
from typing import Any

from vatex_jax.reports import published
from vatex_jax.reports.cells import kind
from vatex_jax.reports.grid import text_grid
from vatex_jax.reports.summary import one_line
from vatex_jax.reports.table_list import CORPUS_COLUMNS

LANGUAGES = {"en": "English", "zh": "Chinese"}
PAPER = {"msr_vtt": "MSR-VTT", "en": "VaTeX-en", "zh": "VaTeX-zh"}


def corpus_summary(
    found: Sequence[dict[str, Any]], details: Sequence[dict[str, Any]], workdir: str | os.PathLike
) -> str:
    """Returns the summary of some corpora as text.

    Args:
        found: valid results (`reports.results`) of corpus analyses.
        details: of each, its corpus.json.
        workdir: where the run's files are.
    """
    parts = []
    for result, own in zip(found, details, strict=True):
        data = result["dataset"]
        parts.append(f"{data['name']} {data['version']}: {kind(data)}\n\n{_totals(own)}")
    columns = [column for column in CORPUS_COLUMNS if any(_own(result, column[0]) for result in found)]
    lines = [
        [f"{result['dataset']['name']}, {title}", *(_cell(result["metrics"], f"{language}/{name}", places)
                                                     for name, _, places in columns)]
        for result in found
        for language, title in LANGUAGES.items()
        if f"{language}/captions" in result["metrics"]
    ]  # fmt: skip
    parts.append(f"Table 1, with the paper's figures below\n\n{_sizes(found)}")
    if any(result["dataset"]["name"].partition("/")[0].lower() == "vatex" for result in found):
        parts.append(f"Table 2 of the paper: {_paper_splits()}")
    grid = text_grid(["", *(title for _, title, _ in columns)], lines, [False] + [True] * len(columns))
    parts.append(f"Words a caption, duplicates, distinct n-grams, distinct words by kind (Table 3)\n\n{grid}")
    papers = [[label, *(_paper(row, name, places) for name, _, places in columns)] for row, label in PAPER.items()]
    grid = text_grid(["", *(title for _, title, _ in columns)], papers, [False] + [True] * len(columns))
    parts.append(f"The paper's corpora, with its own tokens and tags\n\n{grid}")
    said = {name: text for result in found for name, text in result["signature"].items()}
    parts.append("signature  " + "; ".join(f"{name} {text}" for name, text in said.items()))
    parts.append(f"Results are in {os.fspath(workdir)}")
    return "\n\n".join(parts)


def rejections(details: dict[str, Any]) -> list[str]:
    """By language, how many captions each rule rejects, a line each."""
    lines = []
    for language, own in details["languages"].items():
        count = sum(own["rejected"].values())
        rules = ", ".join(f"{rule} {number:,}" for rule, number in own["rejected"].items() if number)
        share = 100 * count / max(1, own["checked"])
        lines.append(f"{LANGUAGES[language]}: {count:,} of {own['checked']:,} captions rejected ({share:.1f}%): {rules}"
                     if count else f"{LANGUAGES[language]}: no caption is rejected")  # fmt: skip
    return lines


def totals_grid(details: dict[str, Any]) -> str:
    """Videos and captions by split."""
    languages = list(details["languages"])
    rows = [[one_line(split), f"{counts['videos']:,}", *(f"{counts.get(language, 0):,}" for language in languages)]
            for split, counts in details["splits"].items()]  # fmt: skip
    if len(rows) > 1:
        sums = [sum(counts.get(name, 0) for counts in details["splits"].values()) for name in ("videos", *languages)]
        rows.append(["all splits", *(f"{number:,}" for number in sums)])
    header = ["split", "videos", *(f"{LANGUAGES[language]} captions" for language in languages)]
    return text_grid(header, rows, [False] + [True] * (len(header) - 1))


def _sizes(found: Sequence[dict[str, Any]]) -> str:
    """Classes, videos and captions, ours and then the paper's, whose captions are of both languages."""
    rows = []
    for result in found:
        metrics = result["metrics"]
        own = [language for language in LANGUAGES if f"{language}/captions" in metrics]
        captions = sum(metrics[f"{language}/captions"] for language in own)
        videos = sum(result["dataset"]["sizes"].values())
        classes = f"{metrics['classes']:,.0f}" if "classes" in metrics else "-"
        name = result["dataset"]["name"]
        rows.append([name, classes, f"{videos:,}", f"{captions:,.0f}", f"{captions / max(1, videos):.1f}"])
    table = published.tables()["vatex_table1"]
    columns = [table["columns"].index(name) for name in ("classes", "videos", "captions", "captions_per_video")]
    for row in table["rows"].values():
        values = [row["values"][place] for place in columns]
        rows.append([f"paper: {row['label']}", *("-" if value is None else f"{value:,}" for value in values)])
    header = ["", "classes", "videos", "captions", "captions a video"]
    return text_grid(header, rows, [False] + [True] * (len(header) - 1))


def _paper_splits() -> str:
    table = published.tables()["vatex_table2"]
    pairs = zip(table["columns"], *(table["rows"][name]["values"] for name in ("videos", "captions")), strict=True)
    return "; ".join(f"{split} {videos:,} videos, {captions:,} captions" for split, videos, captions in pairs)


def _totals(details: dict[str, Any]) -> str:
    classes = f"\n{details['classes']} action classes" if details["classes"] else ""
    left = details["videos_left_out"]
    dropped = f"\n{left:,} videos are left out of the filtered corpus" if left else ""
    return f"{totals_grid(details)}{classes}\n" + "\n".join(rejections(details)) + dropped


def _own(result: dict[str, Any], name: str) -> bool:
    return any(f"{language}/{name}" in result["metrics"] for language in LANGUAGES)


def _cell(metrics: dict[str, float], name: str, places: int) -> str:
    return f"{metrics[name]:,.{places}f}" if name in metrics else "-"


def _paper(row: str, name: str, places: int) -> str:
    figure = published.figure("vatex_table3", row, name)
    return "-" if figure is None else f"{figure:,.{places}f}"
