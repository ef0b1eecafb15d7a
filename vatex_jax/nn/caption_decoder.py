"""The captioner's decoder: one LSTM over each word and what attention finds in the video (VaTeX, equations 1 and 2).

Dimension legend
    B  batch      T  target words      L  video segments      H  hidden, and size of what is attended to
    E  embedding      F  fusion      V  vocabulary      K  hypotheses a sentence (decoding only)
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int

from vatex_jax.nn.attention import attend
from vatex_jax.nn.decoders import Memory
from vatex_jax.nn.embedding import Words
from vatex_jax.nn.lookups import scan_lookups
from vatex_jax.nn.lstm import State, forget_one, input_kernel_init, lstm_cell, recurrent_kernel_init
from vatex_jax.nn.products import einsum, plain_product, scan_products


class Written(NamedTuple):
    """What the decoder makes of whole sentences, time first as the loop stacks it: the logits are too large to turn.

    Attributes:
        logits: float32 [T, B, V].
        inputs: int32 [T, B]; the words each step was given.
    """

    logits: jax.Array
    inputs: jax.Array


class CaptionDecoder(nn.Module):
    """c_t = softmax(h_{t-1} W V^T) V; h_t = LSTM(Linear([y_{t-1}; c_t]), h_{t-1}); Linear, tanh, dropout; the words.

    The Linear before the LSTM is inferred from the parameter counts of Table 4; nothing says that it is followed by a
    nonlinearity, so it is not. It has no parameter of any vocabulary: languages share it, or have one each.
    """

    embedding: int
    fusion: int
    hidden: int
    dropout: float
    dtype: DTypeLike = jnp.float32

    def setup(self):
        matrix = nn.initializers.xavier_uniform()
        self.query = self.param("query", matrix, (self.hidden, self.hidden))
        # Each half by its own size: else the wide context would drown the word.
        self.fusion_word = self.param("fusion_word_kernel", matrix, (self.embedding, self.fusion))
        self.fusion_context = self.param("fusion_context_kernel", matrix, (self.hidden, self.fusion))
        self.fusion_bias = self.param("fusion_bias", nn.initializers.zeros, (self.fusion,))
        self.input_kernel = self.param("input_kernel", input_kernel_init, (self.fusion, 4 * self.hidden))
        self.recurrent_kernel = self.param("recurrent_kernel", recurrent_kernel_init, (self.hidden, 4 * self.hidden))
        self.bias = self.param("bias", forget_one, (4 * self.hidden,))
        self.output_kernel = self.param("output_kernel", matrix, (self.hidden, self.embedding))
        self.output_bias = self.param("output_bias", nn.initializers.zeros, (self.embedding,))

    def __call__(
        self,
        words: Words,
        inputs: Int[Array, "B T"],
        start: State,
        memory: Memory,
        *,
        deterministic: bool = True,
    ) -> tuple[Written, Float[Array, "B T L"]]:
        """Teacher forcing, and the attention; the products of words and outputs are done for all steps at once."""
        inputs = inputs.T
        read, heard = self._factors(words, inputs, deterministic)
        x = jnp.take(words.table, inputs, axis=0) * read
        word_parts = _rows("be,ef->bf", x, self.fusion_word, self.dtype) + self.fusion_bias
        constants = self._constants(memory)
        gate_bias = self._every_step(self.bias, inputs)
        _, (hs, weights) = scan_products(
            _step, constants, memory.mask, start, (word_parts, gate_bias), dtype=self.dtype
        )
        sums = _rows("bh,he->be", hs, self.output_kernel, self.dtype) + self.output_bias
        return Written(self._logits(words, jnp.tanh(sums) * heard), inputs), jnp.swapaxes(weights, 0, 1)

    def scheduled_sampling(
        self,
        words: Words,
        inputs: Int[Array, "B T"],
        fed_back: Bool[Array, "B T"],
        first_word: int,
        start: State,
        memory: Memory,
        *,
        deterministic: bool = True,
    ) -> Written:
        """Scheduled sampling: where `fed_back` is true, a step is given the model's own word of the step before.

        That word is the most probable by the same logits the loss is made of (so under the dropout of that step), among
        the tokens from `first_word` on. It is a constant to the gradient.

        The loop multiplies with the vocabulary, and nothing ever flows back through that: its gradients are two
        products after the loop, of the same numbers. At `fed_back` all false the result is teacher forcing's, dropout
        included.
        """
        inputs, fed_back = inputs.T, fed_back.T
        read, heard = self._factors(words, inputs, deterministic)
        constants = {**self._constants(memory), "word": self.fusion_word, "output": self.output_kernel}
        biases = [self._every_step(bias, inputs) for bias in (self.fusion_bias, self.bias, self.output_bias)]
        fixed = (memory.mask, words.matrix.astype(self.dtype), words.bias)
        step = partial(_sampling_step, first_word=first_word, dtype=self.dtype)
        _, (sums, logits), fed = scan_lookups(
            step,
            words.table,
            constants,
            jax.lax.stop_gradient(fixed),
            (start, inputs[0]),
            (inputs, fed_back, read, heard, biases),
            shape=inputs.shape,
            dtype=self.dtype,
        )
        return Written(_computed_before(self._logits(words, jnp.tanh(sums) * heard), logits), fed)

    def step(
        self, words: Words, tokens: Int[Array, "B K"], state: State, memory: Memory
    ) -> tuple[Float[Array, "B K V"], State]:
        """Logits of the word after `tokens` for K hypotheses of each sentence, and their new states [B, K, H]."""
        x = jnp.take(words.table, tokens, axis=0) * words.scale
        word_part = _rows("be,ef->bf", x, self.fusion_word, self.dtype) + self.fusion_bias
        product = plain_product(self._constants(memory), self.dtype)
        state, (h, _) = _step(product, memory.mask[:, None], state, (word_part, self.bias))
        sums = _rows("bh,he->be", h, self.output_kernel, self.dtype) + self.output_bias
        return self._logits(words, jnp.tanh(sums)), state

    def _logits(self, words, x):
        return _rows("be,ve->bv", x, words.matrix, self.dtype) + words.bias

    def _constants(self, memory):
        return {
            "video_query": self.query,
            "video_memory": memory.values,
            "context": self.fusion_context,
            "gates": jnp.concatenate([self.input_kernel, self.recurrent_kernel]),
        }

    def _every_step(self, bias, inputs):
        """A bias as an input of every step: a scan's constants have gradients through products alone."""
        return jnp.broadcast_to(bias, (inputs.shape[0], *bias.shape))

    def _factors(self, words, inputs, deterministic):
        """What is multiplied with the words read and with the outputs before the vocabulary: dropout and scale.

        Dropout is drawn for all steps at once and by position alone, so that a word is dropped alike whoever chose it.
        """
        if deterministic or self.dropout == 0:
            ones = jnp.ones((inputs.shape[0], 1, 1))
            return ones * words.scale, ones
        keep = 1.0 - self.dropout
        shape = (*inputs.shape, self.embedding)
        read, heard = (jax.random.bernoulli(self.make_rng("dropout"), keep, shape) for _ in range(2))
        return read * (words.scale / keep), heard / keep


def _rows(spec, x, matrix, dtype):
    """A product of the last axis, the axes before it as rows: XLA copies an array it contracts over two axes."""
    product = einsum(spec, x.reshape(-1, x.shape[-1]), matrix, dtype)
    return product.reshape(*x.shape[:-1], product.shape[-1])


def _step(product, mask, state, inputs):
    word_part, gate_bias = inputs
    h, c = state
    beams = "k" * (h.ndim - 2)
    context, weights = attend(product, h, mask, "video")
    fused = word_part + product(f"b{beams}h,hf->b{beams}f", context, "context")
    gates = product(f"b{beams}i,ig->b{beams}g", jnp.concatenate([fused, h], axis=-1), "gates") + gate_bias
    h, c = lstm_cell(gates, c)
    return (h, c), (h, weights)


def _sampling_step(product, look, fixed, carry, inputs, *, first_word, dtype):
    mask, matrix, word_bias = fixed
    state, written = carry
    word, fed_back, read, heard, (fusion_bias, gate_bias, output_bias) = inputs
    x = look(jnp.where(fed_back, written, word)) * read
    word_part = product("be,ef->bf", x, "word") + fusion_bias
    state, (h, _) = _step(product, mask, state, (word_part, gate_bias))
    sums = product("bh,he->be", h, "output") + output_bias
    x = jax.lax.stop_gradient(jnp.tanh(sums) * heard)
    logits = plain_product({"matrix": matrix}, dtype)("be,ve->bv", x, "matrix") + word_bias
    return (state, most_probable(logits, first_word)), (sums, logits)


def most_probable(logits: Float[Array, "*batch V"], first: int) -> Int[Array, "*batch"]:
    """The token of the largest logit among those from `first` on, the lowest among equals.

    A maximum and a search for it are two vectorised passes, where `argmax` takes its way through one by one.
    """
    logits = logits[..., first:]
    places = jnp.arange(logits.shape[-1], dtype=jnp.int32)
    largest = logits == logits.max(-1, keepdims=True)
    return jnp.where(largest, places, logits.shape[-1]).min(-1).astype(jnp.int32) + first


@jax.custom_vjp
def _computed_before(after, before):
    """The value `before`, with the gradient of `after`, which is the same computed once more.

    Nothing but its gradient needs `after`, so the compiler drops its computation.
    """
    del after
    return before


_computed_before.defvjp(lambda after, before: (before, None), lambda _, cotangent: (cotangent, None))
