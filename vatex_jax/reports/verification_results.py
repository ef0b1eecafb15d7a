"""From the files that people saved to Table 2 of the visual dialogue paper, and what is doubtful about them.

A judgement is one person's ticks on one task. What counts, and what is only told:
- a task that was not confirmed does not count: its answers are all ticked because they started so;
- a task a person judged twice counts once, as saved last: people save on the way and go on. Where the ticks differ,
  that is told, since two people may have used one id;
- a task or an answer that the batch does not have makes that judgement count not at all;
- a person who never unticked an answer, or unticked all of them, counts, and is told.
"""

import csv
import dataclasses
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vatex_jax.errors import DataError
from vatex_jax.metrics.agreement import krippendorff_alpha, pair_agreement, selection
from vatex_jax.reports import published
from vatex_jax.reports.grid import markdown_grid, text_grid
from vatex_jax.reports.saved_results import read_saved
from vatex_jax.reports.summary import one_line
from vatex_jax.reports.verification_tasks import Batch, Task

SCHEMA = "vatex-jax verification 1"

SUSPICIOUS_TASKS = 5
"""So many tasks of two answers or more, all ticked or all unticked alike, make a person's work suspicious."""

_TABLE = "visdial_table2"


@dataclasses.dataclass(frozen=True)
class Judgement:
    """One person's ticks on one task.

    Attributes:
        task: what was judged.
        annotator: who judged it.
        ticked: places of the answers left ticked.
        seconds: spent on it.
        file: for messages.
        comment: what the person wrote about it.
    """

    task: Task
    annotator: str
    ticked: frozenset[int]
    seconds: float
    file: str
    comment: str = ""


@dataclasses.dataclass(frozen=True)
class Collected:
    """What counts, in order of file, and what is doubtful: (kind, file or person, what).

    `origins` says by source which data the sets are of, as `Batch` does.
    """

    judgements: list[Judgement]
    flags: list[tuple[str, str, str]]
    origins: Mapping[str, str] = dataclasses.field(default_factory=dict)


def read_result(path: Path) -> dict[str, Any]:
    """A file that the page saved, checked, with its name as `path`.

    Raises:
        DataError: it is no such file; the message names the field.
    """
    return read_saved(path, SCHEMA, "verification", _has_ticks, "id, done, ticked and seconds")


def _has_ticks(entry: Mapping[str, Any]) -> bool:
    ticked = entry.get("ticked")
    return isinstance(ticked, list) and all(type(place) is int for place in ticked)


def collect(results: Sequence[Mapping[str, Any]], batches: Mapping[str, Batch]) -> Collected:
    """The judgements that count, and what is doubtful.

    Args:
        results: from `read_result`, in any order.
        batches: by their ids.

    Raises:
        DataError: results of a batch that is not there, or none that count.
    """
    flags: list[tuple[str, str, str]] = []
    kept: dict[tuple[str, str], Judgement] = {}
    # A later file replaces an earlier one; equal times fall back on the name, so that the order given never matters.
    for result in sorted(results, key=lambda result: (result["saved"], result["path"])):
        if result["batch"] not in batches:
            known = ", ".join(batches)
            raise DataError(
                f"{result['path']}: is of batch {result['batch'][:20]!a}; there is {known}. Add --batch=FOLDER."
            )
        for judgement in _judgements(result, batches[result["batch"]], flags):
            key = (judgement.annotator, judgement.task.id)
            if key in kept and kept[key].ticked != judgement.ticked:
                text = f"{_name(judgement.task)} has other ticks than in {kept[key].file}; these, saved last, count"
                flags.append(("contradictory", f"{judgement.file}, {judgement.annotator}", text))
            kept[key] = judgement
    if not kept:
        raise DataError("No result counts: no file has a confirmed task of the batch.")
    judgements = list(kept.values())
    return Collected(judgements, flags + _suspicious(judgements), _origins(batches.values()))


def _origins(batches: Iterable[Batch]) -> dict[str, str]:
    """Of a source that two batches have from different data, both."""
    found: dict[str, dict[str, None]] = {}
    for batch in batches:
        for name, text in batch.origins.items():
            found.setdefault(name, {})[text] = None
    return {name: "; ".join(texts) for name, texts in found.items()}


def _judgements(result: Mapping[str, Any], batch: Batch, flags: list[tuple[str, str, str]]) -> Iterable[Judgement]:
    """A file's judgements; what is wrong with others goes to `flags`."""
    places = {task.id: number for number, task in enumerate(batch.tasks)}
    who, confirmed, unseen = f"{result['path']}, {result['annotator']}", set(), 0
    for entry in result["tasks"]:
        if entry["id"] not in places:
            flags.append(("contradictory", who, f"the batch has no task {entry['id'][:20]!r}; it does not count"))
            continue
        task = batch.tasks[places[entry["id"]]]
        wrong = [place for place in entry["ticked"] if not 0 <= place < len(task.answers)]
        if wrong:
            text = f"{_name(task)} has answers 0 to {len(task.answers) - 1}, no {wrong[0]}; it does not count"
            flags.append(("contradictory", who, text))
        elif entry["done"]:
            unseen += task.id not in confirmed and entry.get("image") == "missing"
            yield Judgement(
                task,
                result["annotator"],
                frozenset(entry["ticked"]),
                float(entry["seconds"]),
                result["path"],
                one_line(str(entry.get("comment") or "")),
            )
        if wrong or entry["done"]:
            confirmed.add(task.id)
    listed = {batch.page(places[entry["id"]]) for entry in result["tasks"] if entry["id"] in places}
    expected = [task.id for number, task in enumerate(batch.tasks) if batch.page(number) in listed]
    if unfinished := len(set(expected) - confirmed):
        text = f"{unfinished} of {len(expected)} tasks are not confirmed and do not count"
        flags.append(("incomplete", who, text))
    if unseen:
        flags.append(("unseen", who, f"{unseen} tasks were judged without their picture, which could not be shown"))


def _suspicious(judgements: Sequence[Judgement]) -> list[tuple[str, str, str]]:
    """People who seem not to have looked."""
    flags = []
    for person in sorted({judgement.annotator for judgement in judgements}):
        mine = [j for j in judgements if j.annotator == person and len(j.task.answers) > 1]
        if len(mine) < SUSPICIOUS_TASKS:
            continue
        for did, all_of in (("nothing", all(len(j.ticked) == len(j.task.answers) for j in mine)),
                            ("everything", not any(j.ticked for j in mine))):  # fmt: skip
            if all_of:
                flags.append(("suspicious", person, f"unticked {did} in all {len(mine)} tasks of two answers or more"))
    return flags


def _name(task: Task) -> str:
    return f"task {task.id} (image {task.image_id}, round {task.round})"


def figures(judgements: Sequence[Judgement]) -> dict[str, float]:
    """Table 2's figures of one source, in published.json's names, then ours; NaN where they cannot be had."""
    of_task: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        of_task.setdefault(judgement.task.id, []).append(judgement)
    rows = [
        (sum(place in j.ticked for j in mine), len(mine), number, mine[0].task.ground_truth[place])
        for number, mine in enumerate(of_task.values())
        for place in range(len(mine[0].task.answers))
    ]
    votes, annotators, task, truth = (np.array(column) for column in zip(*rows, strict=True))
    found = selection(votes, annotators, task)
    counts = np.stack([votes, annotators - votes], axis=1)
    people = [len(mine) for mine in of_task.values()]
    values = {
        "tasks": len(of_task),
        "annotators": np.mean(people),
        "selected": found.selected,
        "selected_variance": found.selected_variance,
        "selected_by_one": found.by_one,
        "selected_by_one_variance": found.by_one_variance,
        "annotators_least": min(people),
        "annotators_most": max(people),
        "selected_pooled": found.pooled,
        "ground_truth_selected": 100.0 * votes[truth].sum() / annotators[truth].sum() if truth.any() else math.nan,
        "pairs_agree": pair_agreement(counts),
        "krippendorff_alpha": krippendorff_alpha(counts),
        "median_seconds": np.median([judgement.seconds for judgement in judgements]),
    }
    return {name: float(value) for name, value in values.items()}


# Label, figure, its decimals, and the figure in brackets after it.
_ROWS = (
    ("tasks", "tasks", 0, ""),
    ("annotators a task", "annotators", 2, ""),
    ("fewest", "annotators_least", 0, ""),
    ("most", "annotators_most", 0, ""),
    ("% of the set selected (variance)", "selected", 2, "selected_variance"),
    ("% selected by 1 annotator or more (variance)", "selected_by_one", 2, "selected_by_one_variance"),
    ("% of all answers selected", "selected_pooled", 2, ""),
    ("% of ground truths selected", "ground_truth_selected", 2, ""),
    ("% of pairs of annotators that agree", "pairs_agree", 2, ""),
    ("Krippendorff's alpha (nominal)", "krippendorff_alpha", 3, ""),
    ("median seconds a task", "median_seconds", 1, ""),
)


def render(collected: Collected, form: str) -> str:
    """The table, ours first and the paper's in columns of their own, then what is doubtful.

    Args:
        collected: from `collect`.
        form: `text`, `markdown`, or `csv`, which has one line a figure and no room for doubts (`render_flags`).
    """
    sources = sorted({judgement.task.source for judgement in collected.judgements})
    ours = {name: figures([j for j in collected.judgements if j.task.source == name]) for name in sources}
    if form == "csv":
        return _csv(ours, collected.origins)
    draw = markdown_grid if form == "markdown" else text_grid
    theirs = published.tables()[_TABLE]["rows"]
    paper = {
        row: {name: published.figure(_TABLE, row, name) for name in published.tables()[_TABLE]["columns"]}
        for row in theirs
    }
    header = ["", *(f"{name}: ours" for name in sources), *(f"{row['label']}: paper" for row in theirs.values())]
    lines = [
        [label, *(_cell(values, name, places, brackets) for values in (*ours.values(), *paper.values()))]
        for label, name, places, brackets in _ROWS
    ]
    people = len({judgement.annotator for judgement in collected.judgements})
    parts = [
        f"{len(collected.judgements)} judgements of {people} annotators; variances are over tasks, of shares, x 100"
    ]
    told = [[name, collected.origins[name]] for name in sources if name in collected.origins]
    if told:
        parts.append(draw(["ours", "sets of"], told, [False] * 2))
    parts.append(draw(header, lines, [False] + [True] * (len(header) - 1)))
    if collected.flags:
        parts.append(render_flags(collected, form))
    comments = [[j.annotator, _name(j.task), j.comment] for j in collected.judgements if j.comment]
    if comments:
        parts.append(draw(["comment of", "on", ""], comments, [False] * 3))
    return "\n\n".join(parts)


def render_flags(collected: Collected, form: str) -> str:
    """What is doubtful, one line each, as `text` or `markdown`."""
    draw = markdown_grid if form == "markdown" else text_grid
    return draw(["doubtful", "where", "what"], [list(flag) for flag in collected.flags], [False] * 3)


def _cell(values: Mapping[str, float | None], name: str, places: int, brackets: str) -> str:
    value = values.get(name)
    if value is None or math.isnan(value):
        return "-"
    inner = values.get(brackets)
    return f"{value:,.{places}f}" + ("" if inner is None or math.isnan(inner) else f" ({inner:.2f})")


def _csv(ours: Mapping[str, Mapping[str, float]], origins: Mapping[str, str]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["source", "figure", "value", *(f"paper_{row}" for row in published.tables()[_TABLE]["rows"]), "sets_of"]
    )
    for source, values in ours.items():
        for name, value in values.items():
            paper = [published.figure(_TABLE, row, name) for row in published.tables()[_TABLE]["rows"]]
            blank = ["" if x is None or math.isnan(x) else repr(x) for x in (value, *paper)]
            writer.writerow([source, name, *blank, origins.get(source, "")])
    return out.getvalue().rstrip("\n")
