"""The translator once more in plain NumPy: float64, one sentence at a time, real positions only, so no masks anywhere.

Dimension legend
    S  source words      T  target words      L  video segments      M  memory positions
    D  any input size      H  hidden
"""

import numpy as np

PAD, BOS = 0, 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_cell(gates, c):
    """Gates [4 H] in the order input, forget, cell, output."""
    size = len(c)
    i, f, g, o = (gates[n * size : (n + 1) * size] for n in range(4))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def lstm(p, x, state=None):
    """x [T, D] read from first to last: outputs [T, H] and the final (h, c)."""
    size = p["recurrent_kernel"].shape[0]
    h, c = (np.zeros(size), np.zeros(size)) if state is None else state
    outputs = []
    for row in x:
        h, c = lstm_cell(row @ p["input_kernel"] + h @ p["recurrent_kernel"] + p["bias"], c)
        outputs.append(h)
    return np.array(outputs).reshape(len(x), size), (h, c)


def bilstm(p, x):
    """x [T, D]: top outputs [T, 2 H] and each layer's final (h, c), forward beside backward."""
    finals = []
    for layer in range(len(p) // 2):
        forward, (h_f, c_f) = lstm(p[f"forward_{layer}"], x)
        backward, (h_b, c_b) = lstm(p[f"backward_{layer}"], x[::-1])
        x = np.concatenate([forward, backward[::-1]], axis=1)
        finals.append((np.concatenate([h_f, h_b]), np.concatenate([c_f, c_b])))
    return x, finals


def attend(query, weight, memory):
    """softmax(h W V^T) V: context [D] and weights [M]; nothing from an empty memory."""
    if len(memory) == 0:
        return np.zeros(memory.shape[1]), np.zeros(0)
    scores = memory @ (query @ weight)
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    return weights @ memory, weights


def decoder_step(p, word, states, memories):
    """One word further: top output, new states, weights. The first layer's state before the step is the query."""
    first = p["attending"]
    h, c = states[0]
    gates = p["words"]["table"][word] @ first["word_kernel"] + h @ first["recurrent_kernel"] + first["bias"]
    weights = {}
    for name, memory in memories.items():
        context, weights[name] = attend(h, first[f"{name}_query"], memory)
        gates = gates + context @ first[f"{name}_kernel"]
    new = [lstm_cell(gates, c)]
    for layer, (h, c) in enumerate(states[1:]):
        upper = p[f"upper_{layer}"]
        below = new[-1][0]
        new.append(lstm_cell(below @ upper["input_kernel"] + h @ upper["recurrent_kernel"] + upper["bias"], c))
    return new[-1][0], new, weights


def dense(p, x):
    return x @ p["kernel"] + p["bias"]


def output_layer(p, h):
    return dense(p["words"], np.tanh(dense(p["hidden"], h)))


def encode(p, kind, source, video):
    """One sentence [S] without padding and its segments [L, F]: memories and each decoder layer's start (h, c)."""
    x = p["source_encoder"]["words"]["table"][source]
    if kind == "average":
        mean = video.mean(0) if len(video) else np.zeros(video.shape[1])
        x = np.concatenate([x, np.tile(mean, (len(x), 1))], axis=1)
    u, finals = bilstm(p["source_encoder"]["lstm"], x)
    memories = {"source": u}
    if kind in ("none", "average"):
        start = [
            (np.tanh(dense(p[f"start_h_{n}"], h)), np.tanh(dense(p[f"start_c_{n}"], c)))
            for n, (h, c) in enumerate(finals)
        ]
        return memories, start
    v, seen = bilstm(p["video_encoder"]["lstm"], dense(p["video_encoder"]["projection"], video))
    if kind == "attention":
        memories["video"] = v
    start = [(np.concatenate([h, vh]), np.concatenate([c, vc])) for (h, c), (vh, vc) in zip(finals, seen, strict=True)]
    return memories, start


def logits(p, kind, source, target, video=None):
    """One sentence's logits [T, V] under teacher forcing and the weights [T, M] by memory."""
    memories, states = encode(p, kind, source, video)
    rows, weights = [], {name: [] for name in memories}
    for word in [BOS, *target[:-1]]:
        h, states, now = decoder_step(p["decoder"], word, states, memories)
        rows.append(output_layer(p["output"], h))
        for name in memories:
            weights[name].append(now[name])
    return np.array(rows), {name: np.array(w) for name, w in weights.items()}


def surprises(p, kind, source, target, video=None):
    """Negative log-likelihood [T] of each word of one target, in nats."""
    scores, _ = logits(p, kind, source, target, video)
    top = scores.max(1, keepdims=True)
    log_probs = scores - top - np.log(np.exp(scores - top).sum(1, keepdims=True))
    return -log_probs[np.arange(len(target)), target]


def rows(batch):
    """(source [S], target [T], segments [L, F] or None) of each row of a batch, cut to what is real."""
    for i in range(len(batch["source"])):
        source, target = batch["source"][i], batch["target"][i]
        video = batch["video"][i][batch["video_mask"][i]].astype(np.float64) if "video" in batch else None
        yield source[source != PAD], target[target != PAD], video
