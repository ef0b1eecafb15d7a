"""What came back from the pages of collection: captions, and what their reviewers said of them.

A caption counts once another person than its writer has approved it (VaTeX's two-stage verification); a worker less
than 90% of whose captions are approved is told of.
"""

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vatex_jax.errors import DataError
from vatex_jax.reports.collection_tasks import CollectionBatch, CollectionTask
from vatex_jax.reports.grid import text_grid
from vatex_jax.reports.saved_results import read_saved
from vatex_jax.text.tokenization import HAN

SCHEMA = "vatex-jax collection results 1"
LEAST_APPROVAL = 0.9
"""Of a worker's reviewed captions; VaTeX blocked who had less."""


@dataclasses.dataclass(frozen=True)
class Caption:
    """A caption somebody wrote.

    Attributes:
        task: what it was written for.
        number: its place in the task, from 0.
        text: as written.
        annotator, seconds: who, and how long the whole task took.
        reviewer: who judged it; empty for nobody yet.
        approved: the verdict; None for none yet.
        comment: the reviewer's.
    """

    task: CollectionTask
    number: int
    text: str
    annotator: str
    seconds: float
    reviewer: str = ""
    approved: bool | None = None
    comment: str = ""

    def record(self) -> dict[str, Any]:
        """For collected.jsonl, with the systems whose translation it is to the letter."""
        source = self.task.sources[self.number] if self.task.sources else None
        references = self.task.references[self.number] if self.task.references else ()
        copied = [name for name, text in zip(self.task.systems, references, strict=True) if text == self.text]
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "task"}
        return {"video_id": self.task.video_id, "source": source, **own, "copied_from": copied}


def read_result(path: Path) -> dict[str, Any]:
    """A file that a collection page saved, checked, with its name as `path`.

    Raises:
        DataError: it is no such file.
    """
    return read_saved(path, SCHEMA, "collection", _is_entry, "id, done, seconds, and texts or approved")


def _is_entry(entry: Mapping[str, Any]) -> bool:
    texts, approved = entry.get("texts"), entry.get("approved")
    if (texts is None) == (approved is None):  # written or reviewed
        return False
    kinds = (str,) if approved is None else (bool, type(None))
    values = texts if approved is None else approved
    return isinstance(values, list) and all(isinstance(value, kinds) for value in values)


def finished(
    results: Sequence[Mapping[str, Any]], batch: CollectionBatch, field: str
) -> Iterator[tuple[CollectionTask, Mapping[str, Any], Mapping[str, Any]]]:
    """(task, its saved entry, the file) of every confirmed task of a batch, the file saved last for each person.

    Args:
        results: from `read_result`, of any batches, in any order.
        batch: whose tasks.
        field: `texts` or `approved`.
    """
    by_id = {task.id: task for task in batch.tasks}
    latest: dict[tuple[str, str], tuple[CollectionTask, Mapping[str, Any], Mapping[str, Any]]] = {}
    for result in sorted(results, key=lambda result: (result["saved"], result["path"])):
        if result["batch"] != batch.id:
            continue
        for entry in result["tasks"]:
            task = by_id.get(entry["id"])
            if task is not None and entry["done"] and len(entry.get(field) or ()) == task.count:
                latest[result["annotator"], task.id] = task, entry, result
    yield from latest.values()


def written(
    results: Sequence[Mapping[str, Any]], batch: CollectionBatch
) -> tuple[list[tuple[CollectionTask, Mapping[str, Any], Mapping[str, Any]]], list[str]]:
    """What `finished` gives of the texts that the page would have let pass, and notes on the others.

    Raises:
        DataError: there is none.
    """
    found, notes = [], []
    for task, entry, result in finished(results, batch, "texts"):
        fault = _fault(batch, task, entry["texts"])
        if fault:
            notes.append(f"{result['path']}, {result['annotator']}, {task.video_id}: {fault}; it does not count.")
        else:
            found.append((task, entry, result))
    if not found:
        told = "".join(f"\n{note}" for note in notes)
        raise DataError(f"No result counts: no file has a confirmed task of the batch.{told}")
    return found, notes


def captions(results: Sequence[Mapping[str, Any]], batch: CollectionBatch) -> tuple[list[Caption], list[str]]:
    """Every caption written for a batch, and notes on what does not count.

    Raises:
        DataError: there is none.
    """
    found, notes = written(results, batch)
    return [
        Caption(task, number, text, result["annotator"], float(entry["seconds"]))
        for task, entry, result in found
        for number, text in enumerate(entry["texts"])
    ], notes


def _fault(batch: CollectionBatch, task: CollectionTask, texts: Sequence[str]) -> str:
    """Why the page would not have let these texts be confirmed; empty where it would."""
    for number, text in enumerate(texts, 1):
        if len(_CHINESE.findall(text)) < batch.least:
            return f"caption {number} has fewer than {batch.least} Chinese characters"
        if _SURROGATE.search(text):
            return f"caption {number} holds half a character"
    if not task.sources and len({" ".join(text.split()) for text in texts}) < len(texts):
        return "two captions are the same"
    return ""


_CHINESE = re.compile(rf"\u3007|{HAN}")  # as the page counts: zero too
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def reviewed(
    collected: Sequence[Caption], results: Sequence[Mapping[str, Any]], reviews: Sequence[CollectionBatch]
) -> tuple[list[Caption], list[str]]:
    """The captions with their verdicts, and what was passed over.

    A caption that several people reviewed is approved where all of them approve it; a person's last verdict counts.
    """
    verdicts: dict[tuple[str, str, int, str], dict[str, tuple[str, bool, str]]] = defaultdict(dict)
    notes: dict[str, None] = {}
    distinct = {batch.id: batch for batch in reviews}.values()
    judgements = [one for batch in distinct for one in finished(results, batch, "approved")]
    for task, entry, result in sorted(judgements, key=lambda one: (one[2]["saved"], one[2]["path"])):
        person = result["annotator"].casefold()
        if person == task.annotator.casefold():
            notes[f"{result['path']}: {task.annotator} reviewed their own captions; that does not count."] = None
            continue
        comment = str(entry.get("comment") or "")
        for number, (text, approved) in enumerate(zip(task.texts, entry["approved"], strict=True)):
            if approved is not None:
                at = verdicts[task.video_id, task.annotator, number, text]
                at[person] = (result["annotator"], approved, comment)
    judged = []
    for caption in collected:
        found = verdicts.get((caption.task.video_id, caption.annotator, caption.number, caption.text), {})
        if found:
            people, approvals, comments = zip(*found.values(), strict=True)
            told = "; ".join(filter(None, comments))
            caption = dataclasses.replace(caption, reviewer=", ".join(people), approved=all(approvals), comment=told)
        judged.append(caption)
    return judged, list(notes)


def complete_videos(judged: Sequence[Caption], kind: str) -> list[dict[str, Any]]:
    """The videos all of whose captions by one person are approved, in VaTeX's layout; of several people the first.

    Direct captions stand alone; translations with their English captions, whose places are the same.
    """
    by_person: dict[tuple[str, str], list[Caption]] = defaultdict(list)
    for caption in judged:
        by_person[caption.task.video_id, caption.annotator].append(caption)
    found: dict[str, dict[str, Any]] = {}
    for (video_id, _), own in by_person.items():
        if video_id in found or not all(caption.approved for caption in own) or len(own) < own[0].task.count:
            continue
        texts = [caption.text for caption in sorted(own, key=lambda caption: caption.number)]
        sources = {"enCap": list(own[0].task.sources)} if kind == "postedit" else {}
        found[video_id] = {"videoID": video_id, **sources, "chCap": texts}
    return list(found.values())


def render(judged: Sequence[Caption]) -> str:
    """Who wrote how much, and how much of it was approved."""
    rows = []
    for person in sorted({caption.annotator for caption in judged}):
        own = [caption for caption in judged if caption.annotator == person]
        verdicts = Counter(caption.approved for caption in own)
        reviewed_ = verdicts[True] + verdicts[False]
        share = verdicts[True] / reviewed_ if reviewed_ else None
        copied = sum(bool(caption.record()["copied_from"]) for caption in own)
        rows.append([
            person, str(len(own)), str(reviewed_), "-" if share is None else f"{100 * share:.0f}%", str(copied),
            "below 90%: to be blocked" if share is not None and share < LEAST_APPROVAL else "",
        ])  # fmt: skip
    header = ["annotator", "captions", "reviewed", "approved", "copied unchanged", ""]
    return text_grid(header, rows, [False, True, True, True, True, False])
