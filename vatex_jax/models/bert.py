"""BERT as a function from sentences to vectors, for the embedding metrics (revised evaluation, section 4.1).

The published evaluation takes BERT base, uncased, the last layer's first piece, and at most 16 word pieces. Here the
16 count the special pieces, as the lengths of Hugging Face's tokenizers do: [CLS], 14 pieces of the sentence, [SEP].
Answers of visual dialogue have 3 words on average; few are cut.

Dimension legend
    N  sentences      B  batch      L  word pieces      H  hidden size
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Int
from tqdm import tqdm

from vatex_jax.errors import ConfigError
from vatex_jax.nn.bert import POOLINGS, Bert, parameters_of, pool
from vatex_jax.text.bert_folder import BertConfig, WordPieces, read_config, read_tensors

Encode = Callable[[Sequence[str]], np.ndarray]
"""`encode(sentences) -> float32 [N, H]`."""

_SHAPES = 6  # compiled ones a run
_SHORTEST = 4  # word pieces: room for an answer of two words


def load_bert(folder: str | os.PathLike, pooling: str = "first", max_pieces: int = 16, batch_size: int = 128) -> Encode:
    """Loads a BERT as an encoder of sentences.

    The encoder reads each distinct sequence of word pieces once, shortest first, in batches of few shapes; a bar shows
    its progress on a terminal. A sentence's vector does not depend on the others beyond rounding.

    Args:
        folder: holds `config.json`, `model.safetensors`, `tokenizer.json` (see `text.bert_folder`).
        pooling: "first" for the state of the first piece ([CLS], as published), "mean" for the mean over all pieces of
            the sentence, special ones counted.
        max_pieces: the most word pieces of a sentence, special ones counted.
        batch_size: sentences at a time.

    Raises:
        ConfigError: an argument has no meaning, or a package of the extra [bert] is not installed.
        DataError: the folder is not a BERT's, damaged, or of a kind that is not supported.
    """
    if pooling not in POOLINGS:
        raise ConfigError(f"The pooling of BERT is 'first' or 'mean', not {pooling!r}.")
    if batch_size < 1:
        raise ConfigError(f"The batch size of BERT is {batch_size}; set 1 or more.")
    config = read_config(folder)
    pieces = WordPieces(folder, config, max_pieces)
    forward = _forward(config, pooling)
    parameters = jax.device_put(parameters_of(read_tensors(folder, config), config.num_hidden_layers))

    def encode(sentences: Sequence[str]) -> Float32[np.ndarray, "N H"]:
        places: dict[tuple[int, ...], int] = {}
        rows = np.array([places.setdefault(ids, len(places)) for ids in pieces.encode(sentences)], np.int64)
        distinct = list(places)
        vectors = np.zeros((len(distinct), config.hidden_size), np.float32)
        shown = sys.stderr.isatty() and jax.process_index() == 0
        with tqdm(total=len(distinct), desc="BERT", unit="sentence", leave=False, disable=not shown) as bar:
            for chosen, ids, lengths in _batches(distinct, batch_size, _widths(max_pieces)):
                vectors[chosen] = forward(parameters, ids, lengths)[: len(chosen)]
                bar.update(len(chosen))
        return vectors[rows]

    return encode


def _forward(config: BertConfig, pooling: str) -> Callable[..., jax.Array]:
    """The compiled encoder: `forward(parameters, ids, lengths)`."""
    model = Bert(
        vocabulary=config.vocab_size,
        positions=config.max_position_embeddings,
        types=config.type_vocab_size,
        hidden=config.hidden_size,
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        inner=config.intermediate_size,
        epsilon=config.layer_norm_eps,
    )

    @jax.jit
    def forward(parameters, ids: Int[Array, "B L"], lengths: Int[Array, "B"]) -> Float[Array, "B H"]:
        mask = jnp.arange(ids.shape[1]) < lengths[:, None]
        # Accelerators would round the factors of float32 products: distances are small differences of these vectors.
        with jax.default_matmul_precision("highest"):
            return pool(model.apply({"params": parameters}, ids, mask), mask, pooling)

    return forward


def _batches(
    sentences: Sequence[tuple[int, ...]], batch_size: int, widths: Sequence[int]
) -> Iterator[tuple[np.ndarray, Int[np.ndarray, "B L"], Int[np.ndarray, "B"]]]:
    """Batches of like length, padded to one number of rows and one of `widths`: places of the sentences, ids, lengths.

    Rows without a sentence have length 0. Few sentences make a smaller batch, so that one alone is no work for many.
    """
    lengths = np.array([len(ids) for ids in sentences], np.int32)
    rows = min(batch_size, 1 << max(0, len(sentences) - 1).bit_length())
    order = np.argsort(lengths, kind="stable")
    for chosen in (order[start : start + rows] for start in range(0, len(order), rows)):
        width = next(width for width in widths if width >= lengths[chosen[-1]])
        ids = np.zeros((rows, width), np.int32)
        for row, place in enumerate(chosen):
            ids[row, : lengths[place]] = sentences[place]
        yield chosen, ids, np.pad(lengths[chosen], (0, rows - len(chosen)))


def _widths(longest: int) -> list[int]:
    """Numbers of pieces to pad to, at most `_SHAPES`, in about equal ratios: 4, 5, 7, 9, 12, 16 for 16."""
    shortest = min(_SHORTEST, longest)
    steps = np.geomspace(shortest, longest, _SHAPES)
    return sorted({round(float(step)) for step in steps} | {longest})
