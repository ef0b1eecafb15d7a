"""Masked video-guided machine translation (VaTeX, section 4.2, Table 6): can the video say what the sentence hides?"""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_collections

from vatex_jax.errors import ConfigError
from vatex_jax.experiments import masked_outputs as outputs
from vatex_jax.experiments import trained
from vatex_jax.experiments.masked_data import MaskedTranslationData, load_masked_data, masking_of
from vatex_jax.experiments.translation import TranslationExperiment, TranslationTask
from vatex_jax.experiments.translation_outputs import translate


class MaskedTranslationExperiment(TranslationExperiment):
    """Translation of masked English; what is trained and how is the same."""

    name = "masked_translation"

    def check(self, config: ml_collections.ConfigDict) -> None:
        super().check(config)
        masking_of(config)
        if config.direction != "en2zh":
            raise ConfigError(
                f"config.direction is {config.direction!r}: what is masked is English, so it must be en2zh (as in the "
                "paper's table; its text says otherwise)."
            )

    def load(
        self, config: ml_collections.ConfigDict, workdir: Path, report: trained.Report, *, references: bool
    ) -> MaskedTranslationData:
        return load_masked_data(config, workdir, report, references=references)

    def decode(
        self,
        config: ml_collections.ConfigDict,
        task: TranslationTask,
        params: Any,
        data: MaskedTranslationData,
        scorer: None,
    ) -> outputs.MaskedOutput:
        del scorer
        return outputs.MaskedOutput(data, "test", translate(config, task.model, params, data))

    def metrics(self, config: ml_collections.ConfigDict, output: outputs.MaskedOutput) -> dict[str, float]:
        return outputs.test_metrics(config, output)

    def signature(self, config: ml_collections.ConfigDict, output: outputs.MaskedOutput) -> dict[str, str]:
        return outputs.signature(config, output)

    def write_statistics(self, folder: Path, output: outputs.MaskedOutput) -> None:
        outputs.write_statistics(folder, output)

    def summary(self, folder: Path, output: outputs.MaskedOutput, result: Mapping[str, Any]) -> str:
        return outputs.summary(folder, output, result)


run = functools.partial(trained.run, MaskedTranslationExperiment())
restore = functools.partial(trained.restore, MaskedTranslationExperiment())
parameters = functools.partial(trained.parameters, MaskedTranslationExperiment())
