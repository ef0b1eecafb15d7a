"""What the revised evaluation reads: generations, and the reference sets of the same questions.

From files of anyone's, or of a data set: CCA-AQ's generations against people's sets H and Sigma of CCA-AQ*.

Dimension legend
    n  questions that have references
"""

import dataclasses
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_collections
import numpy as np
from jaxtyping import Int

from vatex_jax.cca.cca import CCA
from vatex_jax.data.submissions import Generations, read_generations
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.experiments import cca_outputs, rankers
from vatex_jax.experiments.cca_data import CCAData, load_cca_data, rounds_of
from vatex_jax.experiments.reference_sets_outputs import records
from vatex_jax.experiments.training_pairs import candidates_of, constructions, fit_on, fit_star, sets_of, training_pairs
from vatex_jax.files import read_json
from vatex_jax.reference_sets import release
from vatex_jax.reference_sets.clusters import human
from vatex_jax.reference_sets.release import ReferenceSet
from vatex_jax.text.vectors import WordVectors

Report = Callable[[str], object]

UNNAMED = "refs"
"""What reference sets are called that neither the command nor a manifest names."""

_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.+-]*)=(.+)")
_FEW = 10  # sets; of fewer it says little that none is of the first round
_SHOWN = 5


@dataclasses.dataclass(frozen=True)
class Questions:
    """Generations beside the reference sets of the same questions, in the order of the sets.

    Attributes:
        name: of the sets: H, S, ...
        sets: the reference sets.
        generations: a model's answers, any number a question.
        others: questions with generations that have no set, left out.
    """

    name: str
    sets: tuple[ReferenceSet, ...]
    generations: tuple[tuple[str, ...], ...]
    others: int

    def __len__(self) -> int:
        return len(self.sets)

    @property
    def references(self) -> list[tuple[str, ...]]:
        return [one.references for one in self.sets]

    @property
    def image_ids(self) -> Int[np.ndarray, "n"]:
        return np.array([one.image_id for one in self.sets], np.int64)

    @property
    def rounds(self) -> Int[np.ndarray, "n"]:
        return np.array([one.round for one in self.sets], np.int64)


@dataclasses.dataclass(frozen=True)
class Inputs:
    """What is evaluated.

    Attributes:
        dataset: the part of results.json.
        questions: one for each kind of reference sets.
        generations: all of the model's, also of questions without references.
        words: word vectors of the data set's own text; None for files.
        parameters: of the models that were fitted.
        about: of the signature: what generations and sets are from.
    """

    dataset: dict[str, Any]
    questions: tuple[Questions, ...]
    generations: Generations
    words: WordVectors | None
    parameters: int
    about: dict[str, str]


def read_files(generations: str, references: str, report: Report) -> Inputs:
    """Reads generations and reference sets.

    Args:
        generations: a file (`data.submissions`).
        references: one or more files (`reference_sets.release`), plain or gzipped: FILE, or NAME=FILE,NAME=FILE.
        report: called with each line for the person who waits.

    Raises:
        ConfigError: `references` names no file, or two of one name.
        DataError: a file is damaged or malformed, a set has no generations, or rounds seem to be counted from 1.
    """
    files = reference_files(references)
    said = read_generations(generations)
    if not len(said.texts):
        raise DataError(f"{generations}: holds no generations.")
    if len(said.texts) >= _FEW and (np.asarray(said.rounds) > 0).all():
        report(f"note: no question of {generations} is of round 0. Rounds count from 0: if they count from 1 there, "
               "every answer is beside the next question.")  # fmt: skip
    questions = []
    for name, path in files.items():
        sets = tuple(release.read(path))
        if not sets:
            raise DataError(f"{path}: holds no reference sets.")
        questions.append(join(name, said, sets, (str(generations), str(path)), report))
        if len(sets) >= _FEW and all(one.round > 0 for one in sets) and not _manifest(path):
            report(f"note: no set of {path} is of round 0. Rounds count from 0: if they count from 1 there, every "
                   "question is beside the answers of the next one.")  # fmt: skip
    dataset = _dataset_of_files(files, questions)
    return Inputs(dataset, tuple(questions), said, None, 0, about_files(generations, files))


def about_files(generations: str, references: Mapping[str, Path]) -> dict[str, str]:
    """What a signature says of files: their names, and what tells other files of the same names apart."""
    told = {"model/generations": Path(generations)} | {
        f"model/references {name}": path for name, path in references.items()
    }
    return {name: f"{path.name}, sha256 {release.sha256(path)[:16]}" for name, path in told.items()}


def reference_files(references: str) -> dict[str, Path]:
    """The files of `config.references` by the names of their sets.

    A file without a name has that of its manifest's method, and without a manifest `UNNAMED`.

    Raises:
        ConfigError: two have one name, or a part of the list is empty.
    """
    found: dict[str, Path] = {}
    for part in [references] if Path(references).is_file() else references.split(","):
        named = None if Path(part).is_file() else _NAMED.fullmatch(part.strip())
        path = Path(named[2] if named else part.strip())
        if not part.strip():
            raise ConfigError(f"config.references is {references!r}: give FILE, or NAME=FILE,NAME=FILE.")
        name = named[1] if named else (_method(path) or UNNAMED)
        if name in found:
            raise ConfigError(
                f"config.references: {found[name]} and {path} would both be called {name}; name them, for example "
                f"H={found[name]},S={path}."
            )
        found[name] = path
    return found


def join(
    name: str,
    generations: Generations,
    sets: Sequence[ReferenceSet],
    files: tuple[str, str],
    report: Report = lambda line: None,
) -> Questions:
    """Puts each reference set beside the generations of its question.

    Args:
        name: of the sets.
        generations, sets: each image and round at most once; sets may be of a part of the questions.
        files: what errors call the two.
        report: told how many generations have no set.

    Raises:
        DataError: a set has no generations; with the first of them, and why that may be.
    """
    keys = zip(generations.image_ids.tolist(), generations.rounds.tolist(), strict=True)
    places = {key: row for row, key in enumerate(keys)}
    wanted = [(one.image_id, one.round) for one in sets]
    missing = [key for key in wanted if key not in places]
    if missing:
        first = "; ".join(f"image {image}, round {turn}" for image, turn in missing[:_SHOWN])
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        raise DataError(
            f"{files[0]}: has no generations for {len(missing)} of the {len(wanted)} questions of {files[1]}: "
            f"{first}{more}. {_cause(places, wanted, len(missing))}"
        )
    others = len(places) - len(wanted)
    if others:
        report(f"{name}: {len(wanted):,} reference sets; {others:,} of {len(places):,} questions with generations have "
               "none and are left out")  # fmt: skip
    texts = tuple(generations.texts[places[key]] for key in wanted)
    return Questions(name, tuple(sets), texts, others)


def of_data_set(config: ml_collections.ConfigDict, report: Report) -> Inputs:
    """Fits CCA-AQ and CCA-AQ*, generates answers for the test split, and makes its sets H and Sigma.

    H is of the annotated rounds, Sigma of these (`config.sigma.rounds` annotated) or of all judged ones (all).

    Raises:
        ConfigError, DataError: as `cca_data.load_cca_data`; the test split has no annotated round.
    """
    data = load_cca_data(config, report, judged=True)
    test, asked = data.test, data.asked[data.test.name]
    annotated = candidates_of(test, rounds_of(test, test.annotated, asked))
    if not len(annotated):
        raise DataError(
            f"Split {test.name} of {data.source.name} has no dense annotations to make H of: build the data set with "
            "them, or give --config.generations and --config.references."
        )
    star = fit_star(config, data)
    texts, parameters = _generated(config, data, report)
    turns = annotated.turns if config.sigma.rounds == "annotated" else rounds_of(test, test.judged, asked)
    answers = star.directions(0, data.answers, config.cca.p)
    sigma = sets_of(answers, test, turns, constructions(config.training.clusters)["S"])
    sets = {"H": [(annotated, human(annotated.relevance, annotated.gt_index))], "S": sigma}
    said = Generations(test.image_ids[data.turns.dialogue], data.turns.round.astype(np.int64), texts)
    questions = tuple(
        join(name, said, list(records(data, test, one)), ("the model", name)) for name, one in sets.items()
    )
    about = {
        "model/generations": _about_generations(config),
        "H/references": "relevance above 0, and the ground truth",
        "S/references": f"Sigma of CCA-AQ*, fitted on the annotations of {config.training.annotations}",
    }
    dataset = data.source.describe(test.name, [data.train, test])
    return Inputs(dataset, questions, said, data.words, _count(star) + parameters, about)


def _generated(
    config: ml_collections.ConfigDict, data: CCAData, report: Report
) -> tuple[tuple[tuple[str, ...], ...], int]:
    """The answers to each question of `data.turns`, and the parameters of what made them."""
    count, parameters = config.generation.generations, 0
    if config.variant == "popular":
        rng = np.random.default_rng([config.seed, *b"popular"])
        ids = rng.choice(data.training.answer, (len(data.turns), count))
    else:
        model = fit_on(config, data, training_pairs(config, data), "CCA-AQ")
        ids, parameters = cca_outputs.generate(config, data, rankers.directions(config, data, model)), _count(model)
    report(f"{count} generations for each of {len(data.turns):,} questions")
    return tuple(tuple(data.answer_texts[answer] for answer in row) for row in ids.tolist()), parameters


def _about_generations(config: ml_collections.ConfigDict) -> str:
    one = config.generation
    if config.variant == "popular":
        return f"{one.generations} answers of train, as often as they were given there"
    drawn = "with" if one.replacement else "without"
    return f"{one.generations} of {one.neighbours} neighbours, {drawn} replacement, negative: {one.negative}"


def _count(model: CCA) -> int:
    return sum(x.size for x in (model.eigenvalues, *model.weights, *model.means))


def _cause(places: Mapping[tuple[int, int], int], wanted: Sequence[tuple[int, int]], missing: int) -> str:
    """Why sets may have no generations."""
    images = {image for image, _ in places}
    if not any(image in images for image, _ in wanted):
        return "No image is in both files: are they of the same data set and split?"
    for shift, whose in ((-1, "the references'"), (1, "the generations'")):
        left = sum((image, turn + shift) not in places for image, turn in wanted)
        if left < missing:
            return (
                f"If {whose} rounds were one lower, {'all' if not left else f'all but {left}'} would have some: they "
                "seem to count from 1. Rounds count from 0 in both files: take 1 from each there."
            )
    return "Generate answers for these too, or leave their sets out."


def _method(path: Path) -> str:
    """The method that made a file's sets, by its manifest; empty where there is none."""
    told = _manifest(path).get("method")
    return told if isinstance(told, str) and _NAMED.fullmatch(f"{told}=x") else ""


def _manifest(path: Path) -> dict[str, Any]:
    beside = release.manifest_path(path)
    held = read_json(beside) if beside.exists() else {}
    return held if isinstance(held, dict) else {}


def _dataset_of_files(files: Mapping[str, Path], questions: Sequence[Questions]) -> dict[str, Any]:
    """By the first manifest that tells, else by the files' names; the fingerprint is of questions and references."""
    told = [one for one in (_manifest(path).get("dataset") for path in files.values()) if isinstance(one, dict)]
    first = told[0] if told else {}
    digest = hashlib.sha256()
    for one in questions:
        for item in sorted(one.sets, key=lambda item: (item.image_id, item.round)):
            line = repr((one.name, item.image_id, item.round, item.references))
            digest.update(line.encode("utf-8", "surrogatepass"))
    split = str(first.get("split", "given"))
    return {
        "name": str(first.get("name", ", ".join(path.name for path in files.values()))),
        "version": str(first.get("version", "")),
        "split": split,
        "sizes": {split: len({(item.image_id, item.round) for one in questions for item in one.sets})},
        "fingerprint": digest.hexdigest()[:16],
        "simulated": any(one.get("simulated") is True for one in told),
        "stand_in": any(one.get("stand_in") is True for one in told),
    }
