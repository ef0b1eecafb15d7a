"""The four translators against NumPy, their sizes and their errors.

Dimension legend
    B  batch      S  source words      T  target words      L  video segments      V  target vocabulary
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vatex_jax.errors import ConfigError
from vatex_jax.models.translator import Translator, decoding, translation_loss

KINDS = ("none", "average", "final", "attention")


def float64(tree):
    return jax.tree.map(lambda x: np.asarray(x, np.float64), tree)


@pytest.mark.parametrize("kind", KINDS)
def test_logits_attention_and_loss_equal_numpy(small, numpy_model, kind):
    model, batch = small.model(kind), small.batch(kind)
    params, given = small.parameters(model), small.inputs(batch)

    @jax.jit
    def forward(params):
        logits = model.apply({"params": params}, **given)
        weights = model.apply({"params": params}, **given, method="attention")
        return logits, weights, translation_loss(model, params, given, None)

    logits, weights, (loss, count) = forward(params)
    assert set(weights) == ({"source", "video"} if kind == "attention" else {"source"})
    surprises = []
    for row, (source, target, video) in enumerate(numpy_model.rows(batch)):
        reference, shares = numpy_model.logits(float64(params), kind, source, target, video)
        np.testing.assert_allclose(logits[row, : len(target)], reference, atol=1e-5)
        for name, share in shares.items():
            np.testing.assert_allclose(weights[name][row, : len(target), : share.shape[1]], share, atol=1e-5)
            np.testing.assert_array_equal(weights[name][row, :, share.shape[1] :], 0)
        surprises.append(numpy_model.surprises(float64(params), kind, source, target, video))
    assert [len(s) for s in surprises] == [6, 1, 2, 4]
    np.testing.assert_allclose(loss, np.concatenate(surprises).mean(), rtol=1e-5)
    assert count == 13
    assert abs(np.concatenate(surprises).mean() - np.mean([s.mean() for s in surprises])) > 0.01


@pytest.mark.parametrize("scaled", [True, False])
def test_the_average_is_scaled_as_the_segments_are(small, numpy_model, scaled):
    model, batch = small.model("average").clone(feature_scale=1.5, scale_average=scaled), small.batch("average")
    params, given = small.parameters(model), small.inputs(batch)
    logits = jax.jit(lambda p: model.apply({"params": p}, **given))(params)
    for row, (source, target, video) in enumerate(numpy_model.rows(batch)):
        seen = video * 1.5 if scaled else video
        reference, _ = numpy_model.logits(float64(params), "average", source, target, seen)
        np.testing.assert_allclose(logits[row, : len(target)], reference, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_start_states(small, numpy_model, kind):
    """Layer by layer [source; video], h from h and c from c."""
    model, batch = small.model(kind), small.batch(kind)
    params, given = small.parameters(model), small.inputs(batch)
    del given["target"]
    encoded = jax.jit(lambda p: model.apply({"params": p}, **given, method="encode"))(params)
    assert len(encoded.start) == 2
    for row, (source, _, video) in enumerate(numpy_model.rows(batch)):
        memories, start = numpy_model.encode(float64(params), kind, source, video)
        assert set(memories) == set(encoded.memories)
        for (h, c), (expected_h, expected_c) in zip(encoded.start, start, strict=True):
            np.testing.assert_allclose(h[row], expected_h, atol=1e-5)
            np.testing.assert_allclose(c[row], expected_c, atol=1e-5)
            assert np.abs(expected_h - expected_c).max() > 1e-2


@pytest.mark.parametrize("kind", KINDS)
def test_teacher_forcing_equals_stepping(small, kind):
    model, batch = small.model(kind), small.batch(kind)
    params, given = small.parameters(model), small.inputs(batch)

    @jax.jit
    def both(params):
        step, state = decoding(model, params, given)
        words = jnp.concatenate([jnp.full((4, 1), 2, jnp.int32), given["target"][:, :-1]], axis=1)

        def one(state, word):
            logits, state = step(state, word[:, None])
            return state, logits[:, 0]

        return jnp.swapaxes(jax.lax.scan(one, state, words.T)[1], 0, 1), model.apply({"params": params}, **given)

    stepped, taught = both(params)
    real = batch["target"] != 0
    np.testing.assert_allclose(stepped[real], taught[real], atol=1e-5)


def published(kind, precision=jnp.float32):
    model = Translator(11_000, 14_000, video=kind, dtype=precision)
    words, video, seen = jnp.zeros((2, 3), jnp.int32), jnp.zeros((2, 4, 1024)), jnp.ones((2, 4), bool)
    video = () if kind == "none" else (video, seen)
    return jax.eval_shape(lambda: model.init(jax.random.key(0), words, words, *video))["params"]


def count(tree):
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


def lstm_size(inputs, hidden):
    return 4 * hidden * (inputs + hidden + 1)


def test_published_sizes():
    """Worked out from the published sizes; one bias an LSTM."""
    params = published("attention")
    bilstms = 2 * lstm_size(512, 256) + 2 * lstm_size(512, 256)
    attending = lstm_size(512 + 512 + 512, 1024) + 2 * 1024 * 512
    assert {name: count(tree) for name, tree in params.items()} == {
        "source_encoder": 11_000 * 512 + bilstms,
        "video_encoder": 1024 * 512 + 512 + bilstms,
        "decoder": 14_000 * 512 + attending + lstm_size(1024, 1024),
        "output": 1024 * 512 + 512 + 512 * 14_000 + 14_000,
    }
    assert count(params) == 47_262_384
    assert {leaf.dtype for leaf in jax.tree.leaves(published("attention", jnp.bfloat16))} == {jnp.dtype("float32")}


def test_sizes_of_the_other_rows():
    video = count(published("attention")["video_encoder"])
    attention = (1024 + 4 * 1024) * 512
    dense = 4 * (512 * 1024 + 1024)
    final = 47_262_384 - attention
    none = final - video + dense
    assert count(published("final")) == final
    assert count(published("none")) == none
    assert count(published("average")) == none + 2 * 4 * 256 * 1024


def test_wrong_configurations_are_explained(small):
    words = jnp.ones((1, 2), jnp.int32)
    with pytest.raises(ConfigError, match=r"model.video is 'atention': it must be one of none, average"):
        Translator(9, 9, video="atention").init(jax.random.key(0), words, words)
    video = (jnp.zeros((1, 2, 7)), jnp.ones((1, 2), bool))
    for kind in ("final", "attention"):
        with pytest.raises(ConfigError, match=r"model.decoder_hidden is 1000.*set it to .* = 1024"):
            Translator(9, 9, video=kind, decoder_hidden=1000).init(jax.random.key(0), words, words, *video)


def test_any_decoder_size_without_a_video_encoder():
    words = jnp.ones((1, 2), jnp.int32)
    model = Translator(9, 9, video="none", embedding=2, source_hidden=3, decoder_hidden=5)
    logits, _ = jax.eval_shape(lambda: model.init_with_output(jax.random.key(0), words, words))
    assert logits.shape == (1, 2, 9)


def test_dropout_by_key(small):
    model = small.model("attention")
    params, given = small.parameters(model), small.inputs(small.batch("attention"))
    loss = jax.jit(lambda key: translation_loss(model, params, given, key)[0])
    a, again, b, off = (loss(key) for key in (jax.random.key(1), jax.random.key(1), jax.random.key(2), None))
    assert a == again
    assert len({float(a), float(b), float(off)}) == 3


def test_bfloat16_close_to_float32(small):
    model = small.model("attention")
    low = model.clone(dtype=jnp.bfloat16)
    params, given = small.parameters(model, scale=0.3), small.inputs(small.batch("attention"))

    def compute(model):
        return jax.jit(jax.value_and_grad(lambda p: translation_loss(model, p, given, None)[0]))(params)

    (loss, gradient), (rough, slope) = compute(model), compute(low)
    assert rough.dtype == jnp.float32
    assert rough != loss
    np.testing.assert_allclose(rough, loss, rtol=0.01)
    total = np.sqrt(sum(np.square(leaf).sum() for leaf in jax.tree.leaves(gradient)))
    gaps = jax.tree.map(lambda a, b: np.asarray(a) - np.asarray(b), gradient, slope)
    gap = np.sqrt(sum(np.square(leaf).sum() for leaf in jax.tree.leaves(gaps)))
    assert gap < 0.05 * total
    assert {leaf.dtype for leaf in jax.tree.leaves(slope)} == {jnp.dtype("float32")}
