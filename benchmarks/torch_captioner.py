"""The peer: multilingual captioning with scheduled sampling as a competent PyTorch user writes it, eager.

The model is that of `Captioner` with one decoder for all languages and tied embeddings: the encoder is an `nn.LSTM`,
the decoder an `nn.LSTMCell` behind dot-product attention over the segments. There are two versions, since it is not
plain which is faster: the logits of each step computed in the loop, which chooses the next word by them, or computed
once after the loop, which then chooses words without gradients, and for those rows alone that are given theirs.

Dimension legend
    B  batch      T  target words, EOS included      L  video segments      F  segment feature size
    H  decoder hidden      E  embedding      V  vocabulary
"""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.torch_translator import Attention, Memory
from benchmarks.workload import CaptionerSizes

PAD, BOS, FIRST_WORD = 0, 2, 5


class TorchCaptioner(nn.Module):
    """Logits of the captions of every language, one decoder for all, as `Captioner` with its defaults.

    Args:
        sizes: of the model.
        dropout: its rate.
        logits_after: whether the logits are computed once after the loop.
    """

    def __init__(self, sizes: CaptionerSizes, dropout: float, logits_after: bool):
        super().__init__()
        self.logits_after = logits_after
        hidden, embedding = sizes.decoder_hidden, sizes.embedding
        self.projection = nn.Linear(sizes.feature, sizes.video_projection)
        self.encoder = nn.LSTM(sizes.video_projection, sizes.video_hidden, batch_first=True, bidirectional=True)
        self.attention = Attention(hidden, hidden)
        self.fusion = nn.Linear(embedding + hidden, sizes.fusion)
        self.cell = nn.LSTMCell(sizes.fusion, hidden)
        self.output = nn.Linear(hidden, embedding)
        self.words = nn.ModuleDict({name: nn.Linear(embedding, size) for name, size in sizes.vocabularies})
        for words in self.words.values():
            nn.init.normal_(words.weight, std=embedding**-0.5)
            nn.init.zeros_(words.bias)
        self.drop = nn.Dropout(dropout)
        self.scale = embedding**0.5

    def encode(self, video: Tensor) -> tuple[Memory, tuple[Tensor, Tensor]]:
        """What is attended to, and the decoder's start; every video has as many segments as the batch is long."""
        values, (h, c) = self.encoder(self.drop(self.projection(video)))
        return Memory(values, None), (torch.cat([h[0], h[1]], dim=1), torch.cat([c[0], c[1]], dim=1))

    def forward(
        self, video: Tensor, targets: Mapping[str, Tensor], fed_back: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Logits [B, T, V] by language; where `fed_back` [B, T] is true, a step is given the word just written."""
        memory, start = self.encode(video)
        return {name: self.decode(name, target, fed_back[name], memory, start) for name, target in targets.items()}

    def decode(
        self, language: str, target: Tensor, fed_back: Tensor, memory: Memory, start: tuple[Tensor, Tensor]
    ) -> Tensor:
        """Logits [B, T, V] of one language."""
        words, (h, c) = self.words[language], start
        inputs = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1)
        written, made = inputs[:, 0], []
        for t in range(target.shape[1]):
            word = torch.where(fed_back[:, t], written, inputs[:, t])
            x = self.drop(functional.embedding(word, words.weight) * self.scale)
            h, c = self.cell(self.fusion(torch.cat([x, self.attention(h, memory)], dim=1)), (h, c))
            out = self.drop(torch.tanh(self.output(h)))
            if not self.logits_after:
                made.append(words(out))
                written = _best(made[-1].detach())
                continue
            made.append(out)
            if t + 1 < target.shape[1]:
                rows = fed_back[:, t + 1].nonzero()[:, 0]
                with torch.no_grad():
                    written = inputs[:, t + 1].index_copy(0, rows, _best(words(out[rows])))
        stacked = torch.stack(made, dim=1)
        return words(stacked) if self.logits_after else stacked


def _best(logits: Tensor) -> Tensor:
    return logits[:, FIRST_WORD:].argmax(1) + FIRST_WORD


def captions_loss(logits: Mapping[str, Tensor], targets: Mapping[str, Tensor]) -> Tensor:
    """Mean negative log-likelihood of the real target words of all languages."""
    total = sum(
        functional.cross_entropy(scores.flatten(0, 1), targets[name].flatten(), ignore_index=PAD, reduction="sum")
        for name, scores in logits.items()
    )
    return total / sum((target != PAD).sum() for target in targets.values())


def copy_flax_parameters(params: dict, model: TorchCaptioner) -> None:
    """Gives `model` the parameters of a `Captioner` with one decoder and tied embeddings: both compute the same."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()  # the second bias of PyTorch's LSTMs stays so
        for parameter, value in _pairs(params, model):
            parameter.copy_(torch.from_numpy(np.array(value, np.float32)))


def _pairs(params: dict, model: TorchCaptioner) -> Iterator[tuple[Tensor, np.ndarray]]:
    encoder, decoder = params["encoder"], params["decoder"]
    yield model.projection.weight, encoder["projection"]["kernel"].T
    yield model.projection.bias, encoder["projection"]["bias"]
    for side, suffix in (("forward_0", "_l0"), ("backward_0", "_l0_reverse")):
        yield from _lstm_pairs(encoder["lstm"][side], model.encoder, suffix)
    yield model.attention.query.weight, decoder["query"].T
    yield model.fusion.weight, np.concatenate([decoder["fusion_word_kernel"], decoder["fusion_context_kernel"]]).T
    yield model.fusion.bias, decoder["fusion_bias"]
    yield from _lstm_pairs(decoder, model.cell, "")
    yield model.output.weight, decoder["output_kernel"].T
    yield model.output.bias, decoder["output_bias"]
    for name, words in model.words.items():
        yield words.weight, params[f"words_{name}"]["table"]
        yield words.bias, params[f"words_{name}"]["bias"]


def _lstm_pairs(tree: dict, module: nn.Module, suffix: str) -> Iterator[tuple[Tensor, np.ndarray]]:
    """Both libraries order the gates input, forget, cell, output."""
    yield getattr(module, f"weight_ih{suffix}"), tree["input_kernel"].T
    yield getattr(module, f"weight_hh{suffix}"), tree["recurrent_kernel"].T
    yield getattr(module, f"bias_ih{suffix}"), tree["bias"]
