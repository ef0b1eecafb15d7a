"""Corpus analysis (VaTeX, section 3): statistics and quality of caption corpora, each read once, as a stream.

All on the host: nothing here loads jax.
"""

import contextlib
import dataclasses
import hashlib
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_collections
from tqdm import tqdm

from vatex_jax.corpus import quality
from vatex_jax.corpus.readers import LANGUAGES, CorpusVideo, read_corpus, read_source
from vatex_jax.corpus.statistics import CorpusCounter, CorpusStatistics
from vatex_jax.data.sources import open_source
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.experiments.workdir import locked, open_workdir
from vatex_jax.files import json_bytes, json_line, open_whole, read_json, write_json_whole
from vatex_jax.reports import results
from vatex_jax.reports.corpus_summary import corpus_summary
from vatex_jax.text.tagging import open_tagger
from vatex_jax.text.tokenization import make_tokenizer

MODES = ("train_and_evaluate", "describe")
DETAILS = "corpus.json"
"""Splits, histograms and curves of a corpus: what figures are drawn from."""
REJECTED = "rejected.jsonl"
FILTERED = "filtered"
ORIGIN = "origin.json"
"""Beside filtered files: what data they are of."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")


@dataclasses.dataclass(frozen=True)
class Corpus:
    """A corpus to be read.

    Attributes:
        name: as results call it.
        version: of a data set that was built; `files` else.
        simulated, stand_in: what kind of data it is.
        read: its videos, from the start.
    """

    name: str
    version: str
    simulated: bool
    stand_in: bool
    read: Callable[[], Iterator[CorpusVideo]]


@dataclasses.dataclass
class Reading:
    """What reading a corpus came to.

    Attributes:
        statistics: by language.
        signature: of the statistics.
        splits: by split, how many videos and captions by language.
        labels: distinct action labels.
        checker: with the counts of rejected captions.
        dropped: videos that the filter left out.
        digest: of the text.
    """

    statistics: dict[str, CorpusStatistics]
    signature: dict[str, str]
    splits: dict[str, Counter[str]]
    labels: set[str]
    checker: quality.Checker
    dropped: int
    digest: str


def run(config: ml_collections.ConfigDict, workdir: Path, mode: str, overwrite: bool = False) -> dict[str, Any] | None:
    """Runs a mode; returns the last corpus's result, None for `describe`.

    A corpus's files are in `workdir`, those of several in a folder each below it.
    """
    if mode not in MODES:
        raise ConfigError(f"--mode={mode} has no meaning for this experiment: it must be one of {', '.join(MODES)}.")
    rules = check(config)
    if mode == "describe":
        describe(config)
        return None
    workdir = open_workdir(workdir, config, overwrite=overwrite)
    with locked(workdir):
        corpora = find_corpora(config, lambda line: print(line, flush=True))
        folders = {one.name: workdir if len(corpora) == 1 else workdir / one.name for one in corpora}
        found = []
        for one in corpora:
            folder = folders[one.name]
            folder.mkdir(exist_ok=True)
            _clear(folder)
            found.append(_analyse(config, one, rules, folder))
        details = {one.name: read_json(folders[one.name] / DETAILS) for one in corpora}
        if config.eval.figures:
            _draw(workdir, details)
    print("\n" + corpus_summary(found, list(details.values()), workdir))
    return found[-1]


def _clear(folder: Path) -> None:
    """Removes what an earlier reading left: results.json first, which says that the rest is there."""
    (folder / results.FILE_NAME).unlink(missing_ok=True)
    for path in [*folder.glob(".*.partial"), *folder.glob(f"{FILTERED}/*"), *folder.glob(f"{FILTERED}/.*.partial")]:
        path.unlink(missing_ok=True)


def check(config: ml_collections.ConfigDict) -> quality.Rules:
    """The rules; raises ConfigError for what would otherwise fail later."""
    make_tokenizer("zh", config.data.chinese)
    named_paths(config.corpora)
    wanted = config.quality
    sensitive = quality.read_sensitive(wanted.sensitive_words) if wanted.sensitive_words else ()
    return quality.Rules(wanted.min_english_words, wanted.min_chinese_characters, sensitive)


def describe(config: ml_collections.ConfigDict) -> None:
    """Prints what would run; needs no data."""
    paths = named_paths(config.corpora)
    what = ", ".join(f"{name} ({path})" for name, path in paths.items()) or config.data.name
    print(f"corpus analysis of {what}; kinds of words: {'tagged' if config.tags else 'left out'}")


def named_paths(corpora: str) -> dict[str, Path]:
    """`NAME=PATH,NAME=PATH` as a dictionary.

    Raises:
        ConfigError: a part is none, or two have one name.
    """
    found: dict[str, Path] = {}
    for part in filter(None, (part.strip() for part in corpora.split(","))):
        name, equals, path = part.partition("=")
        taken = name in found or name in (FILTERED, "figures") or Path(name).suffix in (".json", ".jsonl")
        if not equals or not path or not _NAME.fullmatch(name) or taken:
            raise ConfigError(
                f"config.corpora: {part!r} must be NAME=PATH, each name once, of letters, digits and . _ + -, and not "
                "that of a file or folder a run writes (figures, filtered, config.json)."
            )
        found[name] = Path(path)
    return found


def find_corpora(config: ml_collections.ConfigDict, report: Callable[[str], object]) -> list[Corpus]:
    """The corpora that a configuration names.

    Raises:
        DataError: a path is not there, or the data set cannot be opened.
    """
    paths = named_paths(config.corpora)
    for path in paths.values():
        if not path.exists():
            raise DataError(f"{path}: there is no such file or folder of captions.")
    if paths:
        origins = {name: _origin(path) for name, path in paths.items()}
        return [
            Corpus(name, "files", *origins[name], lambda path=path: read_corpus(path)) for name, path in paths.items()
        ]
    source = open_source(config.data.name, config.data.data_dir or None, report)
    return [
        Corpus(source.name, source.version, source.simulated, source.stand_in, lambda: read_source(source)),
    ]


def _origin(path: Path) -> tuple[bool, bool]:
    """Whether files are of simulated or stand-in data, as the filter that wrote them left it beside them."""
    told = (path if path.is_dir() else path.parent) / ORIGIN
    if not told.exists():
        return False, False
    value = read_json(told)
    return (bool(value.get("simulated")), bool(value.get("stand_in"))) if isinstance(value, dict) else (False, False)


def _analyse(config: ml_collections.ConfigDict, corpus: Corpus, rules: quality.Rules, folder: Path) -> dict[str, Any]:
    """Reads a corpus and writes its files, results.json last."""
    started = time.monotonic()
    read = _read(config, corpus, rules, folder)
    seconds = time.monotonic() - started
    captions = sum(one.captions for one in read.statistics.values())
    print(f"{corpus.name}: {captions:,} captions in {seconds:.0f} s ({captions / max(seconds, 1e-9):,.0f} a second)")
    if config.quality.filter:
        origin = {"corpus": corpus.name, "simulated": corpus.simulated, "stand_in": corpus.stand_in}
        write_json_whole(folder / FILTERED / ORIGIN, origin)
        files = sorted(path.name for path in (folder / FILTERED).glob("*_filtered.json"))
        print(f"{folder / FILTERED}: {', '.join(files) or 'no video is left, so there is no file'}")
    write_json_whole(folder / DETAILS, _details(corpus, read))
    result = _result(config, corpus, read, seconds)
    results.write(folder / results.FILE_NAME, result)
    return result


def _read(config: ml_collections.ConfigDict, corpus: Corpus, rules: quality.Rules, folder: Path) -> Reading:
    """One pass over the videos."""
    counters = {language: _counter(config, language) for language in LANGUAGES}
    checker, digest = quality.Checker(rules), hashlib.sha256()
    splits: dict[str, Counter[str]] = {}
    labels: set[str] = set()
    dropped = 0
    with contextlib.ExitStack() as stack:
        rejected = stack.enter_context(open_whole(folder / REJECTED))
        kept = _Filtered(folder / FILTERED, stack) if config.quality.filter else None
        bar = stack.enter_context(
            tqdm(desc=corpus.name, unit="caption", leave=False, disable=not sys.stderr.isatty(), mininterval=0.5)
        )
        for video in corpus.read():
            digest.update(json_bytes([video.split, video.video_id, video.en, video.zh]))
            own = splits.setdefault(video.split, Counter())
            own["videos"] += 1
            labels |= {video.label} if video.label is not None else set()
            for language, counter in counters.items():
                own[language] += len(video.captions(language))
                counter.add(video)
            rejections = checker.check(video)
            rejected.writelines(json_line(one._asdict()) for one in rejections)
            if kept is not None:
                left = quality.keep(video, rejections)
                dropped += left is None
                if left is None:
                    checker.withdraw(video)  # what is filtered need not differ from what is not there
                else:
                    kept.write(left)
            bar.update(len(video.en) + len(video.zh))
    if not splits:
        raise DataError(f"{corpus.name} holds no video.")
    statistics = {language: counter.finish() for language, counter in counters.items()}
    statistics = {language: one for language, one in statistics.items() if one.captions}
    if not statistics:
        raise DataError(f"{corpus.name} holds no caption.")
    signature = {}
    for language in statistics:
        counter = counters[language]
        signature[f"{language}/words"] = counter.signature
        if counter.tagger is not None:
            signature[f"{language}/tags"] = counter.tagger.signature
    return Reading(statistics, signature, splits, labels, checker, dropped, digest.hexdigest()[:16])


def _counter(config: ml_collections.ConfigDict, language: str) -> CorpusCounter:
    pipeline = config.english_pipeline if language == "en" else config.chinese_pipeline
    return CorpusCounter(
        language,
        make_tokenizer(language, config.data.chinese),
        (lambda: open_tagger(language, pipeline, note=f"tagging {language}")) if config.tags else None,
    )


_FILES = {"train": "vatex_training", "validation": "vatex_validation", "public_test": "vatex_public_test",
          "test": "vatex_public_test", "private_test": "vatex_private_test"}  # fmt: skip
"""Names of caption files by split, as builders know them."""


class _Filtered:
    """The kept videos in VaTeX's layout, a file a split, written as they come."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack):
        self._folder, self._stack = folder, stack
        self._open: dict[str, Any] = {}

    def write(self, video: CorpusVideo) -> None:
        """Adds a video to its split's file."""
        record = quality.vatex_record(video)
        name = _FILES.get(video.split) or re.sub(r"[^A-Za-z0-9_-]+", "_", video.split)
        if name not in self._open:
            file = self._stack.enter_context(open_whole(self._folder / f"{name}_filtered.json"))
            self._open[name] = file
            file.write(b"[")
            self._stack.push(lambda *error: None if error[0] else self._close(file))
        else:
            self._open[name].write(b",\n")
        self._open[name].write(json_bytes(record))

    @staticmethod
    def _close(file: Any) -> None:
        file.write(b"]\n")


def _details(corpus: Corpus, read: Reading) -> dict[str, Any]:
    """Histograms as {number: captions}, curves as [captions, distinct 4-grams]."""
    languages = {
        language: {
            "lengths": dict(sorted(one.lengths.items())),
            **{f"{kind}s_per_caption": dict(sorted(counts.items())) for kind, counts in one.per_caption.items()},
            "curve": one.curve,
            "checked": read.checker.checked[language],
            "rejected": {rule: read.checker.rejected[language][rule] for rule in quality.RULES},
        }
        for language, one in read.statistics.items()
    }
    splits = {name: dict(counts) for name, counts in read.splits.items()}
    return {
        "corpus": corpus.name,
        "simulated": corpus.simulated,
        "splits": splits,
        "classes": len(read.labels),
        "videos_left_out": read.dropped,
        "languages": languages,
    }


def _result(config: ml_collections.ConfigDict, corpus: Corpus, read: Reading, seconds: float) -> dict[str, Any]:
    metrics = {}
    for language, one in read.statistics.items():
        rejected = sum(read.checker.rejected[language].values())
        own = one.metrics() | {"rejected": 100.0 * rejected / max(1, read.checker.checked[language])}
        metrics |= {f"{language}/{name}": value for name, value in own.items()}
    if read.labels:
        metrics["classes"] = float(len(read.labels))
    return {
        "experiment": config.experiment,
        "variant": config.variant,
        "seed": config.seed,
        "dataset": {
            "name": corpus.name,
            "version": corpus.version,
            "split": "all",
            "sizes": {name: counts["videos"] for name, counts in read.splits.items()},
            "fingerprint": read.digest,
            "simulated": corpus.simulated,
            "stand_in": corpus.stand_in,
        },
        "metrics": metrics,
        "signature": read.signature,
        "parameters": 0,
        "timing": {"read_seconds": seconds},
        "software": results.software(),
        "config": config.to_dict(),
    }


def _draw(workdir: Path, details: dict[str, Any]) -> None:
    """Figures 3 and 4, all corpora in one."""
    from vatex_jax.reports import corpus_figures

    figures = workdir / "figures"
    figures.mkdir(exist_ok=True)
    corpus_figures.draw_histograms(details, figures / "histograms.png")
    corpus_figures.draw_curves(details, figures / "type_caption.png")
