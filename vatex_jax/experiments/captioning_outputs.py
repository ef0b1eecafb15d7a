"""Captioning a split, scoring it, and the files and pictures a captioning run leaves."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import ml_collections
import numpy as np

from vatex_jax.data.batching import assemble
from vatex_jax.decoding.hypotheses import Hypotheses, State
from vatex_jax.decoding.sampling import sample
from vatex_jax.experiments.captioning_data import CaptioningData
from vatex_jax.experiments.decoded import (
    Decoded,
    SplitDecoder,
    beam_search_of,
    decoding_signature,
    make_split_decoder,
    n_best,
)
from vatex_jax.files import write_json_lines_whole, write_json_whole
from vatex_jax.metrics import coco, diversity
from vatex_jax.metrics.meteor import Meteor
from vatex_jax.models.captioner import Captioner, captions_decoding
from vatex_jax.reports.summary import captioning_summary
from vatex_jax.text.vocabulary import PAD

SCORES_NAME = "caption_scores.jsonl"
SHOWN = 12
"""Videos with pictures, as in the paper's Figure 12."""


@dataclasses.dataclass(frozen=True)
class Output:
    """The test split's captions beside their references; each view is made once.

    Attributes:
        data: what was captioned.
        chinese: how Chinese is cut for scoring, `words` or `characters`.
        found: by language, the n best captions of each video.
        samples: by language, captions drawn from the model; empty where none were wanted.
        meteor: a running METEOR program to score with; None to start one.
    """

    data: CaptioningData
    chinese: str
    found: dict[str, Decoded]
    samples: dict[str, Decoded]
    meteor: Meteor | None = None

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self.found)

    def words(self, language: str) -> list[list[str]]:
        """The best caption of each video."""
        return self._words[language]

    def texts(self, language: str) -> list[str]:
        """The same as text."""
        return self._texts[language]

    def sampled(self, language: str) -> list[list[list[str]]]:
        """Words of the captions drawn for each video."""
        decode = self.data.vocabularies[language].decode
        return [[decode(tokens) for tokens in drawn] for drawn in self.samples[language].tokens]

    def references(self, language: str) -> tuple[tuple[str, ...], ...]:
        return self.data.text["test"].captions[language]

    def parts(self) -> dict[str, list[int]]:
        """Videos of held-out actions and of the others, where there are any; those without an action are in neither."""
        held_out = self.data.held_out
        labels = [video.label for video in self.data.splits["test"].videos] if held_out else []
        both = {
            "heldout": [row for row, label in enumerate(labels) if label in held_out],
            "seen": [row for row, label in enumerate(labels) if label >= 0 and label not in held_out],
        }
        return {name: rows for name, rows in both.items() if rows}

    @functools.cached_property
    def _words(self) -> dict[str, list[list[str]]]:
        return {
            language: [self.data.vocabularies[language].decode(tokens[0]) for tokens in found.tokens]
            for language, found in self.found.items()
        }

    @functools.cached_property
    def _texts(self) -> dict[str, list[str]]:
        return {
            language: [self.data.tokenizers[language].detokenize(one) for one in words]
            for language, words in self._words.items()
        }

    @functools.cached_property
    def scores(self) -> dict[str, coco.CocoScores]:
        """By language."""
        return self._all_scores[0]

    @functools.cached_property
    def sample_scores(self) -> dict[str, dict[str, np.ndarray]]:
        """By language and metric, [videos, k]."""
        return self._all_scores[1]

    @functools.cached_property
    def part_scores(self) -> dict[str, dict[str, coco.CocoScores]]:
        """By language and part."""
        return self._all_scores[2]

    @functools.cached_property
    def _all_scores(self):
        found, drawn, apart = {}, {}, {}
        with Meteor() if self.meteor is None else contextlib.nullcontext(self.meteor) as running:
            for language in self.languages:
                sets = [self.texts(language)]
                if self.samples:
                    detokenize = self.data.tokenizers[language].detokenize
                    by_sample = zip(*self.sampled(language), strict=True)
                    sets += [[detokenize(words) for words in captions] for captions in by_sample]
                found[language], *by_sample = coco.coco_scores_of_sets(
                    sets, self.references(language), language, self.chinese, running
                )
                if by_sample:
                    drawn[language] = {
                        name: np.stack([one.captions[name] for one in by_sample], axis=1) for name in coco.METRICS
                    }
                texts, references = self.texts(language), self.references(language)
                apart[language] = {
                    part: coco.coco_scores(
                        [texts[row] for row in rows],
                        [references[row] for row in rows],
                        language,
                        self.chinese,
                        running,
                    )
                    for part, rows in self.parts().items()
                }
        return found, drawn, apart


def make_decoder(
    model: Captioner, language: str, search: Callable[..., Any], batch_size: int, progress: str = ""
) -> SplitDecoder:
    """Captions whole splits in one language."""
    begin = functools.partial(captions_decoding, model, language=language)
    return make_split_decoder(begin, search, batch_size, progress)


def make_sampler(
    model: Captioner, language: str, key: jax.Array, n: int, max_words: int, temperature: float, batch_size: int
) -> SplitDecoder:
    """Draws n captions a video, a function of the key and of the video's number in the split."""

    def begin(params: Any, batch: dict[str, jax.Array]) -> tuple[tuple[Any, jax.Array], State]:
        step, state = captions_decoding(model, params, batch, language)
        return (step, jax.vmap(jax.random.fold_in, (None, 0))(key, batch["index"])), state

    def search(begun: tuple[Any, jax.Array], state: State) -> Hypotheses:
        step, keys = begun
        return sample(step, state, keys, n=n, temperature=temperature, max_words=max_words)

    return make_split_decoder(begin, search, batch_size, f"sampling {language}")


def caption(
    config: ml_collections.ConfigDict,
    model: Captioner,
    params: Any,
    data: CaptioningData,
    meteor: Meteor | None = None,
) -> Output:
    """The test split, by beam search, and samples where the configuration wants them; `meteor` will score it."""
    decode, videos = config.decode, data.examples["test"]
    search = beam_search_of(decode)
    found, samples = {}, {}
    for number, language in enumerate(model.languages):
        decoder = make_decoder(model, language, search, decode.batch_size, f"captioning in {language}")
        found[language] = decoder(params, videos)
        if decode.samples:
            key = jax.random.fold_in(jax.random.key(config.seed), number)
            sampler = make_sampler(
                model, language, key, decode.samples, decode.max_words, decode.temperature, decode.batch_size
            )
            samples[language] = sampler(params, videos)
    return Output(data, config.data.chinese, found, samples, meteor)


def signature(config: ml_collections.ConfigDict, output: Output) -> dict[str, str]:
    """How the test scores were counted and decoded."""
    decode = config.decode
    how = decoding_signature(decode)
    if decode.samples:
        how += f"|samples:{decode.samples}|temperature:{decode.temperature:g}"
    by_language = {
        f"{language}/{name}": text
        for language, scores in output.scores.items()
        for name, text in scores.signature.items()
    }
    return by_language | {"decoding": how}


def test_metrics(output: Output) -> dict[str, float]:
    """The COCO metrics, diversity, and what samples score, by language; held-out actions apart."""
    metrics = {}
    for language in output.languages:
        scores = output.scores[language]
        training = {tuple(tokens) for video in output.data.text["train"].tokens[language] for tokens in video}
        metrics |= _prefixed(language, scores.corpus)
        metrics |= _prefixed(language, diversity.diversity(output.words(language), training))
        metrics |= _prefixed(language, {"empty_hypotheses": float(scores.missing + scores.empty)})
        for part, apart in output.part_scores[language].items():
            metrics[f"{language}-{part}/sentences"] = float(len(output.parts()[part]))
            metrics |= _prefixed(f"{language}-{part}", apart.corpus)
        if output.samples:
            for name, values in output.sample_scores[language].items():
                summary = diversity.sample_summary(values)
                metrics |= {f"{language}/{name}/{suffix}": value for suffix, value in summary.items()}
            metrics |= _prefixed(f"{language}-samples", diversity.sample_diversity(output.sampled(language)))
    return metrics


def _prefixed(prefix: str, metrics: dict[str, float]) -> dict[str, float]:
    return {f"{prefix}/{name}": value for name, value in metrics.items()}


def write_predictions(folder: Path, output: Output) -> None:
    """predictions.jsonl: a video a line, with references, n best and samples of each language."""
    lines = []
    for row, video in enumerate(output.data.splits["test"].videos):
        line: dict[str, Any] = {"video_id": video.video_id}
        for language in output.languages:
            vocabulary, tokenizer = output.data.vocabularies[language], output.data.tokenizers[language]
            line[language] = {
                "references": list(output.references(language)[row]),
                "n_best": n_best(output.found[language], row, vocabulary, tokenizer),
            }
            if output.samples:
                line[language]["samples"] = n_best(output.samples[language], row, vocabulary, tokenizer)
        lines.append(line)
    write_json_lines_whole(folder / "predictions.jsonl", lines)


def write_submissions(folder: Path, output: Output) -> Sequence[str]:
    """submission_LANGUAGE.json, as the captioning challenge wants them: {"<videoID>": "caption"}."""
    names = []
    for language in output.languages:
        videos = output.data.splits["test"].videos
        captions = {video.video_id: text for video, text in zip(videos, output.texts(language), strict=True)}
        names.append(f"submission_{language}.json")
        write_json_whole(folder / names[-1], captions)
    return names


def write_scores(folder: Path, output: Output) -> None:
    """caption_scores.jsonl: every metric of every video's caption, 0-100, for paired tests and for reading."""
    lines = []
    for row, video in enumerate(output.data.splits["test"].videos):
        scores = {
            language: {name: float(values[row]) for name, values in output.scores[language].captions.items()}
            for language in output.languages
        }
        lines.append({"video_id": video.video_id, **scores})
    write_json_lines_whole(folder / SCORES_NAME, lines)


def draw(figures: Path, output: Output, model: Captioner, params: Any, note: str) -> None:
    """Pictures: a sheet of captions beside references, and the attention behind the captions."""
    from vatex_jax.reports import caption_sheet, plots

    predictions = {"this model": figures.parent / "predictions.jsonl"}
    caption_sheet.draw_sheet(predictions, figures / "captions.png", note, videos=SHOWN)
    videos = output.data.splits["test"].videos
    for language in output.languages:
        words = output.words(language)
        for row, matrix in enumerate(
            attention_weights(output, model, params, language, range(min(SHOWN, len(videos))))
        ):
            if matrix.size:
                columns = [str(segment + 1) for segment in range(matrix.shape[1])]
                path = figures / f"attention_{language}_{row}.png"
                title = f"{videos[row].video_id}, {language}"
                plots.attention_heatmap(matrix, [*words[row], "<eos>"], columns, path, title, "video segments", note)


def attention_weights(
    output: Output, model: Captioner, params: Any, language: str, rows: Sequence[int]
) -> list[np.ndarray]:
    """Attention while the best captions of some videos were written: [words + EOS, segments] each."""
    examples, weights = output.data.examples["test"], []
    attend = jax.jit(functools.partial(model.apply, method=Captioner.attention, language=language))
    most = int(examples.lengths().max(initial=0))  # one shape, one compilation
    for row in rows:
        batch = assemble(examples, [row], [most], 1, targets=False)
        written = output.found[language].tokens[row : row + 1, 0]
        found = attend({"params": params}, batch["video"], batch["video_mask"], written)
        weights.append(np.asarray(found)[0, : int((written != PAD).sum()), : int(batch["video_mask"].sum())])
    return weights


def summary(folder: Path, output: Output, result: dict[str, Any]) -> str:
    """The tidy page at the end."""
    examples = []
    for row in range(min(4, len(output.data.splits["test"].videos))):
        said = {}
        for language in output.languages:
            said[language] = (output.texts(language)[row], output.references(language)[row][0])
        examples.append((output.data.splits["test"].videos[row].video_id, said))
    return captioning_summary(result, examples, folder)
