"""A small captioner, a batch for it, and what plain NumPy makes of them: float64, one video at a time, no masks.

Dimension legend
    T  target words      L  video segments      F  feature size      V  vocabulary
"""

import jax
import jax.numpy as jnp
import numpy as np

from vatex_jax.models.captioner import Captioner

VOCABULARIES = (("en", 11), ("zh", 13))
FEATURES, FEATURE_SCALE = 6, 1.5
BOS, EOS, FIRST_WORD = 2, 3, 5
KINDS = {
    "base": {"vocabularies": VOCABULARIES[1:]},
    "base untied": {"vocabularies": VOCABULARIES[:1], "tied": False},
    "base unscaled": {"vocabularies": VOCABULARIES[1:], "scale_embedding": False},
    "base untied unscaled": {"vocabularies": VOCABULARIES[:1], "tied": False, "scale_embedding": False},
    "shared enc": {"shared_decoder": False},
    "shared enc-dec": {},
}


def model(**fields):
    """Every size is different, so that no wrong axis fits; dropout is on where a key is given."""
    sizes = {"embedding": 10, "video_projection": 5, "video_hidden": 4, "fusion": 7, "decoder_hidden": 8}
    return Captioner(**{"vocabularies": VOCABULARIES, "feature_scale": FEATURE_SCALE, **sizes, **fields})


def batch(lengths=((5, 3, 4), (1, 2, 1), (3, 0, 0), (0, 4, 3), (2, 1, 2)), seed=0):
    """Rows of (English words, Chinese words, segments), EOS counted; 0 words: no caption in that language."""
    rng = np.random.default_rng(seed)
    longest = np.max(lengths, axis=0)
    data = {
        "target_en": np.zeros((len(lengths), longest[0]), np.int32),
        "target_zh": np.zeros((len(lengths), longest[1]), np.int32),
        "video": np.zeros((len(lengths), longest[2], FEATURES), np.float32),
        "video_mask": np.zeros((len(lengths), longest[2]), bool),
    }
    for row, (*words, segments) in enumerate(lengths):
        for (language, size), count in zip(VOCABULARIES, words, strict=True):
            if count:
                data[f"target_{language}"][row, :count] = [*rng.integers(FIRST_WORD, size, count - 1), EOS]
        data["video"][row, :segments] = rng.normal(size=(segments, FEATURES))
        data["video_mask"][row, :segments] = True
    return {name: jnp.asarray(array) for name, array in data.items()}


def given(model, batch):
    """The model's arguments."""
    return batch["video"], batch["video_mask"], {name: batch[f"target_{name}"] for name in model.languages}


def parameters(model, scale=0.5, seed=0):
    """Every parameter normal, biases too, so that a wrong term shows."""
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), *given(model, batch())))["params"]
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda s: jnp.asarray(scale * rng.normal(size=s.shape), jnp.float32), shapes)


def float64(tree):
    return jax.tree.map(lambda x: np.asarray(x, np.float64), tree)


def write(functions, p, language, target, video, fed_back=None, scaled=True):
    """One caption: logits [T, V], attention weights [T, L], and the words each step was given.

    Args:
        functions: of numpy_model.py.
        p: parameters, float64.
        language: to write in.
        target: true words.
        video: [L, F].
        fed_back: for each step, whether it is given the word written before; None for never.
        scaled: a word is read as sqrt(E) times its row.
    """
    decoder = p.get("decoder", p.get(f"decoder_{language}"))
    words = p[f"words_{language}"]
    scale = words["table"].shape[1] ** 0.5 if scaled else 1.0
    encoder = p["encoder"]
    memory, (state,) = functions.bilstm(
        encoder["lstm"], functions.dense(encoder["projection"], np.asarray(video, np.float64) * FEATURE_SCALE)
    )
    inputs, rows, shares, written = [], [], [], BOS
    for t, true in enumerate([BOS, *target[:-1]]):
        word = written if fed_back is not None and fed_back[t] else true
        h, c = state
        context, weights = functions.attend(h, decoder["query"], memory)
        fused = words["table"][word] * scale @ decoder["fusion_word_kernel"] + decoder["fusion_bias"]
        fused = fused + context @ decoder["fusion_context_kernel"]
        gates = fused @ decoder["input_kernel"] + h @ decoder["recurrent_kernel"] + decoder["bias"]
        h, c = state = functions.lstm_cell(gates, c)
        x = np.tanh(h @ decoder["output_kernel"] + decoder["output_bias"])
        logits = words.get("matrix", words["table"]) @ x + words["bias"]
        written = FIRST_WORD + int(np.argmax(logits[FIRST_WORD:]))
        inputs.append(word)
        rows.append(logits)
        shares.append(weights)
    return np.array(rows), np.array(shares), inputs


def surprises(logits, target):
    """Negative log-likelihood [T] of each word, in nats."""
    top = logits.max(1, keepdims=True)
    log_probs = logits - top - np.log(np.exp(logits - top).sum(1, keepdims=True))
    return -log_probs[np.arange(len(target)), target]


def captions_of(batch, language):
    """(row, true words, segments) of each video that has a caption, cut to what is real."""
    for row, target in enumerate(np.asarray(batch[f"target_{language}"])):
        if target[0]:
            yield row, target[target != 0], np.asarray(batch["video"][row])[np.asarray(batch["video_mask"][row])]
