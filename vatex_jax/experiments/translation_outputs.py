"""Decoding a split, scoring it, and the files and pictures a translation run leaves."""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import jax
import ml_collections
import numpy as np

from vatex_jax.data.batching import assemble
from vatex_jax.data.examples import ParallelText
from vatex_jax.experiments.decoded import Decoded, beam_search_of, decoding_signature, make_split_decoder, n_best
from vatex_jax.experiments.translation_data import TranslationData, world_answers
from vatex_jax.files import write_json_lines_whole, write_json_whole
from vatex_jax.metrics import bleu
from vatex_jax.metrics.significance import bootstrap_interval
from vatex_jax.models.translator import Translator, decoding
from vatex_jax.reports import item_statistics
from vatex_jax.reports.summary import translation_summary
from vatex_jax.text.vocabulary import PAD

SUBMISSION_NAME = "submission.json"
SHOWN = 4
"""Decoded in the summary, and pictures of attention."""


def translate(config: ml_collections.ConfigDict, model: Translator, params: Any, data: TranslationData) -> Decoded:
    """The test split, by beam search."""
    decode = config.decode
    search = beam_search_of(decode)
    begin = functools.partial(decoding, model)
    decoder = make_split_decoder(begin, search, decode.batch_size, "decoding the test split")
    return decoder(params, data.examples["test"])


@dataclasses.dataclass(frozen=True)
class Output:
    """A split's translations beside what they are compared with; each view is made once."""

    data: TranslationData
    split: str
    found: Decoded

    @property
    def text(self) -> ParallelText:
        return self.data.text[self.split]

    @property
    def target(self) -> str:
        """The language written."""
        return list(self.data.vocabularies)[1]

    @functools.cached_property
    def words(self) -> list[list[str]]:
        """The best output of each example."""
        decode = self.data.vocabularies[self.target].decode
        return [decode(tokens[0]) for tokens in self.found.tokens[: len(self.text)]]

    @functools.cached_property
    def statistics(self) -> np.ndarray:
        """BLEU counts of each sentence [N, 10], against its pair's own reference, whole."""
        return bleu.sufficient_statistics(self.words, self.references)

    @functools.cached_property
    def scores(self) -> dict[str, float]:
        """Corpus metrics."""
        return bleu.corpus_scores(self.words, self.references)

    @functools.cached_property
    def answers(self) -> list[dict[str, Any]] | None:
        """What a simulated world knows of each example; None for other data."""
        return world_answers(self.data, "en2zh" if self.target == "zh" else "zh2en") if self.split == "test" else None

    @property
    def references(self) -> list[list[list[str]]]:
        return [[reference] for reference in self.text.target]

    def place(self, row: int) -> tuple[str, int]:
        """The video and the number of the pair."""
        return self.text.videos[self.text.video[row]].video_id, int(self.text.pair[row])

    def is_telling(self, row: int) -> bool:
        """Whether the video tells the sense of one of the words (of any, in data that know no senses)."""
        return self.answers is None or any(word["both"] for word in self.answers[row]["ambiguous"])

    def telling(self) -> list[int]:
        """The first examples that tell of the video, one a video."""
        rows, seen = [], set()
        for row, video in enumerate(self.text.video.tolist()):
            if video not in seen and len(rows) < SHOWN and self.is_telling(row):
                seen.add(video)
                rows.append(row)
        return rows

    def prediction(self, row: int) -> dict[str, Any]:
        """Source, reference (None where there is none) and n best of a pair, as predictions.jsonl has them."""
        (video_id, pair), (source, reference) = self.place(row), self.text.captions[row]
        line = {"video_id": video_id, "pair": pair, "source": source, "reference": reference}
        vocabulary, tokenizer = self.data.vocabularies[self.target], self.data.tokenizers[self.target]
        return line | {"n_best": n_best(self.found, row, vocabulary, tokenizer)}

    def shown(self, row: int) -> dict[str, str | None]:
        """A pair for the summary."""
        source, reference = self.text.captions[row]
        said = {"source": source, "reference": reference, "ours": self.translation(row)}
        return said | {"no_video": self.answers[row]["ceiling"] if self.answers is not None else None}

    def translation(self, row: int) -> str:
        """The best output as text."""
        return self.data.tokenizers[self.target].detokenize(self.words[row])


def signature(config: ml_collections.ConfigDict, output: Output) -> dict[str, str]:
    """How the test score was counted and decoded."""
    how = decoding_signature(config.decode)
    return bleu.signature(output.data.tokenizers[output.target].signature) | {"decoding": how}


def test_metrics(config: ml_collections.ConfigDict, output: Output) -> dict[str, float]:
    """All metrics of the test split, with the world's own where the data set is a world."""
    low, high = bootstrap_interval(output.statistics, samples=config.eval.bootstrap_samples, seed=config.seed)
    metrics = output.scores | {"bleu4_low": low, "bleu4_high": high}
    return metrics if output.answers is None else metrics | _world_metrics(config, output)


def _world_metrics(config: ml_collections.ConfigDict, output: Output) -> dict[str, float]:
    tokenize = output.data.tokenizers[output.target].tokenize
    ceiling = [tokenize(answer["ceiling"]) for answer in output.answers]
    right = [
        _holds(words, tokenize(word["right"]))
        for words, answer in zip(output.words, output.answers, strict=True)
        for word in answer["ambiguous"]
    ]
    metrics = {"ceiling_bleu4": bleu.corpus_scores(ceiling, output.references)["bleu4"]}
    if config.data.chinese == "words":  # how the world measured its oracle
        world = output.data.source.sidecar("world.json")["acceptance"]
        metrics["oracle_bleu4"] = world[f"{config.direction}/test/oracle_bleu4"]
    return metrics | ({"sense_accuracy": 100.0 * float(np.mean(right))} if right else {})


def _holds(output: list[str], word: list[str]) -> bool:
    """Whether the tokens of a word stand side by side in an output."""
    return any(output[i : i + len(word)] == word for i in range(len(output) - len(word) + 1))


def write_predictions(folder: Path, output: Output) -> None:
    """predictions.jsonl, a pair a line."""
    write_json_lines_whole(folder / "predictions.jsonl", [output.prediction(row) for row in range(len(output.text))])


def write_submission(folder: Path, output: Output) -> None:
    """The challenge's submission.json: {"<videoID>&<i>": "tokens"}."""
    submitted = {"{}&{}".format(*output.place(row)): " ".join(words) for row, words in enumerate(output.words)}
    write_json_whole(folder / SUBMISSION_NAME, submitted)


def write_statistics(folder: Path, output: Output) -> None:
    """What paired tests against other runs need."""
    item_statistics.BLEU.write(folder, output.statistics)


def draw(figures: Path, output: Output, model: Translator, params: Any, note: str) -> None:
    """Pictures of the attention behind a few translations."""
    from vatex_jax.reports import plots

    rows = output.telling()
    for row, weights in zip(rows, attention_weights(output, model, params, rows), strict=True):
        for memory, matrix in weights.items():
            labels = (
                output.text.source[row] or ["<eos>"]
                if memory == "source"
                else [str(segment + 1) for segment in range(matrix.shape[1])]
            )
            path = figures / f"attention_{memory}_{row}.png"
            xlabel = "source words" if memory == "source" else "video segments"
            words = [*output.words[row], "<eos>"]
            plots.attention_heatmap(matrix, words, labels[: matrix.shape[1]], path, xlabel=xlabel, note=note)


def attention_weights(output: Output, model: Translator, params: Any, rows: list[int]) -> list[dict[str, np.ndarray]]:
    """Attention while the best outputs of some examples were written: {memory: [words + EOS, positions]}."""
    examples, weights = output.data.examples[output.split], []
    attend = jax.jit(functools.partial(model.apply, method=Translator.attention))
    for row in rows:
        lengths = examples.lengths()[row]
        batch = assemble(examples, [row], lengths, 1)
        written = output.found.tokens[row : row + 1, 0]
        batch["target"] = written[:, : int((written != PAD).sum())]
        inputs = {name: batch[name] for name in ("source", "target", "video", "video_mask") if name in batch}
        weights.append({name: np.asarray(w)[0] for name, w in attend({"params": params}, **inputs).items()})
    return weights


def summary(folder: Path, output: Output, result: dict[str, Any]) -> str:
    """The tidy page at the end."""
    return translation_summary(result, [output.shown(row) for row in output.telling()], folder)
