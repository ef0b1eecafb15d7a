"""Multilingual video captioning: the models of Table 4 as one model with a choice of languages and of what they share.

Dimension legend
    B  batch      T  target words, EOS included      L  video segments      F  segment feature size
    H  decoder hidden      V  vocabulary of a language      K  hypotheses a sentence (decoding only)
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.nn.caption_decoder import CaptionDecoder, Written
from vatex_jax.nn.cross_entropy import surprises
from vatex_jax.nn.decoders import Memory
from vatex_jax.nn.embedding import WordLayers, Words
from vatex_jax.nn.encoders import VideoEncoder
from vatex_jax.nn.lstm import State
from vatex_jax.text.vocabulary import BOS, PAD, SPECIALS

FIRST_WORD = len(SPECIALS)
"""Scheduled sampling feeds back what decoding would: words, never PAD, UNK, BOS or [M], nor EOS, behind which decoding
has stopped."""


class Encoded(NamedTuple):
    """What the encoder knows of a batch of videos: a memory to attend to, and the decoders' start state (h, c)."""

    memory: Memory
    start: State


class Captioner(nn.Module):
    """An encoder-decoder with attention over the video's segments, for one language or several (VaTeX, section 4.1).

    One language is Base. Two are Shared Enc with a decoder a language, or Shared Enc-Dec with one for all; the word
    embeddings, and the softmax layer with them, are always a language's own.

    Attributes:
        vocabularies: the languages it knows and their vocabulary sizes, special tokens included, in order.
        shared_decoder: one decoder for all languages.
        tied: word embeddings are the softmax matrices too (the paper's WT).
        scale_embedding: word embeddings are multiplied by sqrt(embedding), see `nn.embedding.WordLayers`.
        embedding: size of word embeddings, and of the layer before the vocabulary.
        video_projection: size the segment features are mapped to before the video encoder.
        video_hidden: units a direction of the bi-LSTM video encoder.
        fusion: size that a word and its context are mapped to before the decoder's LSTM.
        decoder_hidden: units of the decoder; 2 video_hidden, since it starts from the encoder's final states.
        feature_scale: what the video encoder multiplies the segment features with; 5 brings I3D's, of standard
            deviation 0.2, to about 1.
        dropout: rate on the mapped features, on embeddings and before the vocabulary.
        dtype: precision of the products (float32 or bfloat16); everything else is float32.
    """

    vocabularies: tuple[tuple[str, int], ...]
    shared_decoder: bool = True
    tied: bool = True
    scale_embedding: bool = True
    embedding: int = 512
    video_projection: int = 512
    video_hidden: int = 512
    fusion: int = 512
    decoder_hidden: int = 1024
    feature_scale: float = 1.0
    dropout: float = 0.5
    dtype: DTypeLike = jnp.float32

    def setup(self):
        self._check()
        self.encoder = VideoEncoder(self.video_projection, self.video_hidden, 1, self.dropout, self.dtype)
        self.words = {
            name: WordLayers(size, self.embedding, self.tied, self.scale_embedding) for name, size in self.vocabularies
        }
        if self.shared_decoder:
            self.decoder = self._new_decoder()
        else:
            self.decoder = {name: self._new_decoder() for name in self.languages}

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.vocabularies)

    def _new_decoder(self):
        return CaptionDecoder(self.embedding, self.fusion, self.decoder_hidden, self.dropout, self.dtype)

    def _check(self):
        if not self.vocabularies or len(set(self.languages)) < len(self.vocabularies):
            raise ConfigError(f"The captioner's languages are {list(self.languages)}: name at least one, each once.")
        for language, size in self.vocabularies:
            if size <= len(SPECIALS):
                raise ConfigError(
                    f"The vocabulary of {language} has {size} entries, the {len(SPECIALS)} special tokens included, so "
                    f"no word at all: lower its minimum count or give it captions."
                )
        if self.decoder_hidden != 2 * self.video_hidden:
            raise ConfigError(
                f"model.decoder_hidden is {self.decoder_hidden}, but the decoder starts from the video encoder's final "
                f"states, both directions side by side: set it to 2 * model.video_hidden = {2 * self.video_hidden}."
            )

    def encode(
        self, video: Float[Array, "B L F"], video_mask: Bool[Array, "B L"], *, deterministic: bool = True
    ) -> Encoded:
        """Runs the video encoder; h starts from its final h and c from its final c, [forward; backward]."""
        segments, (start,) = self.encoder(video * self.feature_scale, video_mask, deterministic=deterministic)
        return Encoded(Memory(segments, video_mask), start)

    def __call__(
        self,
        video: Float[Array, "B L F"],
        video_mask: Bool[Array, "B L"],
        targets: dict[str, Int[Array, "B _"]],
        *,
        sampling: float | Float[Array, ""] | None = None,
        deterministic: bool = True,
    ) -> dict[str, Written]:
        """Logits of each target word by language, videos encoded once; a target is words, EOS, then PAD.

        Args:
            video, video_mask: segments, and which are real.
            targets: by language; lengths may differ.
            sampling: None for teacher forcing, where a step is given the true word before. A probability, with which
                it is given the model's own word instead (scheduled sampling), drawn for each row, step and language by
                the key `sampling`.
            deterministic: no dropout; else by the key `dropout`.
        """
        encoded = self.encode(video, video_mask, deterministic=deterministic)
        written = {}
        for language, target in targets.items():
            words, decoder, inputs = self._words(language), self._decoder(language), _inputs(target)
            if sampling is None:
                written[language], _ = decoder(words, inputs, *_begin(encoded), deterministic=deterministic)
            else:
                fed_back = fed_back_steps(self.make_rng("sampling"), sampling, inputs.shape)
                written[language] = decoder.scheduled_sampling(
                    words, inputs, fed_back, FIRST_WORD, *_begin(encoded), deterministic=deterministic
                )
        return written

    def attention(
        self,
        video: Float[Array, "B L F"],
        video_mask: Bool[Array, "B L"],
        target: Int[Array, "B T"],
        *,
        language: str,
    ) -> Float[Array, "B T L"]:
        """Attention weights over the segments while `target` is written; all zero for a video without segments."""
        encoded = self.encode(video, video_mask)
        return self._decoder(language)(self._words(language), _inputs(target), *_begin(encoded))[1]

    def step(
        self, memory: Memory, state: State, tokens: Int[Array, "B K"], *, language: str
    ) -> tuple[Float[Array, "B K V"], State]:
        """Logits of the word after `tokens` for K hypotheses a sentence, and their new states [B, K, H]."""
        return self._decoder(language).step(self._words(language), tokens, state, memory)

    def _words(self, language: str) -> Words:
        if language not in self.words:
            raise ConfigError(f"The captioner does not know {language!r}: its languages are {list(self.languages)}.")
        return self.words[language]()

    def _decoder(self, language: str) -> CaptionDecoder:
        return self.decoder if self.shared_decoder else self.decoder[language]


def _begin(encoded):
    return encoded.start, encoded.memory


def _inputs(target):
    return jnp.concatenate([jnp.full_like(target[:, :1], BOS), target[:, :-1]], axis=1)


def fed_back_steps(key: jax.Array, sampling: float | Float[Array, ""], shape: tuple[int, int]) -> Bool[Array, "B T"]:
    """Which steps are given the model's own word: each with probability `sampling`, but never the first, after BOS."""
    chosen = jax.random.uniform(key, shape) < sampling
    return chosen.at[:, :1].set(False)


def captions_loss(
    model: Captioner,
    params: dict,
    batch: dict[str, jax.Array],
    key: jax.Array | None,
    sampling: float | Float[Array, ""] | None = None,
) -> tuple[jax.Array, jax.Array]:
    """Mean negative log-likelihood of all real target words of all languages (EOS included), in nats; their number.

    The paper trains by "MLE loss" (appendix A) and does not weigh the languages: a word counts the same in each.

    Args:
        model, params: the captioner and its parameters.
        batch: `video` [B, L, F], `video_mask` [B, L], and `target_{language}` int32 [B, T] for each language of the
            model: words, EOS, then PAD, or PAD alone for a video without a caption in that language; T is 0 where no
            video of the batch has one.
        key: for dropout and scheduled sampling; None for neither.
        sampling: None for teacher forcing, or the probability of feeding back; a scalar array may be traced.

    Raises:
        DataError: the target of a language is missing.
        ValueError: `sampling` without a key.
    """
    if sampling is not None and key is None:
        raise ValueError("Scheduled sampling draws which words are fed back: captions_loss needs a key for it.")
    rngs = {} if key is None else {"dropout": key, "sampling": jax.random.fold_in(key, 1)}
    targets = _targets(model, batch)
    written = model.apply(
        {"params": params},
        batch["video"],
        batch["video_mask"],
        targets,
        sampling=sampling,
        deterministic=key is None,
        rngs=rngs,
    )
    total, count = jnp.float32(0), jnp.int32(0)
    for language, target in targets.items():
        real = target.T != PAD
        total += jnp.where(real, surprises(written[language].logits, target.T), 0.0).sum()
        count += real.sum()
    return total / jnp.maximum(count, 1), count


def _targets(model, batch):
    missing = [language for language in model.languages if f"target_{language}" not in batch]
    if missing:
        raise DataError(
            f"The captioner knows {', '.join(model.languages)}, but the batch has no captions in {', '.join(missing)}: "
            f"give it {', '.join(f'target_{language}' for language in missing)}, all PAD where there are none."
        )
    targets = {language: batch[f"target_{language}"] for language in model.languages}
    # Captions of one language alone may make a whole batch: the others' width is 0 then, and nothing is to be written.
    return {language: target for language, target in targets.items() if target.shape[1]}


def captions_decoding(
    model: Captioner, params: dict, batch: dict[str, jax.Array], language: str
) -> tuple[Callable[[State, jax.Array], tuple[jax.Array, State]], State]:
    """The step function and first state (one hypothesis a video, [B, 1, H]) that `decoding` searches with."""
    variables = {"params": params}
    encoded = model.apply(variables, batch["video"], batch["video_mask"], method=Captioner.encode)

    def step(state: State, tokens: jax.Array) -> tuple[jax.Array, State]:
        return model.apply(variables, encoded.memory, state, tokens, language=language, method=Captioner.step)

    return step, jax.tree.map(lambda x: x[:, None], encoded.start)


def is_shared(model: Captioner, path: tuple[str, ...]) -> bool:
    """Whether the languages share the parameter at `path` (the keys from the root of the parameters).

    Shared Enc shares the encoder, Shared Enc-Dec the decoder too, Base nothing. With `functools.partial` over the model
    it says what the second stage of training, which fine-tunes the private parameters, leaves alone.
    """
    shared = ("encoder", "decoder") if model.shared_decoder else ("encoder",)
    return len(model.vocabularies) > 1 and path[0] in shared
