"""The peer: video-guided machine translation as a competent PyTorch user writes it, eager.

The model is that of `Translator`: encoders are `nn.LSTM`, the decoder a stack of `nn.LSTMCell` behind dot-product
attention over words and segments.

Dimension legend
    B  batch      S  source words      T  target words, EOS included      L  video segments      F  segment feature size
    M  memory positions      D  memory size      H  decoder hidden      V  target vocabulary
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.workload import ModelSizes

PAD, BOS = 0, 2
TEACHER_FORCING = True
State = list[tuple[Tensor, Tensor]]


class Memory(NamedTuple):
    """Values [B, M, D] and, where some positions are padding, a mask [B, M] of the real ones."""

    values: Tensor
    mask: Tensor | None


class Attention(nn.Module):
    """softmax(h W V^T) V over the real positions."""

    def __init__(self, hidden: int, size: int):
        super().__init__()
        self.query = nn.Linear(hidden, size, bias=False)

    def forward(self, h: Tensor, memory: Memory) -> Tensor:
        scores = torch.bmm(memory.values, self.query(h).unsqueeze(2)).squeeze(2)
        if memory.mask is not None:
            scores = scores.masked_fill(~memory.mask, -torch.inf)
        return torch.bmm(scores.softmax(1).unsqueeze(1), memory.values).squeeze(1)


class TorchTranslator(nn.Module):
    """Logits of each target word given the true ones before it, as `Translator` with `video="attention"`."""

    def __init__(self, sizes: ModelSizes, dropout: float):
        super().__init__()
        hidden = sizes.decoder_hidden
        self.source_words = nn.Embedding(sizes.source_vocabulary, sizes.embedding)
        self.source_encoder = _encoder(sizes.embedding, sizes.source_hidden, sizes.layers, dropout)
        self.video_projection = nn.Linear(sizes.feature, sizes.video_projection)
        self.video_encoder = _encoder(sizes.video_projection, sizes.video_hidden, sizes.layers, dropout)
        self.target_words = nn.Embedding(sizes.target_vocabulary, sizes.embedding)
        self.source_attention = Attention(hidden, 2 * sizes.source_hidden)
        self.video_attention = Attention(hidden, 2 * sizes.video_hidden)
        first = sizes.embedding + 2 * sizes.source_hidden + 2 * sizes.video_hidden
        self.cells = nn.ModuleList(nn.LSTMCell(n, hidden) for n in [first] + [hidden] * (sizes.layers - 1))
        self.output_hidden = nn.Linear(hidden, sizes.embedding)
        self.output_words = nn.Linear(sizes.embedding, sizes.target_vocabulary)
        self.drop = nn.Dropout(dropout)

    def forward(self, source: Tensor, target: Tensor, video: Tensor) -> Tensor:
        """Logits [B, T, V], all in one product after the loop."""
        memories, state = self.encode(source, video)
        inputs = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1)
        words = self.drop(self.target_words(inputs))
        outputs = []
        for t in range(target.shape[1]):
            h, state = self.decode_word(words[:, t], memories, state)
            outputs.append(h)
        return self.output(torch.stack(outputs, dim=1))

    def forward_stepwise(self, source: Tensor, target: Tensor, video: Tensor) -> Tensor:
        """The same logits the way the published code comes to them.

        Each step embeds its word, multiplies with the vocabulary, writes into an array made beforehand, and finds its
        likeliest word, which a choice between that and the true one needs (teacher forcing always takes the true one).
        """
        memories, state = self.encode(source, video)
        logits = torch.zeros(*target.shape, self.output_words.out_features)
        word = torch.full_like(target[:, 0], BOS)
        for t in range(target.shape[1]):
            h, state = self.decode_word(self.drop(self.target_words(word)), memories, state)
            output = self.output(h)
            logits[:, t, :] = output
            likeliest = output.detach().argmax(1)
            word = target[:, t] if TEACHER_FORCING else likeliest
        return logits

    def encode(self, source: Tensor, video: Tensor) -> tuple[list[Memory], State]:
        """The memories and each decoder layer's start state; every video has as many segments as the batch is long."""
        mask = source != PAD
        lengths = None if bool(mask.all()) else mask.sum(1)
        words, source_h, source_c = _run(self.source_encoder, self.drop(self.source_words(source)), lengths)
        segments, video_h, video_c = _run(self.video_encoder, self.drop(self.video_projection(video)), None)
        h, c = torch.cat([source_h, video_h], dim=2), torch.cat([source_c, video_c], dim=2)
        return [Memory(words, None if lengths is None else mask), Memory(segments, None)], list(zip(h, c, strict=True))

    def decode_word(self, word: Tensor, memories: list[Memory], state: State) -> tuple[Tensor, State]:
        """The top layer's h [B, H] after one more word (an embedding, [B, E]), and all layers' states."""
        attentions = zip((self.source_attention, self.video_attention), memories, strict=True)
        contexts = [attention(state[0][0], memory) for attention, memory in attentions]
        x = torch.cat([word, *contexts], dim=1)
        states = []
        for layer, (cell, (h, c)) in enumerate(zip(self.cells, state, strict=True)):
            h, c = cell(x if layer == 0 else self.drop(x), (h, c))
            states.append((h, c))
            x = h
        return x, states

    def output(self, h: Tensor) -> Tensor:
        return self.output_words(self.drop(torch.tanh(self.output_hidden(h))))


def translation_loss(logits: Tensor, target: Tensor) -> Tensor:
    """Mean negative log-likelihood of the real target words."""
    return functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD)


def _encoder(size: int, hidden: int, layers: int, dropout: float) -> nn.LSTM:
    between = dropout if layers > 1 else 0.0
    return nn.LSTM(size, hidden, layers, batch_first=True, dropout=between, bidirectional=True)


def _run(encoder: nn.LSTM, x: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs [B, M, 2 H] and the final h and c [layers, B, 2 H], padding left out by packing where there is any."""
    if lengths is None:
        values, finals = encoder(x)
    else:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        packed, finals = encoder(packed)
        values, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])
    # [layers * 2, B, H], directions side by side within a layer.
    sides = [final.unflatten(0, (-1, 2)) for final in finals]
    h, c = (torch.cat([side[:, 0], side[:, 1]], dim=2) for side in sides)
    return values, h, c


def copy_flax_parameters(params: dict, model: TorchTranslator) -> None:
    """Gives `model` the parameters of a `Translator` with `video="attention"`, so that both compute the same."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(torch.nan)
        for parameter, value in _pairs(params, model):
            parameter.copy_(torch.from_numpy(np.array(value, np.float32)))
        for name, parameter in model.named_parameters():
            if "bias_hh" in name:
                parameter.zero_()  # PyTorch adds two biases where one would do.
            if parameter.isnan().any():
                raise ValueError(f"The Flax parameters hold nothing for {name}.")


def _pairs(params: dict, model: TorchTranslator) -> Iterator[tuple[Tensor, np.ndarray]]:
    source, video, decoder, output = (params[n] for n in ("source_encoder", "video_encoder", "decoder", "output"))
    yield model.source_words.weight, source["words"]["table"]
    yield model.target_words.weight, decoder["words"]["table"]
    yield from _linear_pairs(video["projection"], model.video_projection)
    yield from _linear_pairs(output["hidden"], model.output_hidden)
    yield from _linear_pairs(output["words"], model.output_words)
    for tree, encoder in ((source["lstm"], model.source_encoder), (video["lstm"], model.video_encoder)):
        for layer in range(encoder.num_layers):
            for side, suffix in (("forward", ""), ("backward", "_reverse")):
                yield from _lstm_pairs(tree[f"{side}_{layer}"], encoder, f"_l{layer}{suffix}")
    first = decoder["attending"]
    yield model.source_attention.query.weight, np.transpose(first["source_query"])
    yield model.video_attention.query.weight, np.transpose(first["video_query"])
    kernels = [first[f"{name}_kernel"] for name in ("word", "source", "video")]
    layers = [{**first, "input_kernel": np.concatenate(kernels)}]
    layers += [decoder[f"upper_{number}"] for number in range(len(model.cells) - 1)]
    for tree, cell in zip(layers, model.cells, strict=True):
        yield from _lstm_pairs(tree, cell, "")


def _linear_pairs(tree: dict, linear: nn.Linear) -> Iterator[tuple[Tensor, np.ndarray]]:
    yield linear.weight, np.transpose(tree["kernel"])
    yield linear.bias, tree["bias"]


def _lstm_pairs(tree: dict, module: nn.Module, suffix: str) -> Iterator[tuple[Tensor, np.ndarray]]:
    """Both libraries order the gates input, forget, cell, output."""
    yield getattr(module, f"weight_ih{suffix}"), np.transpose(tree["input_kernel"])
    yield getattr(module, f"weight_hh{suffix}"), np.transpose(tree["recurrent_kernel"])
    yield getattr(module, f"bias_ih{suffix}"), tree["bias"]
