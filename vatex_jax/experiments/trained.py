"""The course of an experiment that trains a model: modes, work folder, training, decoding, what it leaves behind.

What differs between experiments (data, model, outputs) is given as an `Experiment`; nothing here knows which it runs.
"""

import contextlib
import functools
import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import ml_collections
import numpy as np

from vatex_jax.data.batching import MAX_SHAPES, TrainingBatches
from vatex_jax.data.sources import Source, Split, current_version
from vatex_jax.errors import CheckpointError, ConfigError
from vatex_jax.experiments.parameters import parameter_table
from vatex_jax.experiments.workdir import (
    CONFIG_NAME,
    flat,
    locked,
    open_workdir,
    outputs_folder,
    read_config,
)
from vatex_jax.reports import results
from vatex_jax.reports.cells import PLACES, origin
from vatex_jax.reports.earlier import without_earlier
from vatex_jax.text.tokenization import make_tokenizer
from vatex_jax.text.vocabulary import SPECIALS
from vatex_jax.training import optimizers, sharding, writers
from vatex_jax.training.allocation import keep_freed_memory
from vatex_jax.training.checkpoints import load_best_params
from vatex_jax.training.compilation import enable_compilation_cache
from vatex_jax.training.loop import Result, Stage, train
from vatex_jax.training.loop import check_config as check_train_config
from vatex_jax.training.task import Evaluate, Task

MODES = ("train_and_evaluate", "evaluate", "predict", "describe")
FREE = ("decode", "eval", "data.test_split")
"""Sections and fields that `evaluate` and `predict` may change without being another run."""

SEGMENT_FEATURES = 1024
"""F of I3D and of the simulated features."""

SMALLEST_VOCABULARY = len(SPECIALS) + 1

MOST_LENGTH_PENALTY = 10

Report = Callable[[str], object]


@runtime_checkable
class Data(Protocol):
    """What an experiment has read; see its own module for the rest.

    Attributes:
        source: the opened data set.
        splits: `train`, `validation` and `test` as read.
        test_split: the test split's name in the data set.
        trained_on: the splits that training reads, whole.
        vocabularies: by language.
        examples: of `train`, `validation` and `test`.
    """

    source: Source
    splits: Mapping[str, Split]
    test_split: str
    trained_on: Sequence[Split]
    vocabularies: Mapping[str, Any]
    examples: Mapping[str, Any]


@runtime_checkable
class Experiment(Protocol):
    """What one experiment is made of.

    Attributes:
        name: `config.experiment`.
    """

    name: str

    def check(self, config: ml_collections.ConfigDict) -> None:
        """Raises ConfigError for what would otherwise fail, or mislead, hours later."""

    def languages(self, config: ml_collections.ConfigDict) -> Sequence[str]:
        """The languages of the model's vocabularies."""

    def load(self, config: ml_collections.ConfigDict, workdir: Path, report: Report, *, references: bool) -> Any:
        """Reads what the configuration names; see `Data`. Without `references` the test split may lack them."""

    def task(self, config: ml_collections.ConfigDict, sizes: Mapping[str, int], steps_per_epoch: int) -> Task:
        """The model and its loss for vocabularies of these sizes."""

    def judge(self, config: ml_collections.ConfigDict, task: Any, data: Any) -> Evaluate:
        """Measures parameters on validation."""

    def stages(self, config: ml_collections.ConfigDict, task: Any) -> Sequence[Stage] | None:
        """Parts of the training; None for one."""

    def scorer(self) -> contextlib.AbstractContextManager[Any]:
        """What scoring needs running; entered before the test split is decoded, so that it loads meanwhile."""

    def decode(self, config: ml_collections.ConfigDict, task: Any, params: Any, data: Any, scorer: Any) -> Any:
        """The test split, decoded; `scorer` is what `scorer()` gave, None where nothing will be scored."""

    def write_predictions(self, folder: Path, output: Any) -> None:
        """predictions.jsonl."""

    def write_submission(self, folder: Path, output: Any) -> Sequence[str]:
        """The file, or files, a challenge wants; returns their names."""

    def metrics(self, config: ml_collections.ConfigDict, output: Any) -> dict[str, float]:
        """All metrics of the test split."""

    def signature(self, config: ml_collections.ConfigDict, output: Any) -> dict[str, str]:
        """How they were counted and decoded."""

    def write_statistics(self, folder: Path, output: Any) -> None:
        """What paired tests against other runs need; before results.json, which says that a run is done."""

    def draw(self, figures: Path, output: Any, task: Any, params: Any, note: str) -> None:
        """Pictures of the outputs, with `note` on them, into a folder that is there; the curve is drawn already."""

    def summary(self, folder: Path, output: Any, result: dict[str, Any]) -> str:
        """The tidy page at the end."""


class Trained(NamedTuple):
    """A run that can be worked with further, in a notebook say; see `restore`."""

    config: ml_collections.ConfigDict
    data: Any
    task: Any
    params: Any


def run(
    experiment: Experiment, config: ml_collections.ConfigDict, workdir: Path, mode: str, overwrite: bool = False
) -> dict[str, Any] | None:
    """Runs a mode of an experiment; returns the result that was written, None where there is none."""
    if mode not in MODES:
        raise ConfigError(f"--mode={mode} has no meaning for this experiment: it must be one of {', '.join(MODES)}.")
    check_config(config)
    experiment.check(config)
    if mode == "describe":
        describe(experiment, config)
        return None
    started = time.monotonic()
    keep_freed_memory()
    sharding.split_cpu(config.cpu_devices)
    sharding.initialize_distributed()
    first, training = jax.process_index() == 0, mode == "train_and_evaluate"
    report = _say if first else _stay_silent
    enable_compilation_cache()
    with contextlib.ExitStack() as stack:
        with sharding.first_process_first("work folder and data set"):
            workdir = open_workdir(
                workdir,
                config,
                overwrite=overwrite and training and first,
                must_exist=not training,
                may_differ=() if training else FREE,
            )
            if first:
                stack.enter_context(locked(workdir))
            data = experiment.load(config, workdir, report, references=mode != "predict")
        timing = {"load_seconds": time.monotonic() - started}
        return _run_on(experiment, config, workdir, mode, data, timing, report)


def _run_on(
    experiment: Experiment,
    config: ml_collections.ConfigDict,
    workdir: Path,
    mode: str,
    data: Data,
    timing: dict[str, float],
    report: Report,
) -> dict[str, Any] | None:
    """Trains or restores, decodes and scores, and writes what is found."""
    scored = mode != "predict" and jax.process_index() == 0
    with contextlib.ExitStack() as stack:
        scorer = functools.cache(lambda: stack.enter_context(experiment.scorer()) if scored else None)
        if mode == "train_and_evaluate":
            task, trained = _train(experiment, config, workdir, data, report, at_last=scorer)
            params, timing["train_seconds"] = trained.params, trained.host.wall_seconds  # over all resumes
        else:
            task, params = _restored(experiment, config, workdir, data)
        scorer()  # loads while captions are decoded
        decoding_started = time.monotonic()
        output = experiment.decode(config, task, params, data, scorer())
        timing["decode_seconds"] = time.monotonic() - decoding_started
        if jax.process_index() != 0:
            return None
        folder = outputs_folder(workdir, config)
        folder.mkdir(parents=True, exist_ok=True)
        experiment.write_predictions(folder, output)
        result = _result(experiment, config, data, output, params, timing) if scored else None
    if result is None:
        names = ("predictions.jsonl", *experiment.write_submission(folder, output))
        report(f"Outputs are in {', '.join(str(folder / name) for name in names)}.")
        return None
    experiment.write_statistics(folder, output)
    results.write(folder / results.FILE_NAME, result)
    if config.eval.figures:
        _draw(experiment, folder, output, task, jax.device_get(params), origin(result["dataset"]))
    report("\n" + experiment.summary(folder, output, result))
    return result


def _draw(experiment: Experiment, folder: Path, output: Any, task: Any, params: Any, note: str) -> None:
    """Pictures, by this process alone: `params` are on the host."""
    from vatex_jax.reports import plots

    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    if (folder / writers.METRICS_NAME).exists():
        plots.training_curves(folder / writers.METRICS_NAME, figures / "training.png", note)
    experiment.draw(figures, output, task, params, note)


def restore(experiment: Experiment, workdir: str | Path, report: Report = print) -> Trained:
    """The best parameters of a run, with its model and data: what `evaluate` works from.

    Raises:
        CheckpointError: there is no trained run in `workdir`.
        DataError: its data set is not there, or not the one it was trained on.
    """
    workdir = Path(workdir).absolute()
    config = ml_collections.ConfigDict(read_config(workdir / CONFIG_NAME))
    if config.experiment != experiment.name:
        raise CheckpointError(f"{workdir} holds a run of {config.experiment}, not of {experiment.name}.")
    data = experiment.load(config, workdir, report, references=True)
    return Trained(config, data, *_restored(experiment, config, workdir, data))


def check_config(config: ml_collections.ConfigDict) -> None:
    """What holds for every experiment; raises ConfigError."""
    values = flat(config.to_dict())
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"config.{name} is {value}: it must be a finite number.")
        if type(value) is int and abs(value) >= 2**31 and name != "seed":
            raise ConfigError(f"config.{name} is {value}: whole numbers go up to {2**31 - 1:,}.")
    sizes = [name for name, value in values.items() if name.startswith("model.") and type(value) is int]
    least = {
        "seed": 0, "cpu_devices": 0, "train.batch_size": 1, "data.shapes": 1, "data.max_words": 1, "data.min_count": 1,
        "data.max_segments": 1, "decode.batch_size": 1, "decode.max_words": 1, "decode.beam": 1, "decode.n_best": 1,
        "vocabulary_size.en": SMALLEST_VOCABULARY, "vocabulary_size.zh": SMALLEST_VOCABULARY, **dict.fromkeys(sizes, 1),
    }  # fmt: skip
    for name, smallest in least.items():
        if values[name] < smallest:
            raise ConfigError(f"config.{name} is {values[name]}: it must be {smallest} or more.")
    most = {"seed": 2**63 - 1, "cpu_devices": 1024, "data.shapes": MAX_SHAPES}
    for name, largest in most.items():
        if values[name] > largest:
            raise ConfigError(f"config.{name} is {values[name]}: it must be {largest} at most.")
    if not abs(config.decode.length_penalty) <= MOST_LENGTH_PENALTY:
        raise ConfigError(
            f"config.decode.length_penalty is {config.decode.length_penalty}: it must be from -{MOST_LENGTH_PENALTY} "
            f"to {MOST_LENGTH_PENALTY}; beyond, length alone decides."
        )
    if config.decode.n_best > config.decode.beam:
        raise ConfigError(
            f"config.decode.n_best is {config.decode.n_best}, more than the beam of {config.decode.beam} can give: "
            "lower it or widen config.decode.beam."
        )
    if not 0 <= config.model.dropout < 1:
        raise ConfigError(f"config.model.dropout is {config.model.dropout}: it must be from 0 up to, not including, 1.")
    if config.precision not in ("float32", "bfloat16"):
        raise ConfigError(f"config.precision is {config.precision!r}: it must be float32 or bfloat16.")
    make_tokenizer("zh", config.data.chinese)
    check_train_config(config.train)


def describe(experiment: Experiment, config: ml_collections.ConfigDict) -> None:
    """Prints what would run: data set, parameters by module and in total, schedule; needs no data."""
    what = " ".join(part for part in (config.experiment, config.variant, config.get("direction", "")) if part)
    print(f"{what}, on {config.data.name} {current_version(config.data.name)}")
    said = ", ".join(f"{name} {config.vocabulary_size[name]:,}" for name in experiment.languages(config))
    print(f"vocabularies (special tokens included; what training builds may differ): {said}\n")
    shapes = _parameter_shapes(experiment, config)
    print(parameter_table(shapes))
    learning, decode = config.train, config.decode
    print(
        f"\nAdam, {learning.schedule} learning rate {learning.learning_rate:g}, batch {learning.batch_size}, "
        f"at most {learning.epochs} epochs, {_patience(learning.patience)}; {config.precision} products; "
        f"beam {decode.beam}, length penalty {decode.length_penalty:g}"
    )
    if learning.plateau_factor < 1:
        print(
            f"rate times {learning.plateau_factor:g} after {learning.plateau_patience} evaluations without a better "
            f"{learning.metric}"
        )
    if sampling := learning.get("scheduled_sampling"):
        print(
            f"scheduled sampling: {sampling.first:g} at first, {sampling.add:g} more every {sampling.every} epochs, at "
            f"most {sampling.most:g}"
        )
    task = experiment.task(config, _assumed_sizes(experiment, config), 1)
    for number, stage in enumerate(experiment.stages(config, task) or (), 1):
        leaves = jax.tree.leaves(optimizers.frozen_leaves(shapes, stage.frozen))
        frozen = sum(leaf.size for leaf, is_frozen in zip(jax.tree.leaves(shapes), leaves, strict=True) if is_frozen)
        print(f"stage {number}: at most {stage.epochs} epochs, {frozen:,} parameters frozen")


def _patience(evaluations: int) -> str:
    return f"stopped after {evaluations} evaluations without improvement" if evaluations else "no early stopping"


def parameters(experiment: Experiment, config: ml_collections.ConfigDict) -> int:
    """How many the model has for the vocabulary sizes that the configuration assumes."""
    return sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(_parameter_shapes(experiment, config)))


def _parameter_shapes(experiment: Experiment, config: ml_collections.ConfigDict) -> Any:
    task = experiment.task(config, _assumed_sizes(experiment, config), 1)
    return jax.eval_shape(task.init, jax.random.key(0))


def _assumed_sizes(experiment: Experiment, config: ml_collections.ConfigDict) -> dict[str, int]:
    return {language: config.vocabulary_size[language] for language in experiment.languages(config)}


def _say(text: str) -> None:
    print(text, flush=True)


def _stay_silent(text: str) -> None:
    del text


def _sizes(data: Data) -> dict[str, int]:
    return {language: len(vocabulary) for language, vocabulary in data.vocabularies.items()}


def config_digest(config: Mapping[str, Any]) -> str:
    """Returns a hash of the configuration that a checkpoint was made with: all fields but what evaluation may change.

    A field that an earlier version lacked counts only if it has another value than its absence stands for, so that
    checkpoints keep their digest.
    """
    fields = {
        name: value
        for name, value in flat(without_earlier(config)).items()
        if not {name, name.partition(".")[0]} & {*FREE, *PLACES}
    }
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]


def _fingerprint(config: ml_collections.ConfigDict, data: Data) -> dict[str, str]:
    """What a checkpoint must have been made with."""
    digest = config_digest(config.to_dict())
    words = {f"vocabulary_{language}": vocabulary.fingerprint for language, vocabulary in data.vocabularies.items()}
    dataset = data.source.describe("train", data.trained_on)
    features = ",".join(split.features.digest for split in data.trained_on)
    kind = "stand-in " if data.source.stand_in else ""
    return {"config": digest, "captions": dataset["fingerprint"], "features": kind + features, **words}


def _train(
    experiment: Experiment,
    config: ml_collections.ConfigDict,
    workdir: Path,
    data: Data,
    report: Report,
    at_last: Callable[[], Any],
) -> tuple[Task, Result]:
    """Trains; calls `at_last`, which may need a while for what it starts, before the evaluation that ends training."""
    sharding.check_batch_size(config.train.batch_size, jax.device_count(), "config.train.batch_size")
    batches = TrainingBatches(
        data.examples["train"], batch_size=config.train.batch_size, seed=config.seed, shapes=config.data.shapes
    )
    task = experiment.task(config, _sizes(data), batches.steps_per_epoch)
    count = sum(x.size for x in jax.tree.leaves(jax.eval_shape(task.init, jax.random.key(0))))
    padding = batches.buckets.padding(data.examples["train"])
    what = " ".join(part for part in (config.variant, config.get("direction", "")) if part)
    report(
        f"{what} on {data.source.name}: {count:,} parameters, {len(batches.examples):,} training examples, "
        f"{batches.steps_per_epoch} steps an epoch in {len(batches.buckets.shapes)} shapes ({padding:.0%} padding), "
        f"{jax.device_count()} device(s)"
    )
    stages = experiment.stages(config, task)
    epochs = sum(stage.epochs for stage in stages) if stages else config.train.epochs
    judge = experiment.judge(config, task, data)

    def evaluate(params: Any, epoch: int) -> Mapping[str, float]:
        if epoch >= epochs:
            at_last()
        return judge(params, epoch)

    judged = len(data.examples["validation"]) > 0
    if not judged:
        report("The validation split has nothing to score: training runs all its epochs and the last step is kept.")
    return task, train(
        task,
        batches,
        config=config.train,
        seed=config.seed,
        workdir=workdir,
        evaluate=evaluate if judged else None,
        fingerprint=_fingerprint(config, data),
        stages=stages,
    )


def _restored(experiment: Experiment, config: ml_collections.ConfigDict, workdir: Path, data: Data) -> tuple[Task, Any]:
    task = experiment.task(config, _sizes(data), 1)
    template = jax.eval_shape(task.init, jax.random.key(0))
    params = load_best_params(workdir / "checkpoints", template, _fingerprint(config, data))
    return task, sharding.replicate(sharding.make_mesh(), params)


def _result(
    experiment: Experiment,
    config: ml_collections.ConfigDict,
    data: Data,
    output: Any,
    params: Any,
    timing: dict[str, float],
) -> dict[str, Any]:
    return {
        "experiment": config.experiment,
        "variant": config.variant,
        "seed": config.seed,
        "dataset": data.source.describe(data.test_split, list(data.splits.values())),
        "metrics": experiment.metrics(config, output),
        "signature": experiment.signature(config, output),
        "parameters": int(sum(np.size(x) for x in jax.tree.leaves(params))),
        "timing": timing,
        "software": results.software(),
        "config": config.to_dict(),
    }
