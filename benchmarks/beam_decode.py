"""Beam search against PyTorch, on the CPU: `python benchmarks/beam_decode.py`.

What is timed: 256 sentences with 32 segments each, from ids in host memory to the best output of each in host memory,
beam 5, at most 40 words, score = mean log-probability; published sizes, vocabularies of 11,000 and 14,000, float32.

Ours is the library's jitted, batched search over chunks of sentences of like length, chunk-making included,
compilation not. The peer (torch_beam.py) searches one sentence at a time with its hypotheses as a batch, in inference
mode, with the same parameters, threads and stopping rule. Both are run in turn after a warm-up; figures are medians.

Random parameters would spread their probability evenly and never stop, so two things are done to both sides alike:

- embeddings get a standard deviation of 1, and the vocabulary's kernel is scaled until its logits have one of 4: the
  best word then has a probability of some tenths, as after training, and depends on the words before it;
- each sentence has a length n drawn as for training (mean 14), and at step t the logit of EOS gets
  22 + 3 (t - n) added: rare well before n words, likely near it, all but sure after.

Outputs must be the same, but where the scores of two different outputs differ by less than 1e-4 (`different` counts
all, `different_beyond_1e-4` must be 0). A beam of 1 must equal greedy decoding (`greedy_differs` must be 0).
"""

import dataclasses
import pathlib
import statistics
import sys
from typing import Any

if __name__ in ("__main__", "__mp_main__"):
    # Run as a script, Python looks for modules in this folder; they are found from the one above.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

import numpy as np

from benchmarks import timing
from benchmarks.workload import MAX_WORDS, SEGMENTS, ModelSizes, random_examples, real_lengths
from vatex_jax.data.batching import decoding_batches

CHUNK = 32
"""Sentences our search takes at once."""

EMBEDDING_DEVIATION, LOGIT_DEVIATION = 1.0, 4.0
EOS_AT_LENGTH, EOS_SLOPE = 22.0, 3.0
CLOSE = 1e-4
EOS = 3

Found = tuple[np.ndarray, np.ndarray]
"""Tokens int32 [N, T] (words, EOS, PAD) and scores float32 [N]."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is run; the defaults are the benchmark, smaller ones are for tests."""

    sizes: ModelSizes = dataclasses.field(default_factory=ModelSizes)
    sentences: int = 256
    beam: int = 5
    words: int = MAX_WORDS
    segments: int = SEGMENTS
    chunk: int = CHUNK
    rounds: int = 2

    def examples(self) -> Any:
        return random_examples(self.sizes, self.lengths(), self.segments, 3)

    def lengths(self) -> np.ndarray:
        """int64 [N, 2]; the second is n of the EOS schedule."""
        return real_lengths(self.sentences, 3, self.words)


class OurDecoding:
    """Our side: the jitted search of `vatex_jax.decoding` on one CPU device."""

    def __init__(self, plan: Plan):
        import jax

        from vatex_jax.models.translator import Translator
        from vatex_jax.training.allocation import keep_freed_memory
        from vatex_jax.training.sharding import make_mesh

        keep_freed_memory()  # as every run of ours does
        jax.config.update("jax_platforms", "cpu")
        self._plan, self._examples = plan, plan.examples()
        self._model = Translator(**plan.sizes.translator_fields(), dropout=0.0)
        self._params = jax.device_put(self._trained_like())
        self._mesh = make_mesh()
        self._decoders: dict[str, Any] = {}

    def params(self) -> dict:
        """For the peer, as host arrays."""
        import jax

        return jax.tree.map(np.asarray, self._params)

    def search(self, beam: int) -> Found:
        """Beam search over all sentences."""
        from vatex_jax.decoding.beam import beam_search

        return self._decode(
            f"beam {beam}", lambda step, state: beam_search(step, state, beam=beam, max_words=self._plan.words)
        )

    def greedy(self) -> Found:
        from vatex_jax.decoding.sampling import greedy

        return self._decode("greedy", lambda step, state: greedy(step, state, max_words=self._plan.words))

    def keep_compiled(self) -> None:
        """Keeps compiled programs for the next run."""
        from vatex_jax.training.compilation import enable_compilation_cache

        enable_compilation_cache()

    def peak_memory_gb(self) -> float:
        return timing.peak_memory_gb()

    def _decode(self, name: str, search: Any) -> Found:
        from vatex_jax.decoding.batched import make_decoder
        from vatex_jax.training.sharding import shard_batch

        if name not in self._decoders:
            self._decoders[name] = make_decoder(self._begin, search, self._mesh)
        count = len(self._examples)
        tokens, scores = np.zeros((count, self._plan.words + 1), np.int32), np.zeros(count, np.float32)
        ends = self._plan.lengths()[:, 1].astype(np.float32)
        for rows, batch in decoding_batches(self._examples, self._plan.chunk):
            batch["end"] = np.zeros(self._plan.chunk, np.float32)
            batch["end"][: len(rows)] = ends[rows]
            found = self._decoders[name](self._params, shard_batch(self._mesh, batch))
            tokens[rows], scores[rows] = found.tokens[: len(rows), 0], found.scores[: len(rows), 0]
        return tokens, scores

    def _begin(self, params: Any, batch: dict[str, Any]) -> Any:
        """`decoding` of the model, with the EOS schedule on top of its logits."""
        import jax.numpy as jnp

        from vatex_jax.models.translator import decoding

        model_step, first = decoding(self._model, params, batch)

        def step(state: Any, tokens: Any) -> Any:
            model_state, late = state
            logits, model_state = model_step(model_state, tokens)
            return logits.at[:, :, EOS].add(EOS_AT_LENGTH + EOS_SLOPE * late), (model_state, late + 1)

        return step, (first, -jnp.asarray(batch["end"])[:, None])

    def _trained_like(self) -> dict:
        """Random parameters with the deviations that the module's docstring names."""
        import jax
        import jax.numpy as jnp

        rows = range(min(4, len(self._examples)))
        source, target = (
            np.stack([np.resize(words[row], self._plan.words) for row in rows])
            for words in (self._examples.source, self._examples.target)
        )
        video = np.stack([self._examples.features[int(self._examples.video[row])] for row in rows])
        inputs = (source, target, video, np.ones(video.shape[:2], bool))
        params = jax.jit(self._model.init)(jax.random.key(0), *map(jnp.asarray, inputs))["params"]
        for words in (params["source_encoder"]["words"], params["decoder"]["words"]):
            words["table"] = words["table"] * (EMBEDDING_DEVIATION / words["table"].std())
        logits = jax.jit(self._model.apply)({"params": params}, *map(jnp.asarray, inputs))
        output = params["output"]["words"]
        output["kernel"] = output["kernel"] * (LOGIT_DEVIATION / logits.std())
        return params


class PeerDecoding:
    """The peer's side: one sentence after the other, in PyTorch with as many threads."""

    def __init__(self, plan: Plan, params: dict):
        import torch

        from benchmarks.torch_translator import TorchTranslator, copy_flax_parameters

        torch.set_num_threads(timing.threads())
        self._plan, self._examples = plan, plan.examples()
        self._model = TorchTranslator(plan.sizes, 0.0).eval()
        copy_flax_parameters(params, self._model)

    def search(self, beam: int, count: int | None = None) -> Found:
        """Beam search over all sentences, or the first `count`."""
        from benchmarks.torch_beam import beam_search

        count = len(self._examples) if count is None else count
        words = self._plan.words
        tokens, scores = np.zeros((count, words + 1), np.int32), np.zeros(count, np.float32)
        steps, ends = np.arange(words + 1, dtype=np.float32), self._plan.lengths()[:, 1]
        for row in range(count):
            video = self._examples.features[int(self._examples.video[row])]
            bias = EOS_AT_LENGTH + EOS_SLOPE * (steps - ends[row])
            output, scores[row] = beam_search(
                self._model, self._examples.source[row], video, bias, beam=beam, max_words=words
            )
            tokens[row, : len(output)] = output
        return tokens, scores

    def peak_memory_gb(self) -> float:
        return timing.peak_memory_gb()


def run(plan: Plan) -> dict[str, Any]:
    """Measures and compares everything; the keys of the line of results."""
    found = {}
    with timing.Side(OurDecoding, plan) as ours, timing.Side(PeerDecoding, plan, ours.call("params")) as peer:
        ours.call("keep_compiled")

        def search(name: str, side: timing.Side) -> float:
            seconds, found[name] = side.timed("search", plan.beam)
            return seconds

        ours.call("search", plan.beam)
        peer.call("search", plan.beam, min(8, plan.sentences))
        seconds = timing.in_turn(
            {"ours": lambda: search("ours", ours), "peer": lambda: search("peer", peer)}, plan.rounds
        )
        memory = {"peak_memory_gb": ours.call("peak_memory_gb"), "peer_peak_memory_gb": peer.call("peak_memory_gb")}
        greedy, narrow = ours.call("greedy")[0], ours.call("search", 1)[0]
    median = {name: statistics.median(values) for name, values in seconds.items()}
    words = (found["ours"][0] > EOS).sum(1)
    return {
        "unit": "s",
        **median,
        "speedup": median["peer"] / median["ours"],
        "sentences": plan.sentences,
        "mean_words": float(words.mean()),
        "deviation_words": float(words.std()),
        **differences(found["ours"], found["peer"]),
        "greedy_differs": int((greedy != narrow).any(1).sum()),
        **memory,
    }


def differences(ours: Found, peer: Found) -> dict[str, Any]:
    """How many outputs differ, how many of those by more than rounding in their scores, and the scores' largest gap."""
    different = (ours[0] != peer[0]).any(1)
    gaps = np.abs(ours[1] - peer[1])
    return {
        "different": int(different.sum()),
        "different_beyond_1e-4": int((different & (gaps >= CLOSE)).sum()),
        "largest_score_gap": float(gaps.max()),
    }


def table(results: dict[str, Any]) -> str:
    """The figures for people."""
    return "\n".join(
        [
            f"{results['sentences']} sentences, outputs of {results['mean_words']:.1f} words on average "
            f"(standard deviation {results['deviation_words']:.1f})",
            f"ours {results['ours']:.2f} s, peer {results['peer']:.2f} s: {results['speedup']:.2f}x",
            f"different outputs {results['different']}, of them with scores 1e-4 apart or more: "
            f"{results['different_beyond_1e-4']}; largest gap of scores {results['largest_score_gap']:.1e}",
            f"beam 1 differs from greedy decoding in {results['greedy_differs']} sentences",
            f"peak memory {results['peak_memory_gb']:.2f} GB, peer {results['peer_peak_memory_gb']:.2f} GB",
        ]
    )


if __name__ == "__main__":
    timing.require_torch()
    figures = run(Plan())
    print(table(figures))
    timing.print_line("beam_decode", figures)
