"""Video-guided machine translation (VaTeX, section 4.2): what the course of a trained experiment is given."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_collections

from vatex_jax.data.examples import languages
from vatex_jax.decoding.sampling import greedy
from vatex_jax.errors import ConfigError
from vatex_jax.experiments import trained
from vatex_jax.experiments import translation_outputs as outputs
from vatex_jax.experiments.decoded import make_split_decoder
from vatex_jax.experiments.trained import SEGMENT_FEATURES
from vatex_jax.experiments.translation_data import TranslationData, load_translation_data
from vatex_jax.models.translator import Translator, decoding, translation_loss
from vatex_jax.training.loop import Stage


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
    return Translator(source_words, target_words, dtype=jnp.dtype(config.precision), **config.model.to_dict())


class TranslationExperiment:
    """`experiments.trained.Experiment` for translation."""

    name = "translation"

    def check(self, config: ml_collections.ConfigDict) -> None:
        languages(config.direction)
        video = "attention" if config.variant == "shuffled" else config.variant
        if (config.model.video, config.data.shuffled_video) != (video, config.variant == "shuffled"):
            raise ConfigError(
                f"the variant is {config.variant!r}, but model.video is {config.model.video!r} and data.shuffled_video "
                f"is {config.data.shuffled_video}: tables go by the variant, so choose it after the colon of --config "
                "instead."
            )
        if config.eval.bootstrap_samples < 1:
            raise ConfigError(f"config.eval.bootstrap_samples is {config.eval.bootstrap_samples}: set 1 or more.")
        if config.train.metric != "bleu4":
            raise ConfigError(f"config.train.metric is {config.train.metric!r}: what is measured is bleu4.")

    def languages(self, config: ml_collections.ConfigDict) -> Sequence[str]:
        return languages(config.direction)

    def load(
        self, config: ml_collections.ConfigDict, workdir: Path, report: trained.Report, *, references: bool
    ) -> TranslationData:
        return load_translation_data(config, workdir, report, references=references)

    def task(
        self, config: ml_collections.ConfigDict, sizes: Mapping[str, int], steps_per_epoch: int
    ) -> TranslationTask:
        del steps_per_epoch
        return TranslationTask(make_model(config, *sizes.values()))

    def judge(
        self, config: ml_collections.ConfigDict, task: TranslationTask, data: TranslationData
    ) -> Callable[[Any, int], dict[str, float]]:
        """Greedy BLEU-4; the test split is decoded with beam search."""
        decode = config.decode
        search = functools.partial(greedy, max_words=decode.max_words, length_penalty=decode.length_penalty)
        decoder = make_split_decoder(functools.partial(decoding, task.model), search, decode.batch_size)

        def evaluate(params: Any, epoch: int) -> dict[str, float]:
            del epoch
            found = decoder(params, data.examples["validation"])
            return {"bleu4": outputs.Output(data, "validation", found).scores["bleu4"]}

        return evaluate

    def stages(self, config: ml_collections.ConfigDict, task: TranslationTask) -> Sequence[Stage] | None:
        del config, task
        return None

    def scorer(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def decode(
        self, config: ml_collections.ConfigDict, task: TranslationTask, params: Any, data: TranslationData, scorer: None
    ) -> outputs.Output:
        del scorer
        return outputs.Output(data, "test", outputs.translate(config, task.model, params, data))

    def write_predictions(self, folder: Path, output: outputs.Output) -> None:
        outputs.write_predictions(folder, output)

    def write_submission(self, folder: Path, output: outputs.Output) -> Sequence[str]:
        outputs.write_submission(folder, output)
        return (outputs.SUBMISSION_NAME,)

    def metrics(self, config: ml_collections.ConfigDict, output: outputs.Output) -> dict[str, float]:
        return outputs.test_metrics(config, output)

    def signature(self, config: ml_collections.ConfigDict, output: outputs.Output) -> dict[str, str]:
        return outputs.signature(config, output)

    def write_statistics(self, folder: Path, output: outputs.Output) -> None:
        outputs.write_statistics(folder, output)

    def draw(self, figures: Path, output: outputs.Output, task: TranslationTask, params: Any, note: str) -> None:
        outputs.draw(figures, output, task.model, params, note)

    def summary(self, folder: Path, output: outputs.Output, result: dict[str, Any]) -> str:
        return outputs.summary(folder, output, result)


run = functools.partial(trained.run, TranslationExperiment())
restore = functools.partial(trained.restore, TranslationExperiment())
parameters = functools.partial(trained.parameters, TranslationExperiment())
