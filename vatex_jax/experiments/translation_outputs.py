"""Decoding a split, scoring it, and the files and pictures a translation run leaves."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import ml_collections
import numpy as np
from tqdm import tqdm

from vatex_jax.data.batching import assemble, decoding_batches
from vatex_jax.data.examples import TranslationExamples, languages
from vatex_jax.decoding.batched import make_decoder
from vatex_jax.decoding.beam import beam_search
from vatex_jax.experiments.translation_data import TranslationData, world_answers
from vatex_jax.files import write_bytes_whole, write_json_whole, write_text_whole
from vatex_jax.metrics import bleu
from vatex_jax.metrics.significance import bootstrap_interval
from vatex_jax.models.translator import Translator, decoding
from vatex_jax.reports import results
from vatex_jax.reports.cells import STATISTICS_NAME
from vatex_jax.reports.summary import translation_summary
from vatex_jax.training import sharding

SHOWN = 4
"""Translations in the summary, and pictures of attention."""


class Translations(NamedTuple):
    """Outputs of all examples of a split, in its order; see `decoding.hypotheses.Hypotheses`.

    Attributes:
        tokens: int32 [N, n_best, T].
        log_probs, scores: float32 [N, n_best]; -inf where there are fewer outputs.
    """

    tokens: np.ndarray
    log_probs: np.ndarray
    scores: np.ndarray


Decoder = Callable[[Any, TranslationExamples], Translations]


def make_translation_decoder(
    model: Translator, search: Callable[..., Any], batch_size: int, progress: str = ""
) -> Decoder:
    """A decoder of whole splits; `progress` names its bar, shown on a terminal."""
    mesh = sharding.make_mesh()
    sharding.check_batch_size(batch_size, mesh.size, "config.decode.batch_size")
    decode = make_decoder(functools.partial(decoding, model), search, mesh)
    shown = bool(progress) and jax.process_index() == 0 and sys.stderr.isatty()

    def run(params: Any, examples: TranslationExamples) -> Translations:
        found: Translations | None = None
        with tqdm(total=len(examples), desc=progress, unit="sentence", leave=False, disable=not shown) as bar:
            for rows, batch in decoding_batches(examples, batch_size):
                part = decode(params, sharding.shard_batch(mesh, batch))
                found = found or _nothing(len(examples), part)
                for whole, piece in zip(found, (part.tokens, part.log_probs, part.scores), strict=True):
                    whole[rows] = piece[: len(rows)]
                bar.update(len(rows))
        return found if found is not None else Translations(*(np.zeros((0, 1, *end)) for end in ((1,), (), ())))

    return run


def _nothing(count: int, like: Any) -> Translations:
    return Translations(
        *(np.zeros((count, *piece.shape[1:]), piece.dtype) for piece in (like.tokens, like.log_probs, like.scores))
    )


def translate(config: ml_collections.ConfigDict, model: Translator, params: Any, data: TranslationData) -> Translations:
    """The test split, by beam search."""
    decode = config.decode
    search = functools.partial(
        beam_search,
        beam=decode.beam,
        max_words=decode.max_words,
        length_penalty=decode.length_penalty,
        n_best=decode.n_best,
    )
    decoder = make_translation_decoder(model, search, decode.batch_size, "decoding the test split")
    return decoder(params, data.examples["test"])


def words(data: TranslationData, split: str, found: Translations) -> list[list[str]]:
    """The best output of each example as words."""
    vocabulary = data.vocabularies[_target(data)]
    return [vocabulary.decode(tokens[0]) for tokens in found.tokens] if len(data.text[split]) else []


def _target(data: TranslationData) -> str:
    return list(data.vocabularies)[1]


def scores(data: TranslationData, split: str, found: Translations) -> dict[str, float]:
    """Corpus metrics against each pair's own reference, whole."""
    return bleu.corpus_scores(words(data, split, found), [[reference] for reference in data.text[split].target])


def statistics(data: TranslationData, found: Translations) -> np.ndarray:
    """BLEU counts of each test sentence [N, 10]."""
    references = [[reference] for reference in data.text["test"].target]
    return bleu.sufficient_statistics(words(data, "test", found), references)


def signature(config: ml_collections.ConfigDict, data: TranslationData) -> dict[str, str]:
    """How the test score was counted and decoded."""
    decode = config.decode
    how = f"beam:{decode.beam}|length_penalty:{decode.length_penalty:g}|max_words:{decode.max_words}"
    return bleu.signature(data.tokenizers[_target(data)].signature) | {"decoding": how}


def test_metrics(config: ml_collections.ConfigDict, data: TranslationData, found: Translations) -> dict[str, float]:
    """All metrics of the test split, with the world's own where the data set is a world."""
    low, high = bootstrap_interval(statistics(data, found), samples=config.eval.bootstrap_samples, seed=config.seed)
    metrics = scores(data, "test", found) | {"bleu4_low": low, "bleu4_high": high}
    answers = world_answers(data, config.direction)
    if answers is not None:
        metrics |= _world_metrics(config, data, found, answers)
    return metrics


def _world_metrics(config, data, found, answers) -> dict[str, float]:
    tokenize = data.tokenizers[_target(data)].tokenize
    ceiling = [tokenize(answer["ceiling"]) for answer in answers]
    references = [[reference] for reference in data.text["test"].target]
    right = [
        _holds(output, tokenize(word["right"]))
        for output, answer in zip(words(data, "test", found), answers, strict=True)
        for word in answer["ambiguous"]
    ]
    metrics = {"ceiling_bleu4": bleu.corpus_scores(ceiling, references)["bleu4"]}
    if config.data.chinese == "words":  # how the world measured its oracle
        world = data.source.sidecar("world.json")["acceptance"]
        metrics["oracle_bleu4"] = world[f"{config.direction}/test/oracle_bleu4"]
    return metrics | ({"sense_accuracy": 100.0 * float(np.mean(right))} if right else {})


def _holds(output: list[str], word: list[str]) -> bool:
    """Whether the tokens of a word stand side by side in an output."""
    return any(output[i : i + len(word)] == word for i in range(len(output) - len(word) + 1))


def write_predictions(
    workdir: Path,
    config: ml_collections.ConfigDict,
    data: TranslationData,
    found: Translations,
    *,
    submission: bool,
) -> None:
    """predictions.jsonl, and the challenge's submission.json where asked: {"<videoID>&<i>": "tokens"}."""
    import json

    text, (source, target) = data.text["test"], languages(config.direction)
    vocabulary, detokenize = data.vocabularies[target], data.tokenizers[target].detokenize
    lines, submitted = [], {}
    for row in range(len(text)):
        video = text.videos[text.video[row]]
        pair = int(text.pair[row])
        n_best = [
            {"tokens": tokens, "text": detokenize(tokens), "score": float(score), "log_prob": float(log_prob)}
            for tokens, score, log_prob in zip(
                (vocabulary.decode(ids) for ids in found.tokens[row]),
                found.scores[row],
                found.log_probs[row],
                strict=True,
            )
            if np.isfinite(score)
        ]
        lines.append(
            {
                "video_id": video.video_id,
                "pair": pair,
                "source": video.parallel(source)[pair],
                "reference": video.parallel(target)[pair],
                "n_best": n_best,
            }
        )
        submitted[f"{video.video_id}&{pair}"] = " ".join(n_best[0]["tokens"])
    write_text_whole(
        workdir / "predictions.jsonl", "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    )
    if submission:
        write_json_whole(workdir / "submission.json", submitted)


def write_result(
    workdir: Path,
    config: ml_collections.ConfigDict,
    data: TranslationData,
    found: Translations,
    result: dict[str, Any],
    model: Translator,
    params: Any,
) -> None:
    """The statistics paired tests need, results.json, and the pictures."""
    import io

    buffer = io.BytesIO()
    np.save(buffer, statistics(data, found).astype(np.int32), allow_pickle=False)
    write_bytes_whole(workdir / STATISTICS_NAME, buffer.getvalue())
    results.write(workdir / results.FILE_NAME, result)
    if config.eval.figures:
        _draw(workdir, data, found, model, params)


def _draw(workdir: Path, data: TranslationData, found: Translations, model: Translator, params: Any) -> None:
    from vatex_jax.reports import plots

    figures = workdir / "figures"
    figures.mkdir(exist_ok=True)
    if (workdir / "metrics.jsonl").exists():
        plots.training_curves(workdir / "metrics.jsonl", figures / "training.png")
    params = jax.device_get(params)  # this process draws alone
    rows, best = telling_rows(data), words(data, "test", found)
    for row, weights in zip(rows, attention_weights(data, found, model, params, rows), strict=True):
        for memory, matrix in weights.items():
            labels = (
                data.text["test"].source[row] or ["<eos>"]
                if memory == "source"
                else [str(segment + 1) for segment in range(matrix.shape[1])]
            )
            path = figures / f"attention_{memory}_{row}.png"
            plots.attention_heatmap(matrix, [*best[row], "<eos>"], labels[: matrix.shape[1]], path)


def attention_weights(
    data: TranslationData, found: Translations, model: Translator, params: Any, rows: list[int]
) -> list[dict[str, np.ndarray]]:
    """Attention while the best outputs of some test examples were written: {memory: [words + EOS, positions]}."""
    examples, weights = data.examples["test"], []
    attend = jax.jit(functools.partial(model.apply, method=Translator.attention))
    for row in rows:
        lengths = examples.lengths()[row]
        batch = assemble(examples, [row], lengths, 1)
        output = found.tokens[row : row + 1, 0]
        batch["target"] = output[:, : int((output != 0).sum())]
        inputs = {name: batch[name] for name in ("source", "target", "video", "video_mask") if name in batch}
        weights.append({name: np.asarray(w)[0] for name, w in attend({"params": params}, **inputs).items()})
    return weights


def telling_rows(data: TranslationData) -> list[int]:
    """The first test examples, one a video, that hold a word whose sense only the video tells (any, in other data)."""
    answers = world_answers(data, "en2zh" if _target(data) == "zh" else "zh2en")
    text, rows, seen = data.text["test"], [], set()
    for row in range(len(text)):
        ambiguous = answers is None or any(word["both"] for word in answers[row]["ambiguous"])
        if ambiguous and int(text.video[row]) not in seen and len(rows) < SHOWN:
            seen.add(int(text.video[row]))
            rows.append(row)
    return rows


def summary(workdir: Path, data: TranslationData, found: Translations, result: dict[str, Any]) -> str:
    """The tidy page at the end."""
    direction = result["config"]["direction"]
    answers, text, (source, target) = world_answers(data, direction), data.text["test"], languages(direction)
    outputs, examples = words(data, "test", found), []
    for row in telling_rows(data):
        video, pair = text.videos[text.video[row]], int(text.pair[row])
        examples.append(
            {
                "source": video.parallel(source)[pair],
                "reference": video.parallel(target)[pair],
                "ours": data.tokenizers[target].detokenize(outputs[row]),
                "no_video": answers[row]["ceiling"] if answers is not None else None,
            }
        )
    return translation_summary(result, examples, workdir)
