"""A small BERT in a folder, and what plain NumPy makes of its weights: float64, one sentence and head at a time, no
padding; also of a real one's.

Dimension legend
    L  word pieces      H  hidden size
"""

import json
import math

import numpy as np
import tokenizers
from safetensors.numpy import save_file

# Every size is different, so that no wrong axis fits.
SIZES = {
    "vocab_size": 40,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 20,
    "max_position_embeddings": 24,
    "type_vocab_size": 2,
}
CONFIG = {"model_type": "bert", "hidden_act": "gelu", "layer_norm_eps": 1e-2, "pad_token_id": 0, **SIZES}
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "yes", "no", "dog", "##s", "two", ",", "e", "##t", "##o", "it"]
MAPS = {
    "attention.self.query": (12, 12),
    "attention.self.key": (12, 12),
    "attention.self.value": (12, 12),
    "attention.output.dense": (12, 12),
    "intermediate.dense": (20, 12),
    "output.dense": (12, 20),
}


def tensors(seed=0):
    """Weights far from any that would make a layer nearly do nothing."""
    rng = np.random.default_rng(seed)
    found = {
        f"embeddings.{name}_embeddings.weight": rng.normal(size=(rows, 12))
        for name, rows in (("word", 40), ("position", 24), ("token_type", 2))
    }
    norms = ["embeddings"]
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        for name, shape in MAPS.items():
            found[f"{layer}.{name}.weight"] = rng.normal(size=shape) / math.sqrt(shape[1]) * 1.5
            found[f"{layer}.{name}.bias"] = 0.3 * rng.normal(size=shape[0])
        norms += [f"{layer}.attention.output", f"{layer}.output"]
    for name in norms:
        found[f"{name}.LayerNorm.weight"] = rng.uniform(0.5, 1.5, 12)
        found[f"{name}.LayerNorm.bias"] = 0.3 * rng.normal(size=12)
    return {name: tensor.astype(np.float32) for name, tensor in found.items()}


def tokenizer():
    """BERT's own steps over PIECES; it asks for another truncation and padding than a caller will."""
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({piece: row for row, piece in enumerate(PIECES)}, unk_token="[UNK]")
    )
    made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.enable_truncation(5)
    made.enable_padding(length=9)
    return made


def ids(*pieces):
    """Of a sentence of these pieces."""
    return [2, *map(PIECES.index, pieces), 3]


def write(folder, weights=None, config=None, tokens=None):
    """Writes the folder, in whole or with other contents for some files."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG if config is None else config))
    weights = tensors() if weights is None else weights
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in weights.items()}, folder / "model.safetensors")
    (tokens or tokenizer()).save(str(folder / "tokenizer.json"))
    return folder


def forward(weights, config, sentence):
    """The last layer's states [L, H] of a sentence of ids."""
    get = {name: np.asarray(tensor, np.float64) for name, tensor in weights.items()}
    x = np.stack([get["embeddings.word_embeddings.weight"][index] for index in sentence])
    x = x + get["embeddings.position_embeddings.weight"][: len(sentence)]
    x = _norm(x + get["embeddings.token_type_embeddings.weight"][0], get, "embeddings", config)
    for index in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{index}"
        attended = _map(_attend(x, get, layer, config), get, f"{layer}.attention.output.dense")
        x = _norm(x + attended, get, f"{layer}.attention.output", config)
        inner = _map(x, get, f"{layer}.intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = _norm(x + _map(inner, get, f"{layer}.output.dense"), get, f"{layer}.output", config)
    return x


def _attend(x, get, layer, config):
    heads = config["num_attention_heads"]
    size = x.shape[1] // heads
    query, key, value = (_map(x, get, f"{layer}.attention.self.{name}") for name in ("query", "key", "value"))
    found = np.zeros_like(x)
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        for row in range(len(x)):
            scores = [query[row, part] @ other / math.sqrt(size) for other in key[:, part]]
            weights = np.exp(np.array(scores) - max(scores))
            found[row, part] = weights / weights.sum() @ value[:, part]
    return found


def _map(x, get, name):
    return x @ get[f"{name}.weight"].T + get[f"{name}.bias"]


def _norm(x, get, name, config):
    centred = x - x.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + config["layer_norm_eps"])
    return centred / deviation * get[f"{name}.LayerNorm.weight"] + get[f"{name}.LayerNorm.bias"]
