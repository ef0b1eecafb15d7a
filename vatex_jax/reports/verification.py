"""People verify reference sets on a page that needs no server; their results make Table 2 of the visual dialogue paper.

    python -m vatex_jax.reports.verification make H=human.json sigma=sigma.json.gz --out=verify [--images=PATTERN]
    python -m vatex_jax.reports.verification read results/*.json --batch=verify [--format=text|markdown|csv]

`make` samples tasks from DenseVisDial files, mixes the sources, and writes `verify.html`, which people open from their
disk, and `tasks.json`, which says where each set is from: keep that one, and send the page alone. People untick what is
wrong, and send back the file they save. `read` checks those files and prints what they come to.
"""

import argparse
import dataclasses
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.files import write_text_whole
from vatex_jax.reference_sets import release
from vatex_jax.reports import html_page
from vatex_jax.reports.cells import origin
from vatex_jax.reports.commands import answer
from vatex_jax.reports.html_page import ImagePattern
from vatex_jax.reports.verification_results import SCHEMA, collect, read_result, render, render_flags
from vatex_jax.reports.verification_tasks import FILE_NAME, Batch, make_batch, read_batch, read_tasks, write_batch

NAME = "verify"
"""Of the pages: verify.html, or verify-1.html, verify-2.html, ..."""


def make_pages(
    batch: Batch,
    folder: Path,
    *,
    title: str = "Verify reference sets",
    images: ImagePattern | None = None,
    files: int = 1,
    language: str = "en",
    note: dict[str, Any] | None = None,
) -> list[Path]:
    """Writes a batch's pages and its tasks.json.

    Args:
        batch: what is shown.
        folder: made where missing; one that holds the same batch is written anew.
        title: heading of the pages.
        images: where the pictures are; None for questions without.
        files: HTML files that the batch's pages of tasks are spread over, in order, as evenly as can be: one each for
            people who do a part.
        language: of questions and answers, a BCP 47 tag.
        note: kept in tasks.json, for people.

    Returns:
        The HTML files.

    Raises:
        ConfigError: the folder holds another batch, or there are more files than pages.
    """
    if not 1 <= files <= batch.pages:
        raise ConfigError(
            f"--files={files}: there are {batch.pages} pages of tasks to spread: 1 to {batch.pages} files."
        )
    if (folder / FILE_NAME).exists() and read_batch(folder).id != batch.id:
        raise ConfigError(f"{folder} holds another batch of tasks, which its results need: name another folder.")
    write_batch(batch, folder, note or {})  # first: a page without it is worth nothing
    paths = []
    for number in range(files):
        shown = range(number * batch.pages // files, (number + 1) * batch.pages // files)
        path = folder / (f"{NAME}.html" if files == 1 else f"{NAME}-{number + 1}.html")
        data = _page_data(batch, shown, folder, images) | {"file": path.stem, "title": title, "language": language}
        scripts = ("tasks.js", "verification.js")
        policy = images.policy if images else ""
        body = html_page.tasks_body("verification.html", "verification_keys.html")
        write_text_whole(path, html_page.document(title, body, data, scripts, policy))
        paths.append(path)
    return paths


def _page_data(batch: Batch, pages: range, folder: Path, images: ImagePattern | None) -> dict[str, Any]:
    """What a page knows: nothing of sources and ground truths."""
    tasks = [
        {
            "id": task.id,
            "page": 1 + batch.page(number),
            "image": images.source(task.image_id, folder) if images else None,
            "image_id": task.image_id,
            "question": task.question,
            "answers": task.answers,
        }
        for number, task in enumerate(batch.tasks)
        if batch.page(number) in pages
    ]
    privacy = "Nothing is sent anywhere: what you do stays in this browser until you save it as a file."
    if images and images.url:
        privacy += f" The pictures come from {images.policy}, which sees that they are asked for."
    return {
        "kind": "verification",
        "schema": SCHEMA,
        "batch": batch.id,
        "per_page": batch.per_page,
        "privacy": privacy,
        "tasks": tasks,
    }


def _make(chosen: argparse.Namespace) -> str:
    for text in (chosen.title, chosen.language, chosen.images, *(_source(text)[0] for text in chosen.sets)):
        if text.encode("utf-8", "replace").decode() != text:
            raise ConfigError(f"{text!r}: is no text in UTF-8, and the page has to hold it; write it in other letters.")
    sources = dict(_source(text) for text in chosen.sets)
    if len(sources) < len(chosen.sets):
        raise ConfigError("Two files have one name: tell them apart, as in H=one.json sigma=two.json.")
    images = ImagePattern(chosen.images) if chosen.images else None
    batch = make_batch(
        [read_tasks(path, name) for name, path in sources.items()], chosen.tasks, chosen.per_page, chosen.seed
    )
    batch = dataclasses.replace(batch, origins=_origins(sources))
    note = {"seed": chosen.seed, "tasks": chosen.tasks, "sources": {name: str(path) for name, path in sources.items()}}
    options = {"title": chosen.title, "images": images, "files": chosen.files, "language": chosen.language}
    paths = make_pages(batch, chosen.out, **options, note=note)
    lines = [f"batch {batch.id}: {len(batch.tasks)} tasks, {batch.per_page} to a page"]
    for name in sources:
        count = sum(task.source == name for task in batch.tasks)
        few = f" ({chosen.tasks} were asked for: there are no more)" if count < chosen.tasks else ""
        lines.append(f"  {name}: {count}{few}{f', {batch.origins[name]}' if name in batch.origins else ''}")
    if images and not images.url:
        missing = [task.image_id for task in batch.tasks if not Path(images.place(task.image_id)).is_file()]
        if missing:
            lines.append(
                f"{len(missing)} of {len(batch.tasks)} pictures are missing, {images.place(missing[0])} the first"
            )
    lines.append(f"open or send: {', '.join(map(str, paths))}")
    lines.append(f"keep: {chosen.out / FILE_NAME}, which says where each set is from")
    return "\n".join(lines)


def _origins(sources: Mapping[str, Path]) -> dict[str, str]:
    """By source, the data that its file's manifest names: `visdial_sim/default 1.0.0: SIMULATED, test split`."""
    found = {name: release.dataset_of(path) for name, path in sources.items()}
    try:
        return {name: f"{origin(data)}, {data['split']} split" for name, data in found.items() if data is not None}
    except (KeyError, TypeError) as error:
        raise DataError(f"a manifest beside the files does not say what data the sets are of ({error!r}).") from error


def _source(text: str) -> tuple[str, Path]:
    """`H=human.json` and `human.json`, whose name is then `human`."""
    name, equals, path = text.partition("=")
    if equals and name and "/" not in name and not Path(text).exists():
        return name, Path(path)
    return Path(text).name.removesuffix(".gz").removesuffix(".json"), Path(text)


def _read(chosen: argparse.Namespace) -> str:
    files = []
    for path in chosen.results:
        found = sorted(path.glob("*.json")) if path.is_dir() else [path]
        files += [file for file in found if file.name != FILE_NAME]
    if not files:
        raise DataError("There is no file of results; a folder is searched for *.json.")
    folders = chosen.batch or sorted({near for file in files for near in (file.parent, file.parent.parent)
                                      if (near / FILE_NAME).exists()})  # fmt: skip
    if not folders:
        raise ConfigError(f"Which tasks the results are of is said by {FILE_NAME}: name its folder by --batch=FOLDER.")
    batches = {batch.id: batch for batch in map(read_batch, folders)}
    collected = collect([read_result(file) for file in files], batches)
    if chosen.format == "csv" and collected.flags:
        print(render_flags(collected, "text"), file=sys.stderr)
    return render(collected, chosen.format)


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes a page or reads results; returns the exit status, 2 after an error of the person's."""
    chosen = _parser().parse_args(arguments)
    return answer(lambda: chosen.act(chosen))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m vatex_jax.reports.verification", description=__doc__.splitlines()[0]
    )
    acts = parser.add_subparsers(required=True, metavar="make|read")
    make = acts.add_parser("make", help="a page of tasks from files of reference sets")
    make.set_defaults(act=_make)
    make.add_argument("sets", nargs="+", metavar="[NAME=]REFS.json[.gz]", help="DenseVisDial files, one a source")
    make.add_argument("--out", required=True, type=Path, help="folder for the page and tasks.json")
    make.add_argument("--tasks", type=int, default=100, help="sampled from each file (100)")
    make.add_argument("--per_page", type=int, default=4, help="tasks shown together (4, as published)")
    make.add_argument("--files", type=int, default=1, help="HTML files the pages are spread over (1)")
    make.add_argument("--seed", type=int, default=0, help="of the sample and of all orders (0)")
    make.add_argument("--images", default="", help="URL or path with {image_id} or {image_id:012}; none by default")
    make.add_argument("--title", default="Verify reference sets")
    make.add_argument("--language", default="en", help="of questions and answers, for screen readers (en)")
    read = acts.add_parser("read", help="Table 2 and agreement from results")
    read.set_defaults(act=_read)
    read.add_argument("results", nargs="+", type=Path, help="files that people saved, or folders of them")
    read.add_argument(
        "--batch", action="append", type=Path, help="folder that make wrote; beside the results otherwise"
    )
    read.add_argument("--format", default="text", choices=("text", "markdown", "csv"))
    return parser


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may know no Chinese, and a file's name be no text
    sys.exit(main())
