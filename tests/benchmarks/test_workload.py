"""The operations counted by hand, from the traced model, and by XLA; the sentences' lengths."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.workload import ModelSizes, random_examples, real_lengths, training_flops, translation_flops
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
