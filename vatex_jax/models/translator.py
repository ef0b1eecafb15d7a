"""Video-guided machine translation: the four rows of Table 5 as one model with a choice of how it sees the video.

Dimension legend
    B  batch      S  source words      T  target words      L  video segments      F  segment feature size
    H  decoder hidden      V  target vocabulary      K  hypotheses a sentence (decoding only)
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int

from vatex_jax.errors import ConfigError
from vatex_jax.nn.cross_entropy import surprises
from vatex_jax.nn.decoders import AttentionDecoder, Memories, Memory, OutputLayer, Weights
from vatex_jax.nn.encoders import Dense, SentenceEncoder, VideoEncoder, mean_segment
from vatex_jax.nn.lstm import State
from vatex_jax.text.vocabulary import BOS, PAD

VIDEO = ("none", "average", "final", "attention")
"""Rows of Table 5: Base NMT w/o VI, + Average VI, + LSTM VI w/o Attn, + LSTM VI w/ Attn (VMT)."""


class Encoded(NamedTuple):
    """What the encoders know of a batch: memories to attend to, and each decoder layer's start state (h, c) [B, H]."""

    memories: Memories
    start: list[State]


class Translator(nn.Module):
    """An encoder-decoder with attention over the source words and, by `video`, over the video's segments.

    Attributes:
        source_vocabulary, target_vocabulary: sizes, special tokens included.
        video: `none`, `average` (mean segment feature beside each source embedding), `final` (the video encoder's final
            states start the decoder, nothing else), `attention` (both attentions; the paper's VMT).
        embedding: size of word embeddings in both languages, and of the layer before the vocabulary.
        source_hidden, video_hidden: units a direction of the two bi-LSTM encoders.
        video_projection: size the segment features are mapped to before the video encoder.
        decoder_hidden: units of the decoder; with a video encoder, 2 (source_hidden + video_hidden), since its start
            state is the encoders' final states side by side.
        feature_scale: what the segment features are multiplied by; 5 brings I3D's, of standard deviation 0.2, to about
            1.
        scale_average: `average` multiplies its mean segment by `feature_scale` too; False as runs of version 0.1 did.
        layers: of the decoder and of both encoders.
        dropout: rate on embeddings, between layers and before the vocabulary.
        dtype: precision of the products (float32 or bfloat16); everything else is float32.
    """

    source_vocabulary: int
    target_vocabulary: int
    video: str = "attention"
    embedding: int = 512
    source_hidden: int = 256
    video_hidden: int = 256
    video_projection: int = 512
    decoder_hidden: int = 1024
    feature_scale: float = 1.0
    scale_average: bool = True
    layers: int = 2
    dropout: float = 0.5
    dtype: DTypeLike = jnp.float32

    def setup(self):
        if self.video not in VIDEO:
            raise ConfigError(f"model.video is {self.video!r}: it must be one of {', '.join(VIDEO)}.")
        self.source_encoder = SentenceEncoder(
            self.source_vocabulary, self.embedding, self.source_hidden, self.layers, self.dropout, self.dtype
        )
        if self.has_video_encoder:
            self._check_start_size()
            self.video_encoder = VideoEncoder(
                self.video_projection, self.video_hidden, self.layers, self.dropout, self.dtype
            )
        else:
            self.start_h = [Dense(self.decoder_hidden, self.dtype) for _ in range(self.layers)]
            self.start_c = [Dense(self.decoder_hidden, self.dtype) for _ in range(self.layers)]
        memories = ("source", "video") if self.video == "attention" else ("source",)
        self.decoder = AttentionDecoder(
            self.target_vocabulary,
            self.embedding,
            self.decoder_hidden,
            self.layers,
            self.dropout,
            memories,
            self.dtype,
        )
        self.output = OutputLayer(self.target_vocabulary, self.embedding, self.dropout, self.dtype)

    @property
    def has_video_encoder(self) -> bool:
        return self.video in ("final", "attention")

    def _check_start_size(self):
        size = 2 * (self.source_hidden + self.video_hidden)
        if size != self.decoder_hidden:
            raise ConfigError(
                f"model.decoder_hidden is {self.decoder_hidden}, but the decoder starts from the encoders' final "
                f"states side by side: set it to 2 * (model.source_hidden + model.video_hidden) = {size}."
            )

    def encode(
        self,
        source: Int[Array, "B S"],
        video: Float[Array, "B L F"] | None = None,
        video_mask: Bool[Array, "B L"] | None = None,
        *,
        deterministic: bool = True,
    ) -> Encoded:
        """Runs the encoders.

        Raises:
            ValueError: `video` or its mask is missing, and `self.video` is not `none`.
        """
        if self.video != "none" and (video is None or video_mask is None):
            raise ValueError(f"A translator with video={self.video!r} needs both video and video_mask.")
        mask = source != PAD
        values, finals = self.source_encoder(
            source, mask, self._average(video, video_mask), deterministic=deterministic
        )
        memories = {"source": Memory(values, mask)}
        if not self.has_video_encoder:
            # tanh for c as for h: the published code starts the cell within (-1, 1) too.
            return Encoded(
                memories,
                [
                    (jnp.tanh(to_h(h)), jnp.tanh(to_c(c)))
                    for to_h, to_c, (h, c) in zip(self.start_h, self.start_c, finals, strict=True)
                ],
            )
        segments, seen = self.video_encoder(video * self.feature_scale, video_mask, deterministic=deterministic)
        if self.video == "attention":
            memories["video"] = Memory(segments, video_mask)
        start = [
            (jnp.concatenate([h, video_h], -1), jnp.concatenate([c, video_c], -1))
            for (h, c), (video_h, video_c) in zip(finals, seen, strict=True)
        ]
        return Encoded(memories, start)

    def _average(self, video, video_mask):
        """The mean segment [B, F] that stands beside every source word; None if the model does not use it."""
        if self.video != "average":
            return None
        return mean_segment(video * (self.feature_scale if self.scale_average else 1.0), video_mask)

    def __call__(
        self,
        source: Int[Array, "B S"],
        target: Int[Array, "B T"],
        video: Float[Array, "B L F"] | None = None,
        video_mask: Bool[Array, "B L"] | None = None,
        *,
        deterministic: bool = True,
    ) -> Float[Array, "B T V"]:
        """Logits of each target word given the true ones before it; `target` ends in EOS, then PAD."""
        encoded = self.encode(source, video, video_mask, deterministic=deterministic)
        h, _ = self._teach(encoded, target, deterministic)
        return self.output(h, deterministic=deterministic)

    def attention(
        self,
        source: Int[Array, "B S"],
        target: Int[Array, "B T"],
        video: Float[Array, "B L F"] | None = None,
        video_mask: Bool[Array, "B L"] | None = None,
    ) -> Weights:
        """Attention weights, [B, T, S] over the source and [B, T, L] over the video, while `target` is written."""
        return self._teach(self.encode(source, video, video_mask), target, True)[1]

    def _teach(self, encoded, target, deterministic):
        inputs = jnp.concatenate([jnp.full_like(target[:, :1], BOS), target[:, :-1]], axis=1)
        return self.decoder(inputs, target != PAD, encoded.start, encoded.memories, deterministic=deterministic)

    def step(
        self, memories: Memories, state: list[State], tokens: Int[Array, "B K"]
    ) -> tuple[Float[Array, "B K V"], list[State]]:
        """Logits of the word after `tokens` for K hypotheses a sentence, and their new states [B, K, H]."""
        h, state, _ = self.decoder.step(tokens, state, memories)
        return self.output(h), state


def decoding(
    model: Translator, params: dict, batch: dict[str, jax.Array]
) -> tuple[Callable[[list[State], jax.Array], tuple[jax.Array, list[State]]], list[State]]:
    """The step function and first state (one hypothesis a sentence, [B, 1, H]) that `decoding` searches with."""
    variables = {"params": params}
    video = {name: batch[name] for name in ("video", "video_mask") if name in batch}
    encoded = model.apply(variables, batch["source"], **video, method=Translator.encode)

    def step(state: list[State], tokens: jax.Array) -> tuple[jax.Array, list[State]]:
        return model.apply(variables, encoded.memories, state, tokens, method=Translator.step)

    return step, jax.tree.map(lambda x: x[:, None], encoded.start)


def translation_loss(
    model: Translator, params: dict, batch: dict[str, jax.Array], key: jax.Array | None
) -> tuple[jax.Array, jax.Array]:
    """Mean negative log-likelihood of the batch's real target words (EOS included), in nats, and their number.

    With `key` None dropout is off.
    """
    video = {name: batch[name] for name in ("video", "video_mask") if name in batch}
    rngs = {} if key is None else {"dropout": key}
    target = batch["target"]
    logits = model.apply({"params": params}, batch["source"], target, **video, deterministic=key is None, rngs=rngs)
    real = target != PAD
    count = real.sum()
    return jnp.where(real, surprises(logits, target), 0.0).sum() / jnp.maximum(count, 1), count
