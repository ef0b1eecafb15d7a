"""A BERT in the Hugging Face folder layout, read with NumPy: `config.json`, `model.safetensors`, `tokenizer.json`.

Nothing is downloaded: a folder is what `save_pretrained` of transformers wrote, or a copy of a model's repository.

Dimension legend
    V  vocabulary      P  positions      T  sentence types      H  hidden size      I  inner size of a layer
"""

import dataclasses
import hashlib
import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.files import read_json

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"

_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")
_PREFIX = "bert."
_WORDS = "embeddings.word_embeddings.weight"
# Published models that were converted from TensorFlow (bert-base-uncased is one) have its names for a layer norm's.
_FORMER = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}

_SURROGATES = re.compile("[\ud800-\udfff]")
_SENTENCES = 1 << 13  # tokenised at a time


@dataclasses.dataclass(frozen=True)
class BertConfig:
    """The sizes of a BERT, by their names in `config.json`."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int
    layer_norm_eps: float


def read_config(folder: str | os.PathLike) -> BertConfig:
    """Reads `config.json`, which may hold more than is needed; what would change the computation is refused.

    Raises:
        DataError: a file of the folder is missing, the configuration is not a BERT's or lacks a size, or it asks for
            what is not supported.
    """
    for name in (CONFIG, WEIGHTS, TOKENIZER):
        if not (Path(folder) / name).is_file():
            raise DataError(
                f"{folder}: there is no {name}. A BERT folder holds {CONFIG}, {WEIGHTS} and {TOKENIZER}, as "
                "transformers' save_pretrained writes them for a model and its fast tokenizer; other formats of the "
                "weights are not read."
            )
    path = Path(folder) / CONFIG
    fields = read_json(path)
    if not isinstance(fields, dict):
        raise DataError(f"{path}: not a JSON object.")
    _check_kind(fields, path)
    whole = {field.name: _size(fields, field.name, path) for field in dataclasses.fields(BertConfig)[:-1]}
    epsilon = fields.get("layer_norm_eps", 1e-12)  # the format's own default
    if not isinstance(epsilon, float) or not 0 < epsilon < 1:
        raise DataError(f"{path}: layer_norm_eps is {epsilon!r}, not a number between 0 and 1.")
    config = BertConfig(**whole, layer_norm_eps=epsilon)
    if config.hidden_size % config.num_attention_heads:
        raise DataError(
            f"{path}: hidden_size {config.hidden_size} is not a multiple of num_attention_heads "
            f"{config.num_attention_heads}."
        )
    return config


def read_tensors(folder: str | os.PathLike, config: BertConfig) -> dict[str, np.ndarray]:
    """Reads the encoder's weights as float32, by their names without the prefix `bert.`; others are passed over.

    Raises:
        ConfigError: safetensors is not installed.
        DataError: the file is damaged, or a tensor is missing, of another shape than `config` says, or not finite.
    """
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise _not_installed("safetensors", error) from error
    path = Path(folder) / WEIGHTS
    try:
        with safe_open(path, framework="numpy") as file:
            names = set(file.keys())
            prefix = _PREFIX if _PREFIX + _WORDS in names else ""
            layers = [int(found[1]) for name in names if (found := _LAYER.match(name.removeprefix(prefix)))]
            if layers and max(layers) >= config.num_hidden_layers:
                raise DataError(
                    f"{path}: holds {max(layers) + 1} layers, but {CONFIG} says num_hidden_layers is "
                    f"{config.num_hidden_layers}: the files are of two models. Fetch both again."
                )
            tensors = {}
            for name, shape in expected_shapes(config):
                stored = _stored_name(prefix + name, names, path)
                tensors[name] = _float32(file.get_tensor(stored), shape, f"{path}: tensor {stored}")
    except (SafetensorError, OSError) as error:
        raise DataError(f"{path}: not a safetensors file, or cut off ({error}). Fetch it again.") from error
    return tensors


def weights_digest(folder: str | os.PathLike) -> str:
    """Eight hexadecimal digits that tell models of one size apart."""
    digest = hashlib.sha256()
    with (Path(folder) / WEIGHTS).open("rb") as file:
        while block := file.read(1 << 24):
            digest.update(block)
    return digest.hexdigest()[:8]


def expected_shapes(config: BertConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The name and shape of every tensor of the encoder; matrices map their last dimension to their first."""
    hidden, inner = config.hidden_size, config.intermediate_size
    yield _WORDS, (config.vocab_size, hidden)
    yield "embeddings.position_embeddings.weight", (config.max_position_embeddings, hidden)
    yield "embeddings.token_type_embeddings.weight", (config.type_vocab_size, hidden)
    norms = ["embeddings"]
    for layer in (f"encoder.layer.{index}" for index in range(config.num_hidden_layers)):
        maps = {f"attention.self.{name}": (hidden, hidden) for name in ("query", "key", "value")}
        maps |= {"attention.output.dense": (hidden, hidden)}
        maps |= {"intermediate.dense": (inner, hidden), "output.dense": (hidden, inner)}
        for name, shape in maps.items():
            yield f"{layer}.{name}.weight", shape
            yield f"{layer}.{name}.bias", shape[:1]
        norms += [f"{layer}.attention.output", f"{layer}.output"]
    for name in norms:
        yield f"{name}.LayerNorm.weight", (hidden,)
        yield f"{name}.LayerNorm.bias", (hidden,)


class WordPieces:
    """Sentences to ids of word pieces, the first and last of which are the special ones (`[CLS]`, `[SEP]`)."""

    def __init__(self, folder: str | os.PathLike, config: BertConfig, max_pieces: int) -> None:
        """Reads `tokenizer.json`; what it says of padding and of the longest sentence is passed over.

        Args:
            folder: the BERT's.
            config: of the same folder.
            max_pieces: the most ids of a sentence, the special ones counted: longer sentences lose their end, and keep
                the last special one.

        Raises:
            ConfigError: tokenizers is not installed, or `max_pieces` leaves no room or has no positions.
            DataError: the file is damaged, has words that the model lacks, or adds no special pieces.
        """
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise _not_installed("tokenizers", error) from error
        path = Path(folder) / TOKENIZER
        try:
            self._tokenizer = Tokenizer.from_file(os.fspath(path))
        except Exception as error:  # it raises nothing more special, whatever the fault
            raise DataError(f"{path}: not a tokenizer that tokenizers reads ({error}). Fetch it again.") from error
        last = max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
        if last >= config.vocab_size:
            raise DataError(
                f"{path}: its word pieces go up to number {last}, but the model has vectors for {config.vocab_size} "
                f"(vocab_size of {CONFIG}): the two files are not of one model."
            )
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        special = len(self._tokenizer.encode("").ids)
        if not special:
            raise DataError(f"{path}: it adds no special pieces ([CLS], [SEP]) to a sentence; BERT reads none without.")
        if not special < max_pieces <= config.max_position_embeddings:
            raise ConfigError(
                f"max_pieces is {max_pieces}; {folder} takes {special + 1} to {config.max_position_embeddings}, of "
                f"which {special} are special pieces."
            )
        self._tokenizer.enable_truncation(max_pieces)

    def encode(self, sentences: Sequence[str]) -> list[tuple[int, ...]]:
        """The ids of each sentence. A lone surrogate, which is no text, is read as U+FFFD, which BERT passes over."""
        found = []
        for start in range(0, len(sentences), _SENTENCES):
            texts = [_SURROGATES.sub("\ufffd", text) for text in sentences[start : start + _SENTENCES]]
            found += [tuple(encoding.ids) for encoding in self._tokenizer.encode_batch_fast(texts)]
        return found


def _check_kind(fields: dict[str, Any], path: Path) -> None:
    """Refuses models that these weights alone do not make, whatever their sizes."""
    wanted = {
        "model_type": ("bert", None),
        "hidden_act": ("gelu", "gelu"),
        "position_embedding_type": ("absolute", "absolute"),
        "is_decoder": (False, False),
    }
    for name, (value, default) in wanted.items():
        if fields.get(name, default) != value:
            raise DataError(
                f"{path}: {name} is {fields.get(name, default)!r}; only {value!r} is supported. Name the folder of a "
                "BERT encoder."
            )


def _size(fields: dict[str, Any], name: str, path: Path) -> int:
    value = fields.get(name)
    if type(value) is not int or value < 1:
        raise DataError(f"{path}: {name} is {value!r}, not a whole number above 0.")
    return value


def _stored_name(name: str, names: set[str], path: Path) -> str:
    former = next((name.removesuffix(new) + old for new, old in _FORMER.items() if name.endswith(new)), name)
    found = next((each for each in (name, former) if each in names), None)
    if found is None:
        raise DataError(
            f"{path}: tensor {name} is missing. Are {CONFIG} and {WEIGHTS} of one model, and is it a BERT encoder?"
        )
    return found


def _float32(tensor: np.ndarray, shape: tuple[int, ...], where: str) -> np.ndarray:
    if tensor.shape != shape:
        raise DataError(f"{where} is {list(tensor.shape)}; {CONFIG} says {list(shape)}.")
    tensor = tensor.astype(np.float32)
    if not math.isfinite(float(tensor.sum())) and not np.isfinite(tensor).all():
        raise DataError(f"{where} holds a number that is not finite. Fetch the file again.")
    return tensor


def _not_installed(package: str, error: ImportError) -> ConfigError:
    return ConfigError(f"To read a BERT takes {package}, which is not installed ({error}): pip install -e '.[bert]'")
