"""What a run of masked translation leaves: recovery accuracy beside BLEU, and what became of the masked words."""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import ml_collections
import numpy as np
from jaxtyping import Int

from vatex_jax.experiments import translation_outputs
from vatex_jax.experiments.masked_data import Alignment, MaskedTranslationData, align_masks
from vatex_jax.metrics import recovery
from vatex_jax.metrics.significance import bootstrap_interval
from vatex_jax.reports import item_statistics
from vatex_jax.reports.masked_summary import masked_summary
from vatex_jax.text.masking import MASKED_KINDS
from vatex_jax.text.tagging import Word
from vatex_jax.text.tokenization import make_tokenizer


@dataclasses.dataclass(frozen=True)
class MaskedOutput(translation_outputs.Output):
    """Translations of masked sentences."""

    data: MaskedTranslationData

    @property
    def masks(self) -> list[list[int]]:
        return self.data.masks[self.split]

    @functools.cached_property
    def recovered(self) -> dict[str, Int[np.ndarray, "n 2"]]:
        """`recovery.statistics` by kind, over all words; words are jieba's, however the model's Chinese is cut."""
        references = self._tagged([reference or "" for _, reference in self.text.captions])
        translations = self._tagged([self.translation(row) for row in range(len(self.text))])
        return {kind: recovery.statistics(references, translations, kind) for kind in MASKED_KINDS}

    @functools.cached_property
    def alignment(self) -> Alignment:
        return align_masks(self.data, self.split)

    @functools.cached_property
    def recovered_masks(self) -> Int[np.ndarray, "n 2"]:
        """`recovery.aligned_statistics`: over the words whose source was masked."""
        return recovery.aligned_statistics(self.alignment.wanted, self.words)

    def is_telling(self, row: int) -> bool:
        """Whether a word is masked (any sentence, where none is)."""
        return bool(self.masks[row]) or not any(self.masks)

    def masked_source(self, row: int) -> str:
        """The source as the model is given it."""
        return self.data.tokenizers["en"].detokenize(self.text.source[row])

    def prediction(self, row: int) -> dict[str, Any]:
        line = super().prediction(row)
        hidden = [self.data.words[self.split][row][place].text for place in self.masks[row]]
        return {**line, "masked": self.masked_source(row), "hidden": hidden}

    def shown(self, row: int) -> dict[str, str | None]:
        return {**super().shown(row), "masked": self.masked_source(row), "no_video": None}

    def _tagged(self, texts: list[str]) -> list[list[Word]]:
        tokenize = make_tokenizer("zh", "words").tokenize
        return list(self.data.taggers["zh"].tag([tokenize(text) for text in texts]))


def test_metrics(config: ml_collections.ConfigDict, output: MaskedOutput) -> dict[str, float]:
    """BLEU, recovery of all nouns and verbs and of the masked words, with intervals; how much was masked."""
    metrics = translation_outputs.test_metrics(config, output)
    if any(output.masks):  # the world's own figures are of whole sentences
        metrics = {name: value for name, value in metrics.items() if name not in ("ceiling_bleu4", "oracle_bleu4")}
    metrics["masked"] = output.data.masked_share(output.split, config.mask.kind)
    for kind, statistics in output.recovered.items():
        metrics |= _with_interval(config, f"{kind}_recovery", statistics)
    if any(output.alignment.wanted):
        metrics |= _with_interval(config, "masked_recovery", output.recovered_masks)
    if any(output.masks):
        metrics |= {"aligned": output.alignment.aligned, "aligner_mutual": output.alignment.mutual}
        if output.alignment.precision is not None:
            metrics["aligner_precision"] = output.alignment.precision
            metrics["aligner_coverage"] = output.alignment.coverage
    return metrics


def _with_interval(
    config: ml_collections.ConfigDict, name: str, statistics: Int[np.ndarray, "n 2"]
) -> dict[str, float]:
    low, high = bootstrap_interval(
        statistics, recovery.percent, samples=config.eval.bootstrap_samples, seed=config.seed
    )
    value = float(recovery.percent(statistics.sum(axis=0)))
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def signature(config: ml_collections.ConfigDict, output: MaskedOutput) -> dict[str, str]:
    """How scores were counted, and what said which words are nouns and verbs."""
    said = {
        "masks": f"{config.mask.kind}:{config.mask.rate:g}|{output.data.taggers['en'].signature}",
        "recovery": f"surface or lemma|{output.data.taggers['zh'].signature}",
    }
    if any(output.masks):
        said["alignment"] = output.alignment.by
    return translation_outputs.signature(config, output) | said


def write_statistics(folder: Path, output: MaskedOutput) -> None:
    """What paired tests against other runs need."""
    translation_outputs.write_statistics(folder, output)
    for kind, statistics in output.recovered.items():
        item_statistics.RECOVERY[kind].write(folder, statistics)


def summary(folder: Path, output: MaskedOutput, result: dict[str, Any]) -> str:
    """The tidy page at the end."""
    return masked_summary(result, [output.shown(row) for row in output.telling()], folder)
