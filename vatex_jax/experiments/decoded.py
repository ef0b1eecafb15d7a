"""Whole splits, decoded in batches."""

import functools
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import ml_collections
import numpy as np
from tqdm import tqdm

from vatex_jax.data.batching import Examples, decoding_batches
from vatex_jax.decoding.batched import Begin, make_decoder
from vatex_jax.decoding.beam import beam_search
from vatex_jax.text.tokenization import Tokenizer
from vatex_jax.text.vocabulary import Vocabulary
from vatex_jax.training import sharding
from vatex_jax.training.compilation import jit


class Decoded(NamedTuple):
    """Outputs of all examples of a split, in its order; see `decoding.hypotheses.Hypotheses`.

    Attributes:
        tokens: int32 [N, n_best, T].
        log_probs, scores: float32 [N, n_best]; -inf where there are fewer outputs.
    """

    tokens: np.ndarray
    log_probs: np.ndarray
    scores: np.ndarray


SplitDecoder = Callable[[Any, Examples], Decoded]
"""`decoder(params, examples)`."""


def make_split_decoder(begin: Begin, search: Callable[..., Any], batch_size: int, progress: str = "") -> SplitDecoder:
    """A decoder of whole splits; `progress` names its bar, shown on a terminal."""
    mesh = sharding.make_mesh()
    sharding.check_batch_size(batch_size, mesh.size, "config.decode.batch_size")
    decode = make_decoder(begin, search, mesh, jit)
    shown = bool(progress) and jax.process_index() == 0 and sys.stderr.isatty()

    def run(params: Any, examples: Examples) -> Decoded:
        found: Decoded | None = None
        with tqdm(total=len(examples), desc=progress, unit="output", leave=False, disable=not shown) as bar:
            for rows, batch in decoding_batches(examples, batch_size):
                part = decode(params, sharding.shard_batch(mesh, batch))
                found = found or _nothing(len(examples), part)
                for whole, piece in zip(found, (part.tokens, part.log_probs, part.scores), strict=True):
                    whole[rows] = piece[: len(rows)]
                bar.update(len(rows))
        return found if found is not None else Decoded(*(np.zeros((0, 1, *end)) for end in ((1,), (), ())))

    return run


def beam_search_of(decode: ml_collections.ConfigDict) -> Callable[..., Any]:
    """The beam search of a configuration's `decode` part."""
    return functools.partial(
        beam_search,
        beam=decode.beam,
        max_words=decode.max_words,
        length_penalty=decode.length_penalty,
        n_best=decode.n_best,
    )


def decoding_signature(decode: ml_collections.ConfigDict) -> str:
    """The same in words, for the signature of a score."""
    return f"beam:{decode.beam}|length_penalty:{decode.length_penalty:g}|max_words:{decode.max_words}"


def _nothing(count: int, like: Any) -> Decoded:
    return Decoded(
        *(np.zeros((count, *piece.shape[1:]), piece.dtype) for piece in (like.tokens, like.log_probs, like.scores))
    )


def n_best(found: Decoded, row: int, vocabulary: Vocabulary, tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """The outputs of an example as predictions.jsonl has them: tokens, text, score, log_prob, best first."""
    outputs = []
    for ids, score, log_prob in zip(found.tokens[row], found.scores[row], found.log_probs[row], strict=True):
        if np.isfinite(score):
            tokens = vocabulary.decode(ids)
            said = {"tokens": tokens, "text": tokenizer.detokenize(tokens)}
            outputs.append(said | {"score": float(score), "log_prob": float(log_prob)})
    return outputs
