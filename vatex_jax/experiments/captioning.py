"""Multilingual video captioning (VaTeX, section 4.1): what the course of a trained experiment is given."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_collections
import numpy as np

from vatex_jax.decoding.sampling import greedy
from vatex_jax.errors import ConfigError
from vatex_jax.experiments import captioning_outputs as outputs
from vatex_jax.experiments import trained
from vatex_jax.experiments.captioning_data import CaptioningData, load_captioning_data
from vatex_jax.experiments.trained import SEGMENT_FEATURES
from vatex_jax.metrics import coco
from vatex_jax.metrics.meteor import Meteor
from vatex_jax.models.captioner import Captioner, captions_loss, is_shared
from vatex_jax.training.loop import Stage

LANGUAGES = ("en", "zh")


@dataclasses.dataclass(frozen=True)
class ScheduledSampling:
    """Probability of feeding back the model's own word: min(most, first + add * (epoch // every)).

    VaTeX, appendix A: 0.05 at first, 0.05 more every 5 epochs, up to 0.25.
    """

    first: float
    add: float
    every: int
    most: float

    def ever(self) -> bool:
        """Whether anything is ever fed back."""
        return min(self.most, max(self.first, self.add)) > 0

    def probability(self, epoch: jax.Array) -> jax.Array:
        """float32 scalar."""
        return jnp.minimum(self.most, self.first + self.add * (epoch // self.every)).astype(jnp.float32)


@dataclasses.dataclass(frozen=True)
class CaptioningTask:
    """A captioner and its loss (training.task.Task); `sampling` None is teacher forcing."""

    model: Captioner
    sampling: ScheduledSampling | None
    steps_per_epoch: int

    def init(self, key: jax.Array) -> Any:
        video, mask = jnp.zeros((1, 1, SEGMENT_FEATURES)), jnp.ones((1, 1), bool)
        word = jnp.ones((1, 1), jnp.int32)
        return self.model.init(key, video, mask, {language: word for language in self.model.languages})["params"]

    def loss(
        self, params: Any, batch: dict[str, jax.Array], key: jax.Array, step: jax.Array
    ) -> tuple[jax.Array, dict[str, jax.Array]]:
        sampling = None if self.sampling is None else self.sampling.probability(step // self.steps_per_epoch)
        loss, tokens = captions_loss(self.model, params, batch, key, sampling)
        return loss, {"tokens": tokens}


def make_model(config: ml_collections.ConfigDict, sizes: Mapping[str, int]) -> Captioner:
    """The captioner of a configuration for vocabularies of these sizes."""
    fields = {name: value for name, value in config.model.to_dict().items() if name != "languages"}
    return Captioner(tuple(sizes.items()), dtype=jnp.dtype(config.precision), **fields)


class CaptioningExperiment:
    """`experiments.trained.Experiment` for captioning."""

    name = "captioning"

    def check(self, config: ml_collections.ConfigDict) -> None:
        languages, learning = tuple(config.model.languages), config.train
        if not languages or set(languages) - set(LANGUAGES) or len(set(languages)) < len(languages):
            raise ConfigError(
                f"config.model.languages is {languages}: name one or more of {', '.join(LANGUAGES)}, once."
            )
        sampling = learning.scheduled_sampling
        for name in ("first", "add", "most"):
            if not 0 <= sampling[name] <= 1:
                raise ConfigError(
                    f"config.train.scheduled_sampling.{name} is {sampling[name]}: it must be from 0 to 1."
                )
        least = {"scheduled_sampling.every": sampling.every, "finetune_epochs": learning.finetune_epochs}
        for name, value in least.items():
            if value < 1:
                raise ConfigError(f"config.train.{name} is {value}: it must be 1 or more.")
        measured = ("cider", *(f"{language}/cider" for language in languages))
        if learning.metric not in measured:
            raise ConfigError(f"config.train.metric is {learning.metric!r}: what is measured is {', '.join(measured)}.")
        if config.decode.samples < 0:
            raise ConfigError(f"config.decode.samples is {config.decode.samples}: it must be 0 or more.")
        if not config.decode.temperature > 0:
            raise ConfigError(f"config.decode.temperature is {config.decode.temperature}: it must be above 0.")
        _check_variant(config)

    def languages(self, config: ml_collections.ConfigDict) -> Sequence[str]:
        return tuple(config.model.languages)

    def load(
        self, config: ml_collections.ConfigDict, workdir: Path, report: trained.Report, *, references: bool
    ) -> CaptioningData:
        return load_captioning_data(config, workdir, report, references=references)

    def task(self, config: ml_collections.ConfigDict, sizes: Mapping[str, int], steps_per_epoch: int) -> CaptioningTask:
        sampling = ScheduledSampling(**config.train.scheduled_sampling.to_dict())
        return CaptioningTask(make_model(config, sizes), sampling if sampling.ever() else None, steps_per_epoch)

    def judge(
        self, config: ml_collections.ConfigDict, task: CaptioningTask, data: CaptioningData
    ) -> Callable[[Any, int], dict[str, float]]:
        """Greedy CIDEr on our tokens, by language and its mean over them, which the learning rate goes by."""
        decode = config.decode
        search = functools.partial(greedy, max_words=decode.max_words, length_penalty=decode.length_penalty)
        decoders = {
            language: outputs.make_decoder(task.model, language, search, decode.batch_size)
            for language in task.model.languages
        }

        def evaluate(params: Any, epoch: int) -> dict[str, float]:
            del epoch
            scores = {}
            for language, decoder in decoders.items():
                found = decoder(params, data.examples["validation"])
                words = [data.vocabularies[language].decode(tokens[0]) for tokens in found.tokens]
                scores[f"{language}/cider"] = coco.cider(words, data.text["validation"].tokens[language])[0]
            return {"cider": float(np.mean(list(scores.values()))), **scores}

        return evaluate

    def stages(self, config: ml_collections.ConfigDict, task: CaptioningTask) -> Sequence[Stage] | None:
        """The whole model; then, where wanted, what languages do not share.

        Base shares nothing, so all of it is trained on: every row of a table sees its captions equally often.
        """
        learning = config.train
        if not learning.finetune_private:
            return None
        frozen = functools.partial(is_shared, task.model)
        return [Stage(learning.epochs), Stage(learning.finetune_epochs, frozen)]

    def scorer(self) -> Meteor:
        return Meteor()

    def decode(
        self,
        config: ml_collections.ConfigDict,
        task: CaptioningTask,
        params: Any,
        data: CaptioningData,
        scorer: Meteor | None,
    ) -> outputs.Output:
        return outputs.caption(config, task.model, params, data, scorer)

    def write_predictions(self, folder: Path, output: outputs.Output) -> None:
        outputs.write_predictions(folder, output)

    def write_submission(self, folder: Path, output: outputs.Output) -> Sequence[str]:
        return outputs.write_submissions(folder, output)

    def metrics(self, config: ml_collections.ConfigDict, output: outputs.Output) -> dict[str, float]:
        return outputs.test_metrics(output)

    def signature(self, config: ml_collections.ConfigDict, output: outputs.Output) -> dict[str, str]:
        return outputs.signature(config, output)

    def write_statistics(self, folder: Path, output: outputs.Output) -> None:
        outputs.write_scores(folder, output)

    def draw(self, figures: Path, output: outputs.Output, task: CaptioningTask, params: Any, note: str) -> None:
        outputs.draw(figures, output, task.model, params, note)

    def summary(self, folder: Path, output: outputs.Output, result: dict[str, Any]) -> str:
        return outputs.summary(folder, output, result)


def _check_variant(config: ml_collections.ConfigDict) -> None:
    """A run must be what its variant says, which tables go by."""
    name, model = config.variant, config.model
    languages = {"base_en": ("en",), "base_zh": ("zh",)}.get(name.removesuffix("_untied"), LANGUAGES)
    expected = {
        "model.languages": (set(languages), set(model.languages)),
        "model.tied": (not name.endswith("_untied"), model.tied),
        "data.shuffled_video": (name == "shuffled", config.data.shuffled_video),
    }
    if len(languages) > 1:
        expected["model.shared_decoder"] = (name != "shared_enc", model.shared_decoder)
    for field, (wanted, found) in expected.items():
        if wanted != found:
            raise ConfigError(
                f"the variant is {name!r}, but {field} is {found}: tables go by the variant, so choose it after the "
                "colon of --config instead."
            )


run = functools.partial(trained.run, CaptioningExperiment())
restore = functools.partial(trained.restore, CaptioningExperiment())
parameters = functools.partial(trained.parameters, CaptioningExperiment())
