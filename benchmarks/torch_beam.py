"""The peer's beam search: one sentence at a time, its hypotheses a batch, in eager PyTorch.

Dimension legend
    K  beam      L  video segments      F  segment feature size      V  target vocabulary
"""

import numpy as np
import torch
from torch import Tensor

from benchmarks.torch_translator import BOS, Memory, State, TorchTranslator

EOS = 3
NEVER_EMITTED = [0, 1, 2, 4]


@torch.inference_mode()
def beam_search(
    model: TorchTranslator, source: np.ndarray, video: np.ndarray, eos_bias: np.ndarray, *, beam: int, max_words: int
) -> tuple[list[int], float]:
    """The best output of one sentence (EOS included) and its mean log-probability, by the rule of `decoding.beam`.

    Args:
        model: in evaluation mode.
        source: ids of its words.
        video: [L, F].
        eos_bias: float32 [max_words + 1]; added to the logit of EOS at each step.
        beam: K.
        max_words: words at most, EOS not counted.
    """
    memories, state = model.encode(torch.from_numpy(source).long()[None], torch.from_numpy(video)[None])
    memories = [Memory(memory.values.expand(beam, -1, -1), None) for memory in memories]
    state = [(h.expand(beam, -1), c.expand(beam, -1)) for h, c in state]
    totals = torch.full((beam,), -torch.inf)
    totals[0] = 0.0
    written: list[list[int]] = [[] for _ in range(beam)]
    finished: list[tuple[float, list[int]]] = []
    for time in range(max_words + 1):
        last = torch.tensor([words[-1] if words else BOS for words in written])
        log_probs, state = _next_word(model, last, memories, state, float(eos_bias[time]), time == max_words)
        best, flat = (totals[:, None] + log_probs).flatten().topk(2 * beam)
        parents, words = flat // log_probs.shape[1], flat % log_probs.shape[1]
        live = []
        for rank, (total, parent, word) in enumerate(zip(best.tolist(), parents.tolist(), words.tolist(), strict=True)):
            if word != EOS and len(live) < beam:
                live.append((total, parent, word))
            elif word == EOS and rank < beam and total > -torch.inf:
                finished.append((total / (time + 1), [*written[parent], EOS]))
        if len(finished) >= beam or live[0][0] == -torch.inf:
            break
        totals = torch.tensor([total for total, _, _ in live])
        rows = torch.tensor([parent for _, parent, _ in live])
        written = [[*written[parent], word] for _, parent, word in live]
        state = [(h[rows], c[rows]) for h, c in state]
    score, output = max(finished, key=lambda ended: ended[0])
    return output, score


def _next_word(
    model: TorchTranslator, last: Tensor, memories: list[Memory], state: State, eos_bias: float, must_end: bool
) -> tuple[Tensor, State]:
    """Log-probabilities [K, V] of the next word, -inf where it is not allowed, and the new states."""
    h, state = model.decode_word(model.target_words(last), memories, state)
    logits = model.output(h)
    logits[:, EOS] += eos_bias
    log_probs = logits.log_softmax(1)
    log_probs[:, NEVER_EMITTED] = -torch.inf
    if must_end:
        eos = log_probs[:, EOS].clone()
        log_probs.fill_(-torch.inf)
        log_probs[:, EOS] = eos
    return log_probs, state
