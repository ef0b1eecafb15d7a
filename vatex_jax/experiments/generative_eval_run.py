"""The revised generative evaluation as an experiment (sections 4.1 and 5, appendix C), of files or of a data set.

Nothing here loads jax unless a BERT is named.
"""

import re
import time
from pathlib import Path
from typing import Any

import ml_collections

from vatex_jax.errors import ConfigError
from vatex_jax.experiments import cca
from vatex_jax.experiments import generative_eval_outputs as outputs
from vatex_jax.experiments.cca_data import LEARNED, check_vectors, open_inputs
from vatex_jax.experiments.generative_eval_data import (
    Inputs,
    Report,
    about_files,
    of_data_set,
    read_files,
    reference_files,
)
from vatex_jax.experiments.workdir import locked, open_workdir
from vatex_jax.metrics.consensus import METRICS
from vatex_jax.reports import results
from vatex_jax.reports.generation_summary import generation_summary
from vatex_jax.text.bert_folder import read_config

MODES = ("train_and_evaluate", "evaluate", "describe")
VARIANTS = ("cca_aq_g", "popular")
FREE = ("eval",)
ROUNDS = ("annotated", "all")


def run(config: ml_collections.ConfigDict, workdir: Path, mode: str, overwrite: bool = False) -> dict[str, Any] | None:
    """Runs a mode; returns the result that was written, None for `describe`.

    Nothing is trained, save CCA where no files are named, so `evaluate` does the same in a folder that is there.
    """
    if mode not in MODES:
        raise ConfigError(f"--mode={mode} has no meaning for this experiment: it must be one of {', '.join(MODES)}.")
    check(config)
    if mode == "describe":
        describe(config)
        return None
    check_inputs(config)  # before a folder is made
    again = mode == "evaluate"
    workdir = open_workdir(
        workdir, config, overwrite=overwrite and not again, must_exist=again, may_differ=FREE if again else ()
    )
    with locked(workdir), cca.warnings_as_notes():
        (workdir / results.FILE_NAME).unlink(missing_ok=True)  # it says that all the rest is there
        timing: dict[str, float] = {}
        started = time.monotonic()
        inputs = load(config, lambda line: print(line, flush=True))
        found = outputs.encoders(config, inputs, lambda line: print(line, flush=True))
        timing["load_seconds"] = time.monotonic() - started
        started = time.monotonic()
        scored = outputs.score(config, inputs, found)
        timing["score_seconds"] = time.monotonic() - started
        outputs.write_files(workdir, inputs, scored)
        result = _result(config, inputs, found, scored, timing)
        if config.eval.figures:
            outputs.draw_figures(workdir / "figures", result)
        results.write(workdir / results.FILE_NAME, result)
        print(generation_summary(result, outputs.examples(scored), workdir))
        return result


def load(config: ml_collections.ConfigDict, report: Report) -> Inputs:
    """The files that are named, or the data set."""
    if config.generations:
        return read_files(config.generations, config.references, report)
    return of_data_set(config, report)


def is_of_files(config: ml_collections.ConfigDict, result: dict[str, Any]) -> bool:
    """Whether a result is of the files that are named, as they are now."""
    told = about_files(config.generations, reference_files(config.references))
    return {name: result["signature"].get(name) for name in told} == told


def name_of(config: ml_collections.ConfigDict) -> str:
    """The model's name, by which tables go: the variant, of files without one the file's name."""
    if config.variant:
        return config.variant
    if not config.generations:
        return VARIANTS[0]
    return Path(config.generations).name.removesuffix(".gz").removesuffix(".json")


def check(config: ml_collections.ConfigDict) -> None:
    """Raises ConfigError for what would otherwise fail, or mislead, later."""
    if bool(config.generations) != bool(config.references):
        lacks = "references" if config.generations else "generations"
        raise ConfigError(f"config.{lacks} is empty: give both files, --config.generations and --config.references.")
    if not config.generations and config.variant not in ("", *VARIANTS):
        raise ConfigError(
            f"config.variant is {config.variant!r}: there are {', '.join(VARIANTS)}; answers of another model are "
            "given in --config.generations and --config.references."
        )
    unknown = [name for name in config.metrics if name not in METRICS]
    if unknown:
        raise ConfigError(f"config.metrics names {unknown[0]!r}: there are {', '.join(METRICS)}.")
    if any(type(k) is not int or k < 1 for k in config.ks):
        raise ConfigError(f"config.ks is {tuple(config.ks)}: numbers of generations, each 1 or more.")
    if config.sigma.rounds not in ROUNDS:
        raise ConfigError(f"config.sigma.rounds is {config.sigma.rounds!r}: it must be one of {', '.join(ROUNDS)}.")
    if config.generation.generations < 1:
        raise ConfigError(f"config.generation.generations is {config.generation.generations}: it must be 1 or more.")
    cca.check_sections(config)


def check_inputs(config: ml_collections.ConfigDict) -> None:
    """Raises what a run would raise for lack of files, of word vectors, of BERT or of the data set."""
    check(config)
    if config.generations:
        for path in (config.generations, *reference_files(config.references).values()):
            if not Path(path).is_file():
                raise ConfigError(f"{path}: no such file.")
        if config.vectors.source not in ("", LEARNED):
            check_vectors(config.vectors.source)
    else:
        open_inputs(config, lambda line: None)
    if config.bert:
        read_config(config.bert)


def describe(config: ml_collections.ConfigDict) -> None:
    """Prints what would run; needs no data."""
    if config.generations:
        named = ", ".join(f"{name} ({path})" for name, path in reference_files(config.references).items())
        print(f"{name_of(config)}: generations {config.generations} against {named}")
    else:
        what = {"cca_aq_g": "CCA-AQ-G", "popular": "answers of train, whatever the question"}[name_of(config)]
        count = config.generation.generations
        print(f"{name_of(config)} on {config.data.name}: {what}, {count} a question, against H and Sigma of CCA-AQ*")
    print(f"overlap metrics: {', '.join(config.metrics) or 'none'}")
    files = config.generations and config.vectors.source in ("", LEARNED)
    print(f"word vectors: {outputs.NO_VECTORS if files else config.vectors.source or 'to be named'}")
    print(f"BERT: {config.bert or outputs.NO_BERT}")


def parameters(config: ml_collections.ConfigDict) -> int | None:
    """Of the fitted models; None where the data tell, 0 for files and for `popular`'s own part."""
    if config.generations:
        return 0
    one = cca.pair_parameters(config)
    return None if one is None else one * (2 if name_of(config) == "cca_aq_g" else 1)


def _result(
    config: ml_collections.ConfigDict,
    inputs: Inputs,
    found: outputs.Encoders,
    scored: list[outputs.Scored],
    timing: dict[str, float],
) -> dict[str, Any]:
    return {
        "experiment": config.experiment,
        "variant": re.sub(r"[^\w.+*-]", "_", name_of(config)),
        "seed": config.seed,
        "dataset": inputs.dataset,
        "metrics": outputs.metrics(scored, found),
        "signature": outputs.signature(config, inputs, found),
        "parameters": inputs.parameters,
        "timing": timing,
        "software": results.software(),
        "config": config.to_dict(),
    }
