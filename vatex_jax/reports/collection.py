"""Captions collected from people on pages that need no server, as VaTeX's Chinese ones were (section 3.1.2).

    python -m vatex_jax.reports.collection direct captions.json --out=direct            # describe each video
    python -m vatex_jax.reports.collection postedit captions.json google=g.json own=o.json --out=postedit
    python -m vatex_jax.reports.collection review --batch=postedit results/*.json --out=review
    python -m vatex_jax.reports.collection gather --batch=postedit --review=review results/*.json --out=collected

`direct` and `postedit` write a page on which people describe videos, or translate their English captions with machines'
translations before them, and `tasks.json`, which says which system each translation is of: keep that one, and send the
page alone. `review` makes, of the files that people save, the page on which others approve or reject every caption.
`gather` records both stages: collected.jsonl, and the videos that are complete and approved in VaTeX's layout.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vatex_jax.data.captions import CaptionedVideo, stream_captions
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.files import write_json_lines_whole, write_json_whole, write_text_whole
from vatex_jax.reports import html_page
from vatex_jax.reports.collection_results import (
    SCHEMA,
    captions,
    complete_videos,
    read_result,
    render,
    reviewed,
    written,
)
from vatex_jax.reports.collection_tasks import (
    FILE_NAME,
    CollectionBatch,
    check_pattern,
    direct_batch,
    link,
    postedit_batch,
    read_batch,
    read_translations,
    review_batch,
    write_batch,
)
from vatex_jax.reports.commands import answer

CAPTIONS_NAME = "captions.json"

TITLES = {
    "direct": "Describe videos in Chinese",
    "postedit": "Translate captions of videos",
    "review": "Review captions of videos",
}


def make_page(batch: CollectionBatch, folder: Path, *, videos: str = "", note: dict[str, Any] | None = None) -> Path:
    """Writes a batch's page and its tasks.json.

    Args:
        batch: what is shown, a video a task.
        folder: made where missing; one that holds the same batch is written anew.
        videos: where videos can be watched, with `{video_id}`; empty for YouTube, where ids are of clips there.
        note: kept in tasks.json, for people.

    Returns:
        The HTML file.

    Raises:
        ConfigError: the folder holds another batch.
    """
    if (folder / FILE_NAME).exists() and read_batch(folder).id != batch.id:
        raise ConfigError(f"{folder} holds another batch of tasks, which its results need: name another folder.")
    write_batch(batch, folder, note or {})  # first: a page without it is worth nothing
    path = folder / f"{batch.kind}.html"
    data = {
        "kind": batch.kind,
        "schema": SCHEMA,
        "batch": batch.id,
        "file": batch.kind,
        "title": TITLES[batch.kind],
        "per_page": 1,
        "least": batch.least,
        "privacy": "Nothing is sent anywhere: what you do stays in this browser until you save it as a file.",
        "tasks": [
            {
                "id": task.id,
                "page": number,
                "video_id": task.video_id,
                "link": link(task.video_id, videos),
                "count": task.count,
                "sources": task.sources,
                "references": task.references,
                "texts": task.texts,
            }
            for number, task in enumerate(batch.tasks, 1)
        ],
    }
    body = html_page.tasks_body(f"{batch.kind}.html")
    write_text_whole(path, html_page.document(TITLES[batch.kind], body, data, ("tasks.js", "collection.js")))
    return path


def _direct(chosen: argparse.Namespace) -> str:
    check_pattern(chosen.videos)
    batch = direct_batch(_videos(chosen), chosen.characters)
    return _made(batch, chosen, {"captions": str(chosen.captions)})


def _postedit(chosen: argparse.Namespace) -> str:
    check_pattern(chosen.videos)
    systems: dict[str, Path] = {}
    for text in chosen.translations:
        name, equals, path = text.partition("=")
        if not equals or not name or name in systems:
            raise ConfigError(f"{text!r}: translations are named NAME=FILE, each name once.")
        systems[name] = Path(path)
    found = {name: read_translations(path) for name, path in systems.items()}
    note = {"captions": str(chosen.captions), "seed": chosen.seed, "systems": {n: str(p) for n, p in systems.items()}}
    videos = _videos(chosen)
    batch = postedit_batch(videos, found, chosen.seed)
    left_out = len(videos) - len(batch.tasks)
    told = f"\n{left_out} videos are left out: not every system has translations of them" if left_out else ""
    return _made(batch, chosen, note) + told


def _review(chosen: argparse.Namespace) -> str:
    check_pattern(chosen.videos)
    batch = read_batch(chosen.batch)
    if batch.kind == "review":
        raise ConfigError(f"{chosen.batch} is a review already: name the folder of what was written.")
    results = _results(chosen.results)
    _check_batches(results, [batch], "--batch names")
    found, notes = written(results, batch)
    tasks = [(task, result["annotator"], entry["texts"]) for task, entry, result in found]
    return "\n".join([*notes, _made(review_batch(tasks), chosen, {"of": batch.id})])


def _gather(chosen: argparse.Namespace) -> str:
    batch = read_batch(chosen.batch)
    reviews = [read_batch(folder) for folder in chosen.review]
    if batch.kind == "review":
        raise ConfigError(f"--batch={chosen.batch} is a review: name the folder of what was written.")
    for folder, one in zip(chosen.review, reviews, strict=True):
        if one.kind != "review":
            raise ConfigError(f"--review={folder} is no review, but a batch of {one.kind}.")
    results = _results(chosen.results)
    _check_batches(results, [batch, *reviews], "--batch and --review name")
    found, passed_over = captions(results, batch)
    judged, notes = reviewed(found, results, reviews)
    notes = passed_over + notes
    chosen.out.mkdir(parents=True, exist_ok=True)
    write_json_lines_whole(chosen.out / "collected.jsonl", (caption.record() for caption in judged))
    videos = complete_videos(judged, batch.kind)
    write_json_whole(chosen.out / CAPTIONS_NAME, videos)
    done = len({caption.task.video_id for caption in judged})
    lines = [render(judged), *notes, f"{len(videos)} of {done} videos are complete and approved"]
    lines.append(f"{chosen.out / 'collected.jsonl'} (both stages), {chosen.out / CAPTIONS_NAME} (VaTeX's layout)")
    return "\n".join(lines)


def _check_batches(results: Sequence[dict[str, Any]], batches: Sequence[CollectionBatch], named: str) -> None:
    known = {one.id for one in batches}
    strangers = [result["path"] for result in results if result["batch"] not in known]
    if strangers:
        raise DataError(f"{strangers[0]}: is of another batch than {named}.")


def _videos(chosen: argparse.Namespace) -> list[CaptionedVideo]:
    if chosen.limit < 0:
        raise ConfigError(f"--limit={chosen.limit}: it must be 1 or more, or 0 for all.")
    found = list(stream_captions(chosen.captions))
    return found[: chosen.limit] if chosen.limit else found


def _results(paths: Sequence[Path]) -> list[dict[str, Any]]:
    files = [file for path in paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    files = [file for file in files if file.name not in (FILE_NAME, CAPTIONS_NAME)]
    if not files:
        raise DataError("There is no file of results; a folder is searched for *.json.")
    return [read_result(file) for file in files]


def _made(batch: CollectionBatch, chosen: argparse.Namespace, note: dict[str, Any]) -> str:
    path = make_page(batch, chosen.out, videos=chosen.videos, note=note)
    return (
        f"batch {batch.id}: {len(batch.tasks)} videos\nopen or send: {path}\n"
        f"keep: {chosen.out / FILE_NAME}, which says what the page does not"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes a page or gathers results; returns the exit status, 2 after an error of the person's."""
    chosen = _parser().parse_args(arguments)
    return answer(lambda: chosen.act(chosen))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m vatex_jax.reports.collection", description=__doc__.splitlines()[0])
    acts = parser.add_subparsers(required=True, metavar="direct|postedit|review|gather")
    direct = acts.add_parser("direct", help="a page to describe videos on")
    direct.add_argument("captions", type=Path, help="a caption file in VaTeX's layout: its videos are described")
    direct.add_argument("--characters", type=int, default=15, help="Chinese characters a caption must have (15)")
    direct.set_defaults(act=_direct)
    postedit = acts.add_parser("postedit", help="a page to translate captions on, machines' translations before one")
    postedit.add_argument("captions", type=Path, help="a caption file in VaTeX's layout: its last five English ones")
    postedit.add_argument("translations", nargs="+", metavar="NAME=FILE", help='{"<videoID>&<i>": text} by system')
    postedit.add_argument("--seed", type=int, default=0, help="of the order in which a video shows the systems (0)")
    postedit.set_defaults(act=_postedit)
    review = acts.add_parser("review", help="a page to approve or reject on what people wrote")
    review.set_defaults(act=_review)
    gather = acts.add_parser("gather", help="both stages' results together")
    gather.add_argument("--review", action="append", type=Path, default=[], help="folder of a review page")
    gather.set_defaults(act=_gather)
    for act in (direct, postedit):
        act.add_argument("--limit", type=int, default=0, help="only so many videos, the first of the file (0: all)")
    for act in (review, gather):
        act.add_argument("--batch", required=True, type=Path, help="folder that direct or postedit wrote")
        act.add_argument("results", nargs="+", type=Path, help="files that people saved, or folders of them")
    for act in (direct, postedit, review):
        act.add_argument("--videos", default="", help="URL or path of a video with {video_id}; YouTube by default")
    for act in (direct, postedit, review, gather):
        act.add_argument("--out", required=True, type=Path, help="folder to write to")
    return parser


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may know no Chinese, and a file's name be no text
    sys.exit(main())
