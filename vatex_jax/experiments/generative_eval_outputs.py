"""How generations are scored against each kind of reference sets, and what a run leaves behind.

Dimension legend
    n  questions      K  the most generations of a question      m  sentences      d  vector size
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ml_collections
import numpy as np

from vatex_jax.data.submissions import write_generations
from vatex_jax.experiments.cca_data import LEARNED
from vatex_jax.experiments.generative_eval import Encode, baselines, evaluate
from vatex_jax.experiments.generative_eval_data import Inputs, Questions, Report
from vatex_jax.files import write_json_lines_whole
from vatex_jax.metrics import consensus
from vatex_jax.metrics.embedding import missing_share, sentence_encoder, word_vocabulary
from vatex_jax.metrics.meteor import Meteor
from vatex_jax.reports import question_scores
from vatex_jax.reports.cells import origin
from vatex_jax.reports.generation_curves import draw_curves
from vatex_jax.text.bert_folder import read_config, weights_digest
from vatex_jax.text.treebank import detokenized
from vatex_jax.text.vectors import load_vectors

_SHOWN = 5

NO_VECTORS = (
    "no word vectors: fasttext_l2 and fasttext_cs are left out. For them name a FastText model, a .vec or GloVe text "
    "file or glove-6b-50d in --config.vectors.source."
)
NO_BERT = (
    "no BERT: bert_l2 and bert_cs are left out. For them install the extra (pip install -e .[bert]), and name a folder "
    "in the Hugging Face layout (config.json, model.safetensors, tokenizer.json; the paper's is bert-base-uncased) in "
    "--config.bert."
)


@dataclasses.dataclass(frozen=True)
class Encoders:
    """Encoders of sentences by metric name, their signature, and what is to be measured of them."""

    of: dict[str, Encode]
    signature: dict[str, str]
    metrics: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Scored:
    """The scores of one kind of reference sets: what `evaluate` and `baselines` return."""

    questions: Questions
    found: dict[str, dict[str, Any]]
    bases: dict[str, dict[str, float]]


def encoders(config: ml_collections.ConfigDict, inputs: Inputs, report: Report) -> Encoders:
    """Word vectors' and BERT's, as far as the configuration names them; a line for each that it does not.

    Raises:
        ConfigError, DataError: the vectors or the BERT cannot be loaded.
    """
    found = Encoders({}, {}, {})
    sentences = _sentences(inputs)
    words = inputs.words
    if config.vectors.source not in ("", LEARNED):
        words = load_vectors(config.vectors.source, word_vocabulary(sentences))
    if words is None:
        report(NO_VECTORS)
    else:
        found.of["fasttext"] = remembering(sentence_encoder(words))
        found.signature["fasttext"] = f"{words.name}, plain mean of the words"
        found.metrics["out_of_vocabulary"] = 100.0 * missing_share(sentences, words)
    if not config.bert:
        report(NO_BERT)
        return found
    from vatex_jax.models.bert import load_bert  # the one thing here that needs jax

    found.of["bert"] = remembering(load_bert(config.bert, config.bert_pooling, config.bert_pieces))
    one = read_config(config.bert)
    found.signature["bert"] = (
        f"{one.num_hidden_layers} layers of {one.hidden_size}, {one.vocab_size} pieces, {config.bert_pooling} piece of "
        f"at most {config.bert_pieces}, weights {weights_digest(config.bert)}"
    )
    return found


def remembering(encode: Encode) -> Encode:
    """An encoder that is asked for each sentence once, also over several calls."""
    rows: dict[str, int] = {}
    blocks: list[np.ndarray] = []

    def encode_new(sentences: list[str]) -> np.ndarray:
        new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in rows]
        if new:
            blocks[:] = [np.concatenate([*blocks, np.asarray(encode(new))])]
            rows.update({sentence: place for place, sentence in enumerate(new, len(rows))})
        return blocks[0][[rows[sentence] for sentence in sentences]]

    return encode_new


def score(config: ml_collections.ConfigDict, inputs: Inputs, found: Encoders) -> list[Scored]:
    """Each kind of reference sets in turn; METEOR starts once."""
    scored = []
    with Meteor() if "meteor" in config.metrics else contextlib.nullcontext() as running:
        shared = {"metrics": config.metrics, "encoders": found.of, "running": running}
        for one in inputs.questions:
            scores = evaluate(one.generations, one.references, ks=config.ks or None, **shared)
            truths = [item.answer for item in one.sets]
            scored.append(Scored(one, scores, baselines(truths, one.references, **shared)))
    return scored


def metrics(scored: Sequence[Scored], found: Encoders) -> dict[str, float]:
    """`H/k15/cider1/mean` and the like, `H/A_gt/...`, `H/Gamma/...`, and counts; what is undefined is left out."""
    numbers = dict(found.metrics)
    for one in scored:
        name, references = one.questions.name, one.questions.references
        own = one.found["summary"] | {"set_size": float(np.mean([len(texts) for texts in references]))}
        own |= {f"{base}/{key}": value for base, values in one.bases.items() for key, value in values.items()}
        numbers |= {f"{name}/{key}": value for key, value in own.items() if np.isfinite(value)}
    return numbers


def signature(config: ml_collections.ConfigDict, inputs: Inputs, found: Encoders) -> dict[str, str]:
    """How scores were counted; under a set's name what holds for its columns alone, under `model/` for none."""
    told = {name: text for name, text in consensus.signature().items() if name in config.metrics}
    told |= (
        {"tokens": "generations: NLTK's words, detokenised; references as they stand"} | found.signature | inputs.about
    )
    if "cider" in config.metrics:
        told |= {f"{one.name}/document_frequencies": f"of {len(one)} sets" for one in inputs.questions}
    return told


def write_files(folder: Path, inputs: Inputs, scored: Sequence[Scored]) -> None:
    """predictions.jsonl, the scores of each generation, and generations.json where a data set's were made here."""
    write_json_lines_whole(folder / "predictions.jsonl", predictions(scored))
    question_scores.write(
        folder,
        {
            one.questions.name: question_scores.Scores(
                one.questions.image_ids, one.questions.rounds, one.found["per_question"]
            )
            for one in scored
        },
    )
    if inputs.words is not None:
        said = inputs.generations
        write_generations(folder / "generations.json", said.image_ids, said.rounds, said.texts)


def predictions(scored: Sequence[Scored], shown: int | None = None) -> Iterator[dict[str, Any]]:
    """A record a question and kind of sets: generations, references, and the first scores of each generation."""
    for one in scored:
        several = len(one.questions)
        rows = range(several) if shown is None else np.linspace(0, several - 1, min(shown, several)).astype(int)
        for row in rows:
            item, texts = one.questions.sets[row], one.questions.generations[row]
            yield {
                "sets": one.questions.name,
                "image_id": item.image_id,
                "round_id": item.round,
                "question": item.question,
                "answer": item.answer,
                "generations": list(texts),
                "references": list(item.references),
                "scores": {name: _numbers(table[row, : len(texts)]) for name, table in _tables(one).items()},
            }


def examples(scored: Sequence[Scored]) -> list[dict[str, Any]]:
    """Some predictions, spread over the first kind of sets."""
    return list(predictions(scored[:1], _SHOWN))


def draw_figures(figures: Path, result: dict[str, Any]) -> None:
    """Each metric against k (figure 3)."""
    figures.mkdir(exist_ok=True)
    note = f"{origin(result['dataset'])}, {result['dataset']['split']} split"
    draw_curves({result["variant"]: result["metrics"]}, figures / "generations.png", note)


def _tables(one: Scored) -> dict[str, np.ndarray]:
    return one.found["per_question"]


def _numbers(row: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 6) for value in row]


def _sentences(inputs: Inputs) -> list[str]:
    """All that may be embedded: references, ground truths, and generations as they are compared."""
    said: dict[str, None] = {}
    for one in inputs.questions:
        answers = [item.answer for item in one.sets]
        for texts in (*one.references, detokenized([*answers, *(text for row in one.generations for text in row)])):
            said.update(dict.fromkeys(texts))
    return list(said)
