"""Answer reference sets: four constructions, their agreement with people, the release (section 4.2, appendix D).

All on the host: nothing here loads jax.
"""

import shutil
import time
from pathlib import Path
from typing import Any

import ml_collections

from vatex_jax.cca.cca import CCA
from vatex_jax.data.dialogues import Dialogues
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.experiments import cca
from vatex_jax.experiments import reference_sets_outputs as outputs
from vatex_jax.experiments.cca_data import CCAData, check_vectors, load_cca_data, open_inputs, rounds_of
from vatex_jax.experiments.training_pairs import (
    CONSTRUCTIONS,
    Candidates,
    candidates_of,
    constructions,
    fit_on,
    fit_star,
    sets_of,
    told,
    training_pairs,
)
from vatex_jax.experiments.workdir import locked, open_workdir
from vatex_jax.reference_sets import release
from vatex_jax.reference_sets.clusters import human
from vatex_jax.reports import results
from vatex_jax.reports.summary import agreement_summary

MODES = ("train_and_evaluate", "describe")
VARIANTS = ("human_train", "human_trainval")
RELEASE = "reference_sets"
"""The folder of the released sets."""
MODELS = {"aq": "CCA-AQ", "aq_star": "CCA-AQ*"}
FITTED = {"split": "train", "rounds": "all", "answers": "gt"}
"""`config.training` of CCA-AQ; what CCA-AQ* is fitted on is `annotations`, by the variant."""


def run(config: ml_collections.ConfigDict, workdir: Path, mode: str, overwrite: bool = False) -> dict[str, Any] | None:
    """Runs a mode; returns the result that was written, None for `describe`."""
    if mode not in MODES:
        raise ConfigError(f"--mode={mode} has no meaning for this experiment: it must be one of {', '.join(MODES)}.")
    check(config)
    if mode == "describe":
        describe(config)
        return None
    check_vectors(config.vectors.source)  # before a folder is made
    started = time.monotonic()
    workdir = open_workdir(workdir, config, overwrite=overwrite)
    with locked(workdir), cca.warnings_as_notes():
        data = load_cca_data(config, lambda line: print(line, flush=True), judged=True)
        rounds = annotated_test_rounds(data)
        _check_release(config, data)
        _forget(workdir)
        timing = {"load_seconds": time.monotonic() - started}
        models = _fit(config, data, workdir, timing)
        started = time.monotonic()
        output = outputs.judge(config, data, models, rounds)
        timing["agreement_seconds"] = time.monotonic() - started
        outputs.write_predictions(workdir, output)
        started = time.monotonic()
        released = write_release(config, data, models, workdir)
        timing["release_seconds"] = time.monotonic() - started
        result = _result(config, output, models, timing, released)
        if config.eval.figures:
            outputs.draw_figures(workdir / "figures", output, result)
        results.write(workdir / results.FILE_NAME, result)  # last: it says that all the rest is there
        print(agreement_summary(result, outputs.examples(output), workdir))
        return result


def check(config: ml_collections.ConfigDict) -> None:
    """Raises ConfigError for what would otherwise fail, or mislead, later."""
    if config.variant not in VARIANTS:
        raise ConfigError(f"config.variant is {config.variant!r}: there are {', '.join(VARIANTS)}.")
    expected = "trainval" if config.variant == "human_trainval" else "train"
    if config.training.annotations != expected:
        raise ConfigError(
            f"the variant is {config.variant!r}, but config.training.annotations is {config.training.annotations!r}: "
            "choose the variant after the colon of --config instead."
        )
    for name, value in FITTED.items():
        if config.training[name] != value:
            raise ConfigError(
                f"config.training.{name} is {config.training[name]!r}, but CCA-AQ is fitted on all ground truths of "
                f"train here: leave it at {value!r}. Other training answers and rounds are variants of configs/cca.py."
            )
    wanted = config.release
    if wanted.method not in CONSTRUCTIONS:
        raise ConfigError(f"config.release.method is {wanted.method!r}: there are {', '.join(CONSTRUCTIONS)}.")
    if wanted.model not in MODELS:
        raise ConfigError(f"config.release.model is {wanted.model!r}: there are {', '.join(MODELS)}.")
    cca.check_sections(config)


def check_inputs(config: ml_collections.ConfigDict) -> None:
    """Raises what a run would raise for lack of word vectors or of the data set."""
    check(config)
    open_inputs(config, lambda line: None)


def describe(config: ml_collections.ConfigDict) -> None:
    """Prints what would run; needs no data."""
    print(f"reference sets of {config.data.name}; word vectors: {config.vectors.source or 'to be named'}")
    print(f"CCA-AQ on all of train, CCA-AQ* on the annotations of {config.training.annotations}; k {config.cca.k}")
    splits = ", ".join(config.release.splits) or "every split that is read"
    print(f"released: {config.release.method} of {MODELS[config.release.model]} for {splits}")


def parameters(config: ml_collections.ConfigDict) -> int | None:
    """Of the fitted models, as `cca.parameters`."""
    one = cca.pair_parameters(config)
    return None if one is None else 2 * one


def annotated_test_rounds(data: CCAData) -> Candidates:
    """What is judged: the test split's annotated rounds.

    Raises:
        DataError: it has none.
    """
    test = data.test
    chosen = test.annotated
    if not chosen.any():
        raise DataError(
            f"Split {test.name} of {data.source.name} has no dense annotations to measure agreement with: build "
            "the data set with them, or name another split in config.data.test_split."
        )
    return candidates_of(test, rounds_of(test, chosen, data.asked[test.name]))


def write_release(
    config: ml_collections.ConfigDict, data: CCAData, models: dict[str, CCA], workdir: Path
) -> dict[str, dict[str, Any]]:
    """reference_sets/SPLIT.json.gz of each split wanted, all rounds that have an answer; returns their manifests.

    Beside them SPLIT.human.json.gz: people's H of the annotated rounds, in the same layout.
    """
    wanted, ending = config.release, ".json.gz" if config.release.compress else ".json"
    answers = models[wanted.model].directions(0, data.answers, config.cca.p)
    construct = constructions(config.training.clusters)[wanted.method]
    manifests = {}
    for split in _released_splits(config, data):
        folder, asked = workdir / RELEASE, data.asked[split.name]
        turns = rounds_of(split, split.judged, asked)
        sets = outputs.records(data, split, sets_of(answers, split, turns, construct))
        about = _about(config, data, split, models[wanted.model].k)
        manifests[split.name] = release.write(folder / f"{split.name}{ending}", sets, about, len(turns))
        rounds = candidates_of(split, rounds_of(split, split.annotated, asked))
        if len(rounds):
            sets = outputs.records(data, split, [(rounds, human(rounds.relevance, rounds.gt_index))])
            about = {"dataset": data.source.describe(split.name, [split]), "method": "H"}
            release.write(folder / f"{split.name}.human{ending}", sets, about | {"software": results.software()})
    return manifests


def _forget(workdir: Path) -> None:
    """Removes what an earlier run left here, which a kill may have ended, or other settings or data made.

    The result first: it says that all the rest is there, and is of one run.
    """
    (workdir / results.FILE_NAME).unlink(missing_ok=True)
    for folder in (RELEASE, "figures"):
        shutil.rmtree(workdir / folder, ignore_errors=True)


def _check_release(config: ml_collections.ConfigDict, data: CCAData) -> None:
    for name in config.release.splits:
        if name not in data.asked:
            known = ", ".join(data.asked)
            raise ConfigError(
                f"config.release.splits names {name!r}, which was not read: there are {known}. Validation is read by "
                "the variant human_trainval, or as config.data.test_split."
            )


def _released_splits(config: ml_collections.ConfigDict, data: CCAData) -> list[Dialogues]:
    splits = {split.name: split for split in (data.train, data.validation, data.test) if split is not None}
    return [splits[name] for name in (config.release.splits or splits)]


def _about(config: ml_collections.ConfigDict, data: CCAData, split: Dialogues, k: int) -> dict[str, Any]:
    """What a manifest says of the sets; its fingerprint is of all that they are made from.

    `k` components were fitted, which may be fewer than were asked for.
    """
    wanted, star = config.release, config.release.model == "aq_star"
    fitted_on = data.parts(config.training.annotations) if star else (data.train,)
    parts = {part.name: part for part in (*fitted_on, split)}
    return {
        "dataset": data.source.describe(split.name, list(parts.values())),
        "method": wanted.method,
        "clusters": config.training.clusters if wanted.method == "G" else None,
        "model": wanted.model,
        "annotations": config.training.annotations if star else None,
        "dialogues": f"drawn with replacement by seed {config.seed}" if config.data.resample else "once each",
        "correlations": "of the ground truth with the other candidates",
        "cca": config.cca.to_dict() | {"k": k},
        "vectors": data.words.name,
        "software": results.software(),
    }


def _fit(config: ml_collections.ConfigDict, data: CCAData, workdir: Path, timing: dict[str, float]) -> dict[str, CCA]:
    started = time.monotonic()
    models = {
        "aq": fit_on(config, data, training_pairs(config, data), f"CCA-AQ on {told(**FITTED)}"),
        "aq_star": fit_star(config, data),
    }
    timing["fit_seconds"] = time.monotonic() - started
    for name, model in models.items():
        model.save(workdir / f"cca_{name}.npz")
    return models


def _result(
    config: ml_collections.ConfigDict,
    output: outputs.Output,
    models: dict[str, CCA],
    timing: dict[str, float],
    released: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    data = output.data
    counted = {f"{split}/released": float(manifest["sets"]) for split, manifest in released.items()}
    return {
        "experiment": config.experiment,
        "variant": config.variant,
        "seed": config.seed,
        "dataset": data.source.describe(data.test.name, [data.train, data.test]),
        "metrics": outputs.metrics(config, output) | counted,
        "signature": outputs.signature(config, data, {name: model.k for name, model in models.items()}),
        "parameters": sum(cca.count(model) for model in models.values()),
        "timing": timing,
        "software": results.software(),
        "config": config.to_dict(),
    }
