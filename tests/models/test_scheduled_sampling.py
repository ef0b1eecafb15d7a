"""Scheduled sampling: what is fed back, how often, and gradients that never flow through the choice.

Dimension legend
    B  batch      T  target words      L  video segments      V  vocabulary
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vatex_jax.models.captioner import captions_loss, fed_back_steps
from vatex_jax.nn.cross_entropy import surprises

KEY = jax.random.key(3)
RNGS = {"dropout": KEY, "sampling": jax.random.fold_in(KEY, 1)}


def close(a, b, **tolerance):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, **tolerance), a, b)


@pytest.mark.parametrize("kind", [pytest.param("base untied", marks=pytest.mark.slow), "shared enc-dec"])
def test_loss_and_gradients_are_those_of_teaching_the_words_fed(captions, kind):
    """With dropout, at 0, 1/2 and 1: as if what was fed back had stood in the captions, constants to the gradient.

    At 0 that is plain teacher forcing.
    """
    model, batch = captions.model(**captions.KINDS[kind]), captions.batch()
    params, (*video, targets) = captions.parameters(model), captions.given(model, captions.batch())

    @jax.jit
    def sampled(params, sampling):
        def loss(p):
            return captions_loss(model, p, batch, KEY, sampling)

        written = model.apply({"params": params}, *video, targets, sampling=sampling, deterministic=False, rngs=RNGS)
        return jax.value_and_grad(loss, has_aux=True)(params), written

    @jax.jit
    def taught(params, fed):
        def loss(p):
            # The last word of these is never read.
            told = {name: jnp.concatenate([words[1:], words[:1]]).T for name, words in fed.items()}
            written = model.apply({"params": p}, *video, told, deterministic=False, rngs=RNGS)
            real = {name: target.T != 0 for name, target in targets.items()}
            losses = [(surprises(written[name].logits, targets[name].T) * real[name]).sum() for name in targets]
            return sum(losses) / sum(mask.sum() for mask in real.values()), written

        return jax.value_and_grad(loss, has_aux=True)(params)

    plain = jax.jit(jax.value_and_grad(lambda p: captions_loss(model, p, batch, KEY), has_aux=True))(params)
    losses = set()
    for sampling in (0.0, 0.5, 1.0):
        ((loss, tokens), gradient), written = sampled(params, sampling)
        (expected, by_teaching), slope = taught(params, {name: w.inputs for name, w in written.items()})
        np.testing.assert_allclose(loss, expected, rtol=1e-6)
        close({n: w.logits for n, w in written.items()}, {n: w.logits for n, w in by_teaching.items()}, atol=1e-5)
        atol = 2e-6 * max(np.abs(leaf).max() for leaf in jax.tree.leaves(slope))
        close(gradient, slope, rtol=1e-5, atol=atol)
        losses.add(float(loss))
        if sampling == 0:
            np.testing.assert_allclose(loss, plain[0][0], rtol=1e-6)
            assert tokens == plain[0][1]
            close(gradient, plain[1], rtol=1e-5, atol=atol)
    assert len(losses) == 3


@pytest.mark.parametrize("kind", ["base untied", "shared enc"])
def test_feeding_back_equals_numpy(captions, numpy_model, kind):
    """At 1/2 and 1, without dropout, each step's input is a true word or the best of the logits before."""
    model, batch = captions.model(**captions.KINDS[kind]), captions.batch()
    params = captions.parameters(model)

    @jax.jit
    def sampled(sampling):
        return model.apply({"params": params}, *captions.given(model, batch), sampling=sampling, rngs={"sampling": KEY})

    p = captions.float64(params)
    for sampling in (0.5, 1.0):
        differing = 0
        for language, written in sampled(sampling).items():
            for row, target, video in captions.captions_of(batch, language):
                inputs = np.asarray(written.inputs[: len(target), row])
                true = np.array([captions.BOS, *target[:-1]])
                fed_back = inputs != true if sampling < 1 else np.arange(len(target)) > 0
                logits, _, fed = captions.write(numpy_model, p, language, target, video, fed_back)
                np.testing.assert_array_equal(inputs, fed)
                np.testing.assert_allclose(written.logits[: len(target), row], logits, atol=2e-5)
                differing += (inputs != true).sum()
        assert differing > 1


def plain_loss(p, batch, language, fed_back):
    """Loss of Shared Enc's decoder as JAX differentiates it by itself: one scan, no taps, the encoder a constant."""
    decoder, words = p[f"decoder_{language}"], p[f"words_{language}"]
    table, scale = words["table"], words["table"].shape[1] ** 0.5
    target, mask = batch[f"target_{language}"], batch["video_mask"]

    def step(carry, inputs):
        h, c, written = carry
        true, back = inputs
        x = table[jnp.where(back, written, true)] * scale
        scores = jnp.where(mask, jnp.einsum("bh,hd,bld->bl", h, decoder["query"], batch["memory"]), -1e30)
        weights = jnp.where(mask, jax.nn.softmax(scores), 0.0)
        context = jnp.einsum("bl,bld->bd", weights, batch["memory"])
        fused = x @ decoder["fusion_word_kernel"] + context @ decoder["fusion_context_kernel"] + decoder["fusion_bias"]
        i, f, g, o = jnp.split(
            fused @ decoder["input_kernel"] + h @ decoder["recurrent_kernel"] + decoder["bias"], 4, axis=-1
        )
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        logits = jnp.tanh(h @ decoder["output_kernel"] + decoder["output_bias"]) @ table.T + words["bias"]
        return (h, c, 5 + jnp.argmax(logits[:, 5:], axis=1).astype(jnp.int32)), logits

    inputs = jnp.concatenate([jnp.full_like(target[:, :1], 2), target[:, :-1]], axis=1)
    logits = jax.lax.scan(step, (*batch["start"], inputs[:, 0]), (inputs.T, fed_back.T))[1]
    log_probs = jnp.take_along_axis(jax.nn.log_softmax(logits), target.T[:, :, None], axis=-1)[:, :, 0]
    return -(log_probs * (target.T != 0)).sum()


def test_gradients_equal_those_of_a_plain_scan(captions):
    model, batch = captions.model(shared_decoder=False, dropout=0.0), captions.batch()
    params = captions.parameters(model)
    encoded = model.apply({"params": params}, batch["video"], batch["video_mask"], method="encode")
    constants = {**batch, "memory": encoded.memory.values, "start": encoded.start}

    def draw(module, sampling):
        # As the captioner draws, language by language.
        return {
            n: fed_back_steps(module.make_rng("sampling"), sampling, batch[f"target_{n}"].shape) for n in ("en", "zh")
        }

    @jax.jit
    def both(params, sampling):
        coins = model.apply({"params": params}, sampling, method=draw, rngs=RNGS)
        ours = jax.value_and_grad(lambda p: captions_loss(model, p, batch, KEY, sampling), has_aux=True)(params)
        reference = jax.value_and_grad(lambda p: sum(plain_loss(p, constants, n, coins[n]) for n in ("en", "zh")))
        return ours, reference(params)

    losses = set()
    for sampling in (0.0, 0.5, 1.0):
        ((loss, tokens), gradient), (expected, slope) = both(params, sampling)
        np.testing.assert_allclose(loss, expected / tokens, rtol=1e-5)
        atol = 2e-6 * max(np.abs(leaf).max() for leaf in jax.tree.leaves(slope)) / tokens
        for name in gradient.keys() - {"encoder"}:
            close(gradient[name], jax.tree.map(lambda x, n=tokens: x / n, slope[name]), rtol=2e-5, atol=atol)
        losses.add(float(loss))
    assert len(losses) == 3


def tell_tale(captions, rows=60, words=20):
    """A captioner that always writes the last word of a vocabulary, and captions that never hold it."""
    model = captions.model()
    params = captions.parameters(model, scale=0.1)
    rng = np.random.default_rng(0)
    batch = {"video": jnp.ones((rows, 2, captions.FEATURES)), "video_mask": jnp.ones((rows, 2), bool)}
    for language, size in captions.VOCABULARIES:
        bias = params[f"words_{language}"]["bias"]
        params[f"words_{language}"]["bias"] = bias.at[size - 1].set(50.0)
        batch[f"target_{language}"] = jnp.asarray(rng.integers(5, size - 1, (rows, words)), jnp.int32)
    return model, params, batch


def test_a_quarter_is_fed_back_by_row_step_and_language(captions):
    model, params, batch = tell_tale(captions)

    @jax.jit
    def sampled(key, sampling):
        written = model.apply(
            {"params": params}, *captions.given(model, batch), sampling=sampling, rngs={"sampling": key}
        )
        return [written[n].inputs == size - 1 for n, size in captions.VOCABULARIES]

    en, zh = (np.asarray(x) for x in sampled(KEY, 0.25))
    for coins in (en, zh):
        assert not coins[0].any()  # BOS is always the first
        drawn = coins[1:]
        assert abs(drawn.mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / drawn.size)
        # Neither all steps of a row nor all rows of a step are decided at once.
        assert drawn.mean(0).std() < 0.2
        assert drawn.mean(1).std() < 0.12
    for other in (zh, np.asarray(sampled(jax.random.key(4), 0.25)[0])):
        both = (en & other)[1:].mean()
        assert abs(both - 0.25**2) < 4 * np.sqrt(0.0625 * 0.9375 / en[1:].size)
    np.testing.assert_array_equal(sampled(KEY, 0.25)[0], en)
    assert not np.any(sampled(KEY, 0.0))
    assert np.all(np.asarray(sampled(KEY, 1.0))[:, 1:])


def test_only_words_are_fed_back(captions):
    """Each special token the most probable by far, true captions full of EOS and PAD: all inputs are words."""
    model, params, batch = tell_tale(captions, rows=4, words=6)
    for language in model.languages:
        bias = params[f"words_{language}"]["bias"]
        params[f"words_{language}"]["bias"] = (bias * 0).at[:5].set(jnp.array([90.0, 80.0, 70.0, 85.0, 75.0]))
        batch[f"target_{language}"] = batch[f"target_{language}"].at[:, 2].set(3).at[:, 3:].set(0)
    written = model.apply({"params": params}, *captions.given(model, batch), sampling=1.0, rngs={"sampling": KEY})
    for language, size in captions.VOCABULARIES:
        inputs = np.asarray(written[language].inputs)
        assert (inputs[0] == 2).all()
        assert ((inputs[1:] >= 5) & (inputs[1:] < size)).all()


def test_draws_by_shape_and_probability():
    coins = np.asarray(fed_back_steps(KEY, 0.25, (500, 21)))
    assert coins.shape == (500, 21)
    assert not coins[:, 0].any()
    assert abs(coins[:, 1:].mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 10_000)
    assert not fed_back_steps(KEY, 0.0, (50, 9)).any()
    assert fed_back_steps(KEY, 1.0, (50, 9))[:, 1:].all()


@pytest.mark.slow
def test_the_vocabulary_is_multiplied_with_once(captions):
    """In the compiled step a product gives logits in the loop alone; its two gradients are formed after the loop."""
    size, rows, words = 1013, 3, 7
    model = captions.model(vocabularies=(("en", size),))
    batch = {"video": jnp.ones((rows, 2, captions.FEATURES)), "video_mask": jnp.ones((rows, 2), bool)}
    batch["target_en"] = jnp.full((rows, words), 6)
    params = model.init(KEY, *captions.given(model, batch))["params"]
    step = jax.jit(jax.value_and_grad(lambda p, s: captions_loss(model, p, batch, KEY, s)[0]))
    text = step.lower(params, 0.25).compile().as_text()
    products = [line for line in text.splitlines() if " dot(" in line and str(size) in line.split(" dot(")[0]]
    shapes = sorted(re.search(r"f32\[([\d,]+)\]", line)[1] for line in products)
    assert shapes == [f"{size},10", f"{rows},{size}"]


def test_drawing_needs_a_key(captions):
    model, batch = captions.model(), captions.batch()
    with pytest.raises(ValueError, match="needs a key"):
        captions_loss(model, captions.parameters(model), batch, None, 0.25)
