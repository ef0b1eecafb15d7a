"""Visual dialogue by CCA and nearest neighbours: ranking, analysis of the candidate sets, generation.

Sections 2.2 and 3 of the visual dialogue paper, appendices A and B. All on the host: nothing here loads jax.
"""

import contextlib
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_collections

from vatex_jax.cca.cca import CCA, NORMALIZATIONS
from vatex_jax.cca.generation import NEGATIVE
from vatex_jax.errors import CheckpointError, ConfigError
from vatex_jax.experiments import cca_outputs as outputs
from vatex_jax.experiments import rankers
from vatex_jax.experiments.cca_data import LEARNED, CCAData, check_vectors, load_cca_data, model_of, open_inputs
from vatex_jax.experiments.training_pairs import ANSWERS, SPLITS, told
from vatex_jax.experiments.workdir import locked, open_workdir, outputs_folder
from vatex_jax.files import read_json, write_json_whole
from vatex_jax.reports import results
from vatex_jax.reports.summary import ranking_summary
from vatex_jax.text.vectors import check_special

MODES = ("train_and_evaluate", "evaluate", "predict", "describe")
FREE = ("eval", "generation", "data.test_split")
MODEL_NAME, FITTED_NAME = "cca.npz", "fitted.json"
IMAGES = ("resnet34", "vgg16", "vgg19")
UNKNOWN_PARAMETERS = ", which the vectors and features decide"
VARIANTS = ("aq", "aqi", "none", "nn_aq", "nn_aqi")
TRAINED_ON = {
    f"aq_{rounds}_{answers.lower()}": {"split": split, "rounds": "annotated" if rounds == "dense" else "all",
                                       "answers": answers}
    for rounds, split in (("dense", "train"), ("train", "train"), ("trainval", "trainval"))
    for answers in ANSWERS
    if (rounds, answers) not in (("train", "gt"), ("train", "H"), ("trainval", "H"))
}  # fmt: skip
"""CCA-AQ trained on other answers than ground truths, or on other rounds: variants by name, with `config.training`."""


def run(config: ml_collections.ConfigDict, workdir: Path, mode: str, overwrite: bool = False) -> dict[str, Any] | None:
    """Runs a mode; returns the result that was written, None where there is none.

    `predict` ranks every round that has candidates, of the test split where there is one, also where the answer is
    hidden, and writes the files that others read: ranks.json (EvalAI) and generations.json. `evaluate` measures the
    fitted model of a run again.
    """
    if mode not in MODES:
        raise ConfigError(f"--mode={mode} has no meaning for this experiment: it must be one of {', '.join(MODES)}.")
    check(config)
    if mode == "describe":
        describe(config)
        return None
    check_vectors(config.vectors.source)  # before a folder is made
    started = time.monotonic()
    again = mode != "train_and_evaluate"
    workdir = open_workdir(
        workdir, config, overwrite=overwrite and not again, must_exist=again, may_differ=FREE if again else ()
    )
    with locked(workdir), warnings_as_notes():
        data = load_cca_data(config, lambda line: print(line, flush=True), judged=mode != "predict")
        timing = {"load_seconds": time.monotonic() - started}
        _keep_what_is_fitted(workdir, _fitted_on(config, data), fitted=again)
        model, pairs = _model(config, data, workdir, timing, fitted=again)
        output = _output(config, data, model, timing)
        if not config.data.test_split and not data.test.judged.any():
            config = config.copy_and_resolve_references()
            config.data.test_split = data.test.name  # another split than is scored: its outputs lie apart
        folder = outputs_folder(workdir, config)
        folder.mkdir(parents=True, exist_ok=True)
        names = outputs.write_files(folder, config, output, ranks=mode == "predict")
        if mode == "predict":
            print(f"Outputs are in {', '.join(str(folder / name) for name in names)}.")
            return None
        result = _result(config, output, model, timing)
        result["metrics"] |= {} if pairs is None else {"pairs": float(pairs)}
        if config.eval.figures:
            outputs.draw_figures(folder / "figures", output, result)
        results.write(folder / results.FILE_NAME, result)  # last: it says that all the rest is there
        print(ranking_summary(result, outputs.examples(output), folder))
        return result


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Prints what the library warns of as lines of the run's output, each once, without file, line and source.

    Warnings of other packages, which are about code and not about what was asked for, stay as they are.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        shown, said = warnings.showwarning, set()

        def show(message, category, *where, **more):
            if category is UserWarning:
                if str(message) not in said:  # two models of a run may have one fault
                    print(f"note: {message}", flush=True)
                said.add(str(message))
            else:
                shown(message, category, *where, **more)

        warnings.showwarning = show
        yield


def check_inputs(config: ml_collections.ConfigDict) -> None:
    """Raises what a run would raise for lack of word vectors, of the data set or of its image features.

    Raises:
        ConfigError: a field is wrong.
        DataError: the data set is not what the variant needs.
    """
    check(config)
    open_inputs(config, lambda line: None)


def check(config: ml_collections.ConfigDict) -> None:
    """Raises ConfigError for what would otherwise fail, or mislead, later."""
    if config.variant not in (*VARIANTS, *TRAINED_ON):
        raise ConfigError(f"config.variant is {config.variant!r}: there are {', '.join((*VARIANTS, *TRAINED_ON))}.")
    check_sections(config)
    _check_training(config)
    _check_generation(config)


def check_sections(config: ml_collections.ConfigDict) -> None:
    """What holds for every experiment with CCA; raises ConfigError."""
    if config.seed < 0:
        raise ConfigError(f"config.seed is {config.seed}: it must be 0 or more.")
    for section, names in {
        "vectors": ("dimension", "window", "min_count", "max_tokens"),
        "cca": ("k",),
        "neighbours": ("questions", "images"),
        "generation": ("neighbours",),
        "training": ("clusters",),
        "eval": ("bootstrap_samples",),
    }.items():
        for name in names if section in config else ():
            if config[section][name] < 1:
                raise ConfigError(f"config.{section}.{name} is {config[section][name]}: it must be 1 or more.")
    for section, name, fits, rule in (
        ("vectors", "smoothing", 0 < config.vectors.smoothing <= 1, "above 0 and at most 1"),
        ("cca", "p", 0 <= config.cca.p < float("inf"), "0 or more"),
        ("cca", "regularization", 0 <= config.cca.regularization < float("inf"), "0 or more"),
        ("cca", "normalization", config.cca.normalization in NORMALIZATIONS, f"one of {', '.join(NORMALIZATIONS)}"),
        ("data", "image_features", config.data.image_features in IMAGES, f"one of {', '.join(IMAGES)}"),
        ("data", "test_split", config.data.test_split != "train", "another split: train is what is fitted"),
    ):
        if not fits:
            raise ConfigError(f"config.{section}.{name} is {config[section][name]!r}: it must be {rule}.")
    check_special(config.vectors.special)


def _check_training(config: ml_collections.ConfigDict) -> None:
    """A run must be trained on what its variant says, which tables go by."""
    wanted = config.training
    if wanted.annotations not in SPLITS:
        raise ConfigError(f"config.training.annotations is {wanted.annotations!r}: there are {', '.join(SPLITS)}.")
    expected = TRAINED_ON.get(config.variant, {"split": "train", "rounds": "all", "answers": "gt"})
    for name, value in expected.items():
        if wanted[name] != value:
            raise ConfigError(
                f"the variant is {config.variant!r}, but config.training.{name} is {wanted[name]!r}: tables go by the "
                f"variant, so choose it after the colon of --config instead; there are {', '.join(TRAINED_ON)}."
            )


def _check_generation(config: ml_collections.ConfigDict) -> None:
    wanted = config.generation
    if wanted.generations < 0:
        raise ConfigError(f"config.generation.generations is {wanted.generations}: it must be 0 or more.")
    if wanted.generations and model_of(config.variant) != "aq":
        raise ConfigError(
            f"config.generation.generations is {wanted.generations}, but only CCA-AQ generates: set it to 0."
        )
    if wanted.negative not in NEGATIVE:
        raise ConfigError(f"config.generation.negative is {wanted.negative!r}: there are {', '.join(NEGATIVE)}.")
    if not wanted.replacement and wanted.generations > wanted.neighbours:
        raise ConfigError(
            f"config.generation.generations is {wanted.generations}: without replacement it must be at most "
            f"config.generation.neighbours, {wanted.neighbours}."
        )


def describe(config: ml_collections.ConfigDict) -> None:
    """Prints what would run; needs no data."""
    what = {
        "aq": "CCA of answers and questions; ranks by the correlation of question and candidate",
        "aqi": "CCA of answers, images and questions; ranks by the correlation of question and candidate",
        "none": "no model: centred cosine of the sentence vectors",
        "nn_aq": f"mean answer of the {config.neighbours.questions} nearest training questions; ranks by L2 distance",
        "nn_aqi": f"mean answer of the {config.neighbours.images} questions with the most similar images among the "
        f"{config.neighbours.questions} nearest; ranks by L2 distance",
    }[model_of(config.variant)]
    print(f"{config.variant} on {config.data.name}: {what}")
    if config.variant in TRAINED_ON:
        one = config.training
        print(f"trained on {told(one.split, one.rounds, one.answers)}")
    print(f"word vectors: {config.vectors.source or 'to be named in config.vectors.source'}")
    if model_of(config.variant) in ("aq", "aqi"):
        print(f"CCA: k {config.cca.k}, p {config.cca.p}, {config.cca.normalization} normalization")
    print(f"generations a question: {config.generation.generations}")
    count = parameters(config)
    known = f"{count:,}" if count is not None else "k, and k + 1 for each column of each view"
    print(f"parameters: {known}{UNKNOWN_PARAMETERS if count is None else ''}")


def parameters(config: ml_collections.ConfigDict) -> int | None:
    """Numbers of the fitted model: eigenvalues, and weights and means of each view; 0 where nothing is fitted, None
    where it takes the vectors or the image features to know (`UNKNOWN_PARAMETERS`)."""
    if model_of(config.variant) not in ("aq", "aqi"):
        return 0
    return None if config.variant == "aqi" else pair_parameters(config)


def pair_parameters(config: ml_collections.ConfigDict) -> int | None:
    """Of CCA of answers and questions."""
    if config.vectors.source != LEARNED:
        return None
    size, k = config.vectors.dimension, min(config.cca.k, config.vectors.dimension)
    return k + 2 * size * (k + 1)


def _fitted_on(config: ml_collections.ConfigDict, data: CCAData) -> dict[str, Any]:
    """All that a fitted model depends on."""
    drawn = {"drawn_by_seed": config.seed} if config.data.resample else {}
    return {"data": data.fingerprint, "cca": config.cca.to_dict(), "training": config.training.to_dict(), **drawn}


def _keep_what_is_fitted(workdir: Path, fitted_on: dict[str, Any], fitted: bool) -> None:
    """Notes what a run was fitted on and how, or checks that it is the same still."""
    path = workdir / FITTED_NAME
    if not fitted:
        (workdir / MODEL_NAME).unlink(missing_ok=True)  # a model of other data must not be found beside it
        write_json_whole(path, fitted_on)
        return
    there = read_json(path)
    if not isinstance(there, dict) or {name: there.get(name) for name in fitted_on} != fitted_on:
        raise CheckpointError(
            f"{workdir}: the training dialogues, word vectors or settings are not those that the model there was "
            "fitted with. Restore them, or fit anew with --mode=train_and_evaluate --overwrite."
        )


def _model(
    config: ml_collections.ConfigDict, data: CCAData, workdir: Path, timing: dict[str, float], fitted: bool
) -> tuple[CCA | None, int | None]:
    """The model, and the pairs it was fitted on; None for those that fit nothing, or no pairs."""
    if model_of(config.variant) not in ("aq", "aqi"):
        return None, None
    path, note = workdir / MODEL_NAME, workdir / FITTED_NAME
    if fitted:
        return CCA.load(path), read_json(note).get("pairs")
    started = time.monotonic()
    model, pairs = rankers.fit_cca(config, data)
    timing["fit_seconds"] = time.monotonic() - started
    model.save(path)
    if pairs is not None:
        write_json_whole(note, read_json(note) | {"pairs": pairs})
    return model, pairs


def _output(
    config: ml_collections.ConfigDict, data: CCAData, model: CCA | None, timing: dict[str, float]
) -> outputs.Output:
    started = time.monotonic()
    neighbours = config.variant in ("nn_aq", "nn_aqi")
    found = None if neighbours else rankers.directions(config, data, model)
    scores = rankers.score(config, data, found)
    timing["rank_seconds"] = time.monotonic() - started
    started = time.monotonic()
    generations = outputs.generate(config, data, found) if config.generation.generations else None
    timing["generate_seconds"] = time.monotonic() - started
    return outputs.Output(data, scores, found, generations)


def _result(
    config: ml_collections.ConfigDict, output: outputs.Output, model: CCA | None, timing: dict[str, float]
) -> dict[str, Any]:
    data = output.data
    return {
        "experiment": config.experiment,
        "variant": config.variant,
        "seed": config.seed,
        "dataset": data.source.describe(data.test.name, [data.train, data.test]),
        "metrics": outputs.metrics(config, output),
        "signature": outputs.signature(config, data, 0 if model is None else model.k),
        "parameters": 0 if model is None else count(model),
        "timing": timing,
        "software": results.software(),
        "config": config.to_dict(),
    }


def count(model: CCA) -> int:
    """Numbers of a fitted model."""
    return sum(x.size for x in (model.eigenvalues, *model.weights, *model.means))
