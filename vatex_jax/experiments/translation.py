"""Video-guided machine translation (VaTeX, section 4.2): train, decode, score, report; and describe without data."""

import dataclasses
import functools
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import ml_collections
import numpy as np

from vatex_jax.data.batching import MAX_SHAPES, TranslationBatches
from vatex_jax.data.examples import languages
from vatex_jax.decoding.sampling import greedy
from vatex_jax.errors import ConfigError
from vatex_jax.experiments import translation_outputs as outputs
from vatex_jax.experiments.parameters import parameter_table
from vatex_jax.experiments.translation_data import TranslationData, load_translation_data
from vatex_jax.experiments.workdir import CONFIG_NAME, PLACES, flat, open_workdir, outputs_folder, read_config
from vatex_jax.models.translator import Translator, translation_loss
from vatex_jax.reports import results
from vatex_jax.training import sharding
from vatex_jax.training.checkpoints import load_best_params
from vatex_jax.training.compilation import enable_compilation_cache
from vatex_jax.training.loop import Result, train
from vatex_jax.training.loop import check_config as check_train_config

MODES = ("train_and_evaluate", "evaluate", "predict", "describe")
FREE = ("decode", "eval", "data.test_split")
"""Sections and fields that `evaluate` and `predict` may change without being another run."""

SEGMENT_FEATURES = 1024


class Trained(NamedTuple):
    """A run that can be worked with further, in a notebook say; see `restore`."""

    config: ml_collections.ConfigDict
    data: TranslationData
    model: Translator
    params: Any


@dataclasses.dataclass(frozen=True)
class TranslationTask:
    """A translator and its loss (training.task.Task)."""

    model: Translator

    def init(self, key: jax.Array) -> Any:
        word = jnp.ones((1, 1), jnp.int32)
        video = {} if self.model.video == "none" else {
            "video": jnp.zeros((1, 1, SEGMENT_FEATURES)), "video_mask": jnp.ones((1, 1), bool)
        }  # fmt: skip
        return self.model.init(key, word, word, **video)["params"]

    def loss(
        self, params: Any, batch: dict[str, jax.Array], key: jax.Array, step: jax.Array
    ) -> tuple[jax.Array, dict[str, jax.Array]]:
        del step
        loss, tokens = translation_loss(self.model, params, batch, key)
        return loss, {"tokens": tokens}


def make_model(config: ml_collections.ConfigDict, source_words: int, target_words: int) -> Translator:
    """The translator of a configuration."""
    if config.precision not in ("float32", "bfloat16"):
        raise ConfigError(f"config.precision is {config.precision!r}: it must be float32 or bfloat16.")
    model = config.model.to_dict()
    return Translator(source_words, target_words, dtype=jnp.dtype(config.precision), **model)


def check_config(config: ml_collections.ConfigDict) -> None:
    """Raises ConfigError for what would otherwise fail, or mislead, hours later."""
    check_train_config(config.train)
    video = "attention" if config.variant == "shuffled" else config.variant
    if (config.model.video, config.data.shuffled_video) != (video, config.variant == "shuffled"):
        raise ConfigError(
            f"the variant is {config.variant!r}, but model.video is {config.model.video!r} and data.shuffled_video is "
            f"{config.data.shuffled_video}: tables go by the variant, so choose it after the colon of --config instead."
        )
    least = {
        "seed": 0, "model.layers": 1, "train.batch_size": 1, "data.shapes": 1, "data.max_words": 1,
        "data.max_segments": 1, "decode.batch_size": 1, "decode.max_words": 1, "decode.beam": 1, "decode.n_best": 1,
        "eval.bootstrap_samples": 1,
    }  # fmt: skip
    values = flat(config.to_dict())
    for name, smallest in least.items():
        if values[name] < smallest:
            raise ConfigError(f"config.{name} is {values[name]}: it must be {smallest} or more.")
    if config.decode.n_best > config.decode.beam:
        raise ConfigError(
            f"config.decode.n_best is {config.decode.n_best}, more than the beam of {config.decode.beam} can give: "
            "lower it or widen config.decode.beam."
        )
    if not 0 <= config.model.dropout < 1:
        raise ConfigError(f"config.model.dropout is {config.model.dropout}: it must be from 0 up to, not including, 1.")
    if config.data.shapes > MAX_SHAPES:
        raise ConfigError(f"config.data.shapes is {config.data.shapes}: at most {MAX_SHAPES} are compiled a run.")


def run(config: ml_collections.ConfigDict, workdir: Path, mode: str, overwrite: bool = False) -> dict[str, Any] | None:
    """Runs a mode of the experiment; returns the result that was written, None where there is none."""
    if mode not in MODES:
        raise ConfigError(f"--mode={mode} has no meaning for a translation run: it must be one of {', '.join(MODES)}.")
    check_config(config)
    if mode == "describe":
        describe(config)
        return None
    started = time.monotonic()
    sharding.split_cpu(config.cpu_devices)
    sharding.initialize_distributed()
    report = _say if jax.process_index() == 0 else _stay_silent
    training = mode == "train_and_evaluate"
    enable_compilation_cache()
    with sharding.first_process_first("work folder and data set"):
        workdir = open_workdir(
            workdir,
            config,
            overwrite=overwrite and training and jax.process_index() == 0,
            must_exist=not training,
            may_differ=() if training else FREE,
        )
        data = load_translation_data(config, workdir, report, references=mode != "predict")
    task = _task(config, data)
    timing = {"load_seconds": time.monotonic() - started}
    if training:
        trained = _train(config, workdir, data, task, report)
        params, timing["train_seconds"] = trained.params, trained.host.wall_seconds  # over all resumes
    else:
        params = _restored(config, workdir, data, task)
    decoding_started = time.monotonic()
    output = outputs.Output(data, "test", outputs.translate(config, task.model, params, data))
    timing["decode_seconds"] = time.monotonic() - decoding_started
    if jax.process_index() != 0:
        return None
    folder = outputs_folder(workdir, config)
    folder.mkdir(parents=True, exist_ok=True)
    outputs.write_predictions(folder, output)
    if mode == "predict":
        outputs.write_submission(folder, output)
        report(f"Translations are in {folder / 'predictions.jsonl'} and {folder / 'submission.json'}.")
        return None
    result = _result(config, output, params, timing)
    outputs.write_result(folder, config, output, result, task.model, params)
    report("\n" + outputs.summary(folder, output, result))
    return result


def restore(workdir: str | Path, report: Callable[[str], object] = print) -> Trained:
    """The best parameters of a run, with its model and data: what `evaluate` works from.

    Raises:
        CheckpointError: there is no trained run in `workdir`.
        DataError: its data set is not there, or not the one it was trained on.
    """
    workdir = Path(workdir).absolute()
    config = ml_collections.ConfigDict(read_config(workdir / CONFIG_NAME))
    data = load_translation_data(config, workdir, report)
    task = _task(config, data)
    return Trained(config, data, task.model, _restored(config, workdir, data, task))


def _task(config: ml_collections.ConfigDict, data: TranslationData) -> TranslationTask:
    return TranslationTask(make_model(config, *(len(data.vocabularies[side]) for side in languages(config.direction))))


def _say(text: str) -> None:
    print(text, flush=True)


def _stay_silent(text: str) -> None:
    del text


def _fingerprint(config: ml_collections.ConfigDict, data: TranslationData) -> dict[str, str]:
    """What a checkpoint must have been made with: everything but what evaluation may change."""
    fields = {
        name: value
        for name, value in flat(config.to_dict()).items()
        if not {name, name.partition(".")[0]} & {*FREE, *PLACES}
    }
    digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]
    words = {f"vocabulary_{language}": vocabulary.fingerprint for language, vocabulary in data.vocabularies.items()}
    dataset = data.source.describe("train", data.trained_on)
    segments = hashlib.sha256(b"".join(split.features.segments.tobytes() for split in data.trained_on))
    return {"config": digest, "captions": dataset["fingerprint"], "segments": segments.hexdigest()[:16], **words}


def _train(
    config: ml_collections.ConfigDict,
    workdir: Path,
    data: TranslationData,
    task: TranslationTask,
    report: Callable[[str], object],
) -> Result:
    sharding.check_batch_size(config.train.batch_size, jax.device_count(), "config.train.batch_size")
    batches = TranslationBatches(
        data.examples["train"], batch_size=config.train.batch_size, seed=config.seed, shapes=config.data.shapes
    )
    count = sum(x.size for x in jax.tree.leaves(jax.eval_shape(task.init, jax.random.key(0))))
    padding = batches.buckets.padding(data.examples["train"].lengths())
    report(
        f"{config.variant} {config.direction} on {data.source.name}: {count:,} parameters, "
        f"{len(batches.examples):,} training pairs, {batches.steps_per_epoch} steps an epoch in "
        f"{len(batches.buckets.shapes)} shapes ({padding:.0%} padding), {jax.device_count()} device(s)"
    )
    evaluate = functools.partial(_validation_bleu, _greedy_decoder(config, task.model), data)
    if not len(data.examples["validation"]):
        report("The validation split has no parallel captions: training runs all its epochs and the last step is kept.")
    return train(
        task,
        batches,
        config=config.train,
        seed=config.seed,
        workdir=workdir,
        evaluate=evaluate if len(data.examples["validation"]) else None,
        fingerprint=_fingerprint(config, data),
    )


def _greedy_decoder(config: ml_collections.ConfigDict, model: Translator) -> outputs.Decoder:
    search = functools.partial(greedy, max_words=config.decode.max_words, length_penalty=config.decode.length_penalty)
    return outputs.make_translation_decoder(model, search, config.decode.batch_size)


def _validation_bleu(decoder: outputs.Decoder, data: TranslationData, params: Any, epoch: int) -> dict[str, float]:
    """Greedy BLEU-4 on validation; the test split is decoded with beam search."""
    del epoch
    found = decoder(params, data.examples["validation"])
    return {"bleu4": outputs.Output(data, "validation", found).scores["bleu4"]}


def _restored(config: ml_collections.ConfigDict, workdir: Path, data: TranslationData, task: TranslationTask) -> Any:
    template = jax.eval_shape(task.init, jax.random.key(0))
    params = load_best_params(workdir / "checkpoints", template, _fingerprint(config, data))
    return sharding.replicate(sharding.make_mesh(), params)


def _result(
    config: ml_collections.ConfigDict, output: outputs.Output, params: Any, timing: dict[str, float]
) -> dict[str, Any]:
    data = output.data
    return {
        "experiment": config.experiment,
        "variant": config.variant,
        "seed": config.seed,
        "dataset": data.source.describe(data.test_split, list(data.splits.values())),
        "metrics": outputs.test_metrics(config, output),
        "signature": outputs.signature(config, output),
        "parameters": int(sum(np.size(x) for x in jax.tree.leaves(params))),
        "timing": timing,
        "software": results.software(),
        "config": config.to_dict(),
    }


def describe(config: ml_collections.ConfigDict) -> None:
    """Prints what would run: data set, parameters by module and in total, schedule; needs no data."""
    sides = languages(config.direction)
    task = TranslationTask(make_model(config, *(config.vocabulary_size[side] for side in sides)))
    shapes = jax.eval_shape(task.init, jax.random.key(0))
    sizes = ", ".join(f"{side} {config.vocabulary_size[side]:,}" for side in sides)
    print(f"{config.experiment} {config.variant}, {config.direction}, on {config.data.name}")
    print(f"vocabularies (special tokens included; what training builds may differ): {sizes}\n")
    print(parameter_table(shapes))
    learning, decode = config.train, config.decode
    print(
        f"\nAdam, {learning.schedule} learning rate {learning.learning_rate:g}, batch {learning.batch_size}, "
        f"at most {learning.epochs} epochs, patience {learning.patience}; {config.precision} products; "
        f"beam {decode.beam}, length penalty {decode.length_penalty:g}"
    )
