"""Visual dialogue by CCA and nearest neighbours: ranking, analysis of the candidate sets, generation.

Sections 2.2 and 3 of the visual dialogue paper, appendices A and B. All on the host: nothing here loads jax.
"""

import time
from pathlib import Path
from typing import Any

import ml_collections

from vatex_jax.cca.cca import CCA
from vatex_jax.cca.generation import NEGATIVE
from vatex_jax.errors import ConfigError
from vatex_jax.experiments import cca_outputs as outputs
from vatex_jax.experiments import rankers
from vatex_jax.experiments.cca_data import CCAData, load_cca_data
from vatex_jax.experiments.workdir import locked, open_workdir, outputs_folder
from vatex_jax.reports import results
from vatex_jax.reports.summary import ranking_summary

MODES = ("train_and_evaluate", "evaluate", "predict", "describe")
FREE = ("eval", "generation", "data.test_split")
MODEL_NAME = "cca.npz"
VARIANTS = ("aq", "aqi", "none", "nn_aq", "nn_aqi")


def run(config: ml_collections.ConfigDict, workdir: Path, mode: str, overwrite: bool = False) -> dict[str, Any] | None:
    """Runs a mode; returns the result that was written, None where there is none.

    `predict` ranks every round that has candidates, also where the answer is hidden, and writes the files that others
    read: ranks.json (EvalAI) and generations.json. `evaluate` measures the fitted model of a run again.
    """
    if mode not in MODES:
        raise ConfigError(f"--mode={mode} has no meaning for this experiment: it must be one of {', '.join(MODES)}.")
    check(config)
    if mode == "describe":
        describe(config)
        return None
    started = time.monotonic()
    again = mode != "train_and_evaluate"
    workdir = open_workdir(
        workdir, config, overwrite=overwrite and not again, must_exist=again, may_differ=FREE if again else ()
    )
    with locked(workdir):
        data = load_cca_data(config, lambda line: print(line, flush=True), judged=mode != "predict")
        timing = {"load_seconds": time.monotonic() - started}
        model = _model(config, data, workdir, timing, fitted=again)
        print(f"{config.variant}: {outputs.recipe(config, data, 0 if model is None else model.k)}", flush=True)
        output = _output(config, data, model, timing)
        folder = outputs_folder(workdir, config)
        folder.mkdir(parents=True, exist_ok=True)
        names = outputs.write_files(folder, config, output, ranks=mode == "predict")
        if mode == "predict":
            print(f"Outputs are in {', '.join(str(folder / name) for name in names)}.")
            return None
        result = _result(config, output, model, timing)
        if config.eval.figures:
            outputs.draw_figures(folder / "figures", output, result)
        results.write(folder / results.FILE_NAME, result)  # last: it says that all the rest is there
        print(ranking_summary(result, outputs.examples(output), folder))
        return result


def check(config: ml_collections.ConfigDict) -> None:
    """Raises ConfigError for what would otherwise fail, or mislead, later."""
    if config.variant not in VARIANTS:
        raise ConfigError(f"config.variant is {config.variant!r}: there are {', '.join(VARIANTS)}.")
    for name, value in {
        "vectors.dimension": config.vectors.dimension,
        "cca.k": config.cca.k,
        "neighbours.questions": config.neighbours.questions,
        "neighbours.images": config.neighbours.images,
        "generation.neighbours": config.generation.neighbours,
        "eval.bootstrap_samples": config.eval.bootstrap_samples,
    }.items():
        if value < 1:
            raise ConfigError(f"config.{name} is {value}: it must be 1 or more.")
    if config.generation.generations < 0:
        raise ConfigError(f"config.generation.generations is {config.generation.generations}: it must be 0 or more.")
    if config.generation.generations and config.variant != "aq":
        raise ConfigError(
            f"config.generation.generations is {config.generation.generations}, but only the variant aq generates: "
            "set it to 0."
        )
    if config.generation.negative not in NEGATIVE:
        raise ConfigError(
            f"config.generation.negative is {config.generation.negative!r}: there are {', '.join(NEGATIVE)}."
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
    }[config.variant]
    print(f"{config.variant} on {config.data.name}: {what}")
    print(f"word vectors: {config.vectors.source or 'to be named in config.vectors.source'}")
    if config.variant in ("aq", "aqi"):
        print(f"CCA: k {config.cca.k}, p {config.cca.p}, {config.cca.normalization} normalization")
    print(f"generations a question: {config.generation.generations}")
    print(f"parameters: {parameters(config):,}")


def parameters(config: ml_collections.ConfigDict) -> int:
    """Numbers of the fitted model for learned vectors; 0 for the variants that fit nothing, or where sizes are the
    data's."""
    if config.variant != "aq" or config.vectors.source != "learned":
        return 0
    size, k = config.vectors.dimension, min(config.cca.k, config.vectors.dimension)
    return k + 2 * size * (k + 1)


def _model(
    config: ml_collections.ConfigDict, data: CCAData, workdir: Path, timing: dict[str, float], fitted: bool
) -> CCA | None:
    if config.variant not in ("aq", "aqi"):
        return None
    path = workdir / MODEL_NAME
    if fitted:
        return CCA.load(path)
    started = time.monotonic()
    model = rankers.fit_cca(config, data)
    timing["fit_seconds"] = time.monotonic() - started
    model.save(path)
    return model


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
        "signature": outputs.SIGNATURE,
        "parameters": 0 if model is None else sum(x.size for x in (model.eigenvalues, *model.weights, *model.means)),
        "timing": timing,
        "software": results.software(),
        "config": config.to_dict(),
    }
