"""The operations counted by hand, from the traced model, and by XLA; the sentences' lengths."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.workload import (
    CaptionerSizes,
    ModelSizes,
    captioning_flops,
    random_captions,
    random_examples,
    real_lengths,
    training_flops,
    translation_flops,
)
from vatex_jax.models.captioner import Captioner
from vatex_jax.models.translator import Translator

SMALL = ModelSizes(
    source_vocabulary=23,
    target_vocabulary=29,
    feature=7,
    embedding=6,
    source_hidden=3,
    video_hidden=2,
    video_projection=5,
    decoder_hidden=10,
    layers=2,
)


def _forward(sizes, batch, source, target, segments):
    """The forward pass as a function of the parameters, and abstract parameters."""
    model = Translator(**sizes.translator_fields(), dropout=0.0)
    inputs = (
        jnp.ones((batch, source), jnp.int32),
        jnp.ones((batch, target), jnp.int32),
        jnp.ones((batch, segments, sizes.feature)),
        jnp.ones((batch, segments), bool),
    )
    variables = jax.eval_shape(model.init, jax.random.key(0), *inputs)
    return lambda variables: model.apply(variables, *inputs), variables


def _traced_flops(jaxpr):
    """2 x multiply-adds of every dot_general of a traced program, scans' bodies by their length."""
    total = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            total += 2 * equation.outvars[0].aval.size * int(np.prod([shape[axis] for axis in contracted]))
        inner = sum(_traced_flops(sub) for value in equation.params.values() for sub in _jaxprs(value))
        total += inner * (equation.params["length"] if equation.primitive.name == "scan" else 1)
    return total


def _jaxprs(value):
    """Programs within a parameter of an equation; they come closed or open."""
    value = getattr(value, "jaxpr", value)
    return [value] if hasattr(value, "eqns") else []


def test_every_product_of_one_word_each_by_hand():
    """One source word, one target word, one segment: each entry is 2 x rows x columns of its matrices."""
    assert translation_flops(SMALL, [1], [1], [1]) == {
        "source encoder": 2 * (2 * (6 + 3) * 12 + 2 * (6 + 3) * 12),
        "video projection": 2 * 7 * 5,
        "video encoder": 2 * (2 * (5 + 2) * 8 + 2 * (4 + 2) * 8),
        "decoder, first layer": 2 * (6 + 6 + 4 + 10) * 40,
        "decoder, upper layers": 2 * 20 * 40,
        "output, hidden": 2 * 10 * 6,
        "output, vocabulary": 2 * 6 * 29,
        "source attention, query": 2 * 10 * 6,
        "source attention, scores and context": 2 * 2 * 6,
        "video attention, query": 2 * 10 * 4,
        "video attention, scores and context": 2 * 2 * 4,
    }


def test_lengths_count_where_they_should():
    """Two sentences: encoders count their own positions, the decoder target words, attention pairs in a sentence."""
    one, several = translation_flops(SMALL, [1], [1], [1]), translation_flops(SMALL, [3, 1], [2, 5], [4, 1])
    assert several["source encoder"] == 4 * one["source encoder"]
    assert several["video encoder"] == 5 * one["video encoder"]
    assert several["output, vocabulary"] == 7 * one["output, vocabulary"]
    pair = "attention, scores and context"
    assert several[f"source {pair}"] == (3 * 2 + 1 * 5) * one[f"source {pair}"]
    assert several[f"video {pair}"] == (4 * 2 + 1 * 5) * one[f"video {pair}"]
    assert training_flops(SMALL, np.array([[3, 2, 4], [1, 5, 1]])) == 3 * sum(several.values())


@pytest.mark.parametrize("sizes", [SMALL, ModelSizes()], ids=["small", "published"])
def test_equals_the_products_of_the_traced_model(sizes):
    """Without padding, what we count is what the model multiplies, to the last operation."""
    batch, source, target, segments = 3, 5, 4, 6
    forward, variables = _forward(sizes, batch, source, target, segments)
    traced = _traced_flops(jax.make_jaxpr(forward)(variables).jaxpr)
    assert traced == sum(translation_flops(sizes, [source] * batch, [target] * batch, [segments] * batch).values())


def test_agrees_with_xla():
    """XLA counts a loop's body once, so one step each; it also counts what is no product: a little, at these sizes."""
    forward, variables = _forward(ModelSizes(), 32, 1, 1, 1)
    cost = jax.jit(forward).lower(variables).cost_analysis()
    ours = sum(translation_flops(ModelSizes(), [1] * 32, [1] * 32, [1] * 32).values())
    assert ours == pytest.approx(cost["flops"], rel=0.03)


def test_published_sizes_are_the_translators_defaults():
    fields = ModelSizes().translator_fields()
    defaults = Translator(source_vocabulary=11_000, target_vocabulary=14_000)
    assert fields == {name: getattr(defaults, name) for name in fields}


def test_real_lengths_are_spread_as_documented():
    lengths = real_lengths(20_000, 0)
    assert lengths.min() >= 1
    assert lengths.max() <= 40
    np.testing.assert_allclose(lengths.mean(0), [15, 14], atol=0.15)
    np.testing.assert_allclose(lengths.std(0), [5, 5.5], atol=0.15)
    assert np.corrcoef(lengths.T)[0, 1] == pytest.approx(0.85, abs=0.02)


def test_random_examples_have_the_lengths_asked_for_and_no_special_words():
    examples = random_examples(SMALL, np.array([[3, 1], [1, 4]]), 2, 0)
    assert examples.lengths().tolist() == [[3, 2, 2], [1, 5, 2]]
    assert all((ids >= 5).all() and (ids < 23).all() for ids in examples.source)
    assert all((ids[:-1] >= 5).all() and (ids[:-1] < 29).all() and ids[-1] == 3 for ids in examples.target)


CAPTIONER = CaptionerSizes(
    (("en", 23), ("zh", 29)), 7, embedding=6, video_projection=5, video_hidden=4, fusion=3, decoder_hidden=8
)


def test_every_product_of_a_caption_by_hand():
    """A video of one segment with one word in English; a video of two with none in English and three in Chinese."""
    assert captioning_flops(CAPTIONER, {"en": [1, 0], "zh": [0, 0]}, [1, 0]) == {
        "video projection": 2 * 7 * 5,
        "video encoder": 2 * 2 * (5 + 4) * 16,
        "attention, query": 2 * 8 * 8,
        "attention, scores and context": 2 * 2 * 8,
        "fusion": 2 * (6 + 8) * 3,
        "decoder": 2 * (3 + 8) * 32,
        "output, hidden": 2 * 8 * 6,
        "output, vocabulary": 2 * 6 * 23,
    }
    several = captioning_flops(CAPTIONER, {"en": [1, 0], "zh": [0, 3]}, [1, 2])
    assert several["video projection"] == 3 * 2 * 7 * 5
    assert several["decoder"] == 4 * 2 * (3 + 8) * 32
    assert several["attention, scores and context"] == (1 * 1 + 3 * 2) * 2 * 2 * 8
    assert several["output, vocabulary"] == 2 * 6 * (23 + 3 * 29)


@pytest.mark.parametrize("sizes", [CAPTIONER, CaptionerSizes()], ids=["small", "published"])
def test_caption_products_equal_those_of_the_traced_model(sizes):
    batch, words, segments = 3, {"en": 5, "zh": 4}, 6
    model = Captioner(**sizes.captioner_fields(), dropout=0.0)
    targets = {name: jnp.ones((batch, count), jnp.int32) for name, count in words.items()}
    inputs = jnp.ones((batch, segments, sizes.feature)), jnp.ones((batch, segments), bool), targets
    variables = jax.eval_shape(model.init, jax.random.key(0), *inputs)
    traced = _traced_flops(jax.make_jaxpr(lambda v: model.apply(v, *inputs))(variables).jaxpr)
    counted = captioning_flops(sizes, {name: [n] * batch for name, n in words.items()}, [segments] * batch)
    assert traced == sum(counted.values())


def test_published_sizes_are_the_captioners_defaults():
    fields = CaptionerSizes().captioner_fields()
    defaults = Captioner((("en", 11_000), ("zh", 14_140)))
    assert fields == {name: getattr(defaults, name) for name in fields}


def test_random_captions_have_the_lengths_asked_for():
    batch = random_captions(CAPTIONER, np.array([[3, 1], [1, 4]]), 2, 0)
    assert batch["video"].shape == (2, 2, 7)
    for language, words in (("en", [3, 1]), ("zh", [1, 4])):
        target = batch[f"target_{language}"]
        assert target.dtype == np.int32
        assert (target >= 5).sum(1).tolist() == words
        assert target[np.arange(2), words].tolist() == [3, 3]
        assert (target != 0).sum(1).tolist() == [count + 1 for count in words]
