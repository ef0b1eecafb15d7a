"""The captioners of Table 4 against NumPy, their sizes, what they share, padding, search, and their errors.

Dimension legend
    B  batch      T  target words      L  video segments      V  vocabulary
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vatex_jax.decoding.beam import beam_search
from vatex_jax.decoding.sampling import greedy
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.models.captioner import Captioner, captions_decoding, captions_loss, is_shared
from vatex_jax.nn.embedding import WordLayers

KINDS = ("base", "base untied", "shared enc", "shared enc-dec")
LENGTHS = ((5, 3, 4), (1, 2, 1), (3, 0, 0), (0, 4, 3), (2, 1, 2))


@functools.partial(jax.jit, static_argnums=0)
def loss_and_gradient(model, params, batch):
    return jax.value_and_grad(lambda p: captions_loss(model, p, batch, None), has_aux=True)(params)


@pytest.mark.parametrize("kind", [*KINDS, "base unscaled", "base untied unscaled"])
def test_logits_attention_and_loss_equal_numpy(captions, numpy_model, kind):
    """Rows without a caption in one language, and one without segments, among the others."""
    model, batch = captions.model(**captions.KINDS[kind]), captions.batch()
    params, given = captions.parameters(model), captions.given(model, captions.batch())

    @jax.jit
    def forward(params):
        variables = {"params": params}
        shares = {
            name: model.apply(variables, *given[:2], given[2][name], language=name, method="attention")
            for name in model.languages
        }
        return model.apply(variables, *given), shares, captions_loss(model, params, batch, None)

    written, shares, (loss, count) = forward(params)
    p, surprises = captions.float64(params), []
    for language in model.languages:
        for row, target, video in captions.captions_of(batch, language):
            logits, weights, inputs = captions.write(
                numpy_model, p, language, target, video, scaled=model.scale_embedding
            )
            real = len(target)
            np.testing.assert_allclose(written[language].logits[:real, row], logits, atol=2e-5)
            np.testing.assert_array_equal(written[language].inputs[:real, row], inputs)
            np.testing.assert_allclose(shares[language][row, :real, : len(video)], weights, atol=1e-5)
            np.testing.assert_array_equal(shares[language][row, :, len(video) :], 0)
            surprises.append(captions.surprises(logits, target))
    assert sum(map(len, surprises)) == count == {"base": 10, "base untied": 11}.get(kind.removesuffix(" unscaled"), 21)
    np.testing.assert_allclose(loss, np.concatenate(surprises).mean(), rtol=1e-5)
    assert abs(np.concatenate(surprises).mean() - np.mean([s.mean() for s in surprises])) > 0.01


def published(**fields):
    model = Captioner(**{"vocabularies": (("en", 11_000), ("zh", 14_140)), **fields})
    targets = {name: jnp.zeros((2, 3), jnp.int32) for name in model.languages}
    arguments = jnp.zeros((2, 4, 1024)), jnp.ones((2, 4), bool), targets
    return jax.eval_shape(lambda: model.init(jax.random.key(0), *arguments))["params"]


def count(tree):
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


def test_published_sizes():
    """Worked out from the published sizes; one bias an LSTM; Table 4's 26.3M."""
    params = published()
    assert {name: count(tree) for name, tree in params.items()} == {
        "encoder": (1024 + 1) * 512 + 2 * 4 * 512 * (512 + 512 + 1),
        "decoder": 1024 * 1024 + (1536 + 1) * 512 + 4 * 1024 * (512 + 1024 + 1) + (1024 + 1) * 512,
        "words_en": 11_000 * 513,
        "words_zh": 14_140 * 513,
    }
    assert (count(params["encoder"]), count(params["decoder"])) == (4_723_200, 8_655_872)
    assert count(params) == 26_275_892


def test_sizes_of_the_other_rows():
    """Table 4: 34.9M of Shared Enc; 39.7M of two Base models, 52.5M without weight tying."""
    assert count(published(shared_decoder=False)) == 26_275_892 + 8_655_872 == 34_931_764
    for tied, both in ((True, 39_654_964), (False, 52_526_644)):
        base = [published(vocabularies=(language,), tied=tied) for language in (("en", 11_000), ("zh", 14_140))]
        assert sum(map(count, base)) == both
    assert {leaf.dtype for leaf in jax.tree.leaves(published(dtype=jnp.bfloat16))} == {jnp.dtype("float32")}


def test_first_loss_is_near_that_of_guessing(captions):
    """log V at the start, dropout on, though words are read at a deviation of 1 from the matrix that writes them."""
    model = Captioner(
        (("en", 2000),), embedding=256, video_hidden=16, video_projection=16, fusion=64, decoder_hidden=32
    )
    rng = np.random.default_rng(0)
    target = jnp.asarray(rng.integers(5, 2000, (16, 8)), jnp.int32)
    batch = {
        "video": jnp.asarray(rng.normal(size=(16, 5, 32)), jnp.float32),
        "video_mask": jnp.ones((16, 5), bool),
        "target_en": target,
    }

    @jax.jit
    def begin(key):
        params = model.init(key, *captions.given(model, batch))["params"]
        words = model.apply({"params": params}, method=lambda m: m._words("en"))
        return captions_loss(model, params, batch, key)[0], jnp.std(words.table) * words.scale

    loss, deviation = begin(jax.random.key(1))
    assert np.log(2000) <= loss < np.log(2000) + 0.25
    np.testing.assert_allclose(deviation, 1.0, rtol=0.01)


@pytest.mark.parametrize(
    ("tied", "scaled", "deviation", "scale"),
    [(True, True, 1 / 16, 16.0), (False, True, 1 / 16, 16.0), (True, False, 1 / 16, 1.0), (False, False, 1.0, 1.0)],
)
def test_how_words_are_read_does_not_depend_on_tying(tied, scaled, deviation, scale):
    """E = 256: with `scale_embedding` a table of deviation E^-1/2 times sqrt(E), tied or not."""
    layers = WordLayers(1000, 256, tied, scaled)
    words, _ = layers.init_with_output(jax.random.key(0))
    assert words.scale == scale
    np.testing.assert_allclose(np.std(words.table), deviation, rtol=0.01)


MORE = {
    "segments": {"video": (0, 3, 0), "video_mask": (0, 3)},
    "words and rows": {"video": (2, 0, 0), "video_mask": (2, 0), "target_en": (2, 4), "target_zh": (2, 0)},
}


@pytest.mark.parametrize(("kind", "what"), [("shared enc", "words and rows"), *(("shared enc-dec", w) for w in MORE)])
def test_padding_changes_nothing(captions, kind, what):
    model, batch = captions.model(**captions.KINDS[kind]), captions.batch()
    params = captions.parameters(model)
    (loss, tokens), gradient = loss_and_gradient(model, params, batch)
    padded = {
        name: jnp.pad(array, [(0, n) for n in MORE[what].get(name, (0,) * array.ndim)]) for name, array in batch.items()
    }
    (again, same), slope = loss_and_gradient(model, params, padded)
    np.testing.assert_allclose(again, loss, rtol=1e-6)
    assert same == tokens
    # Sums of another length round differently.
    atol = 2e-6 * max(np.abs(leaf).max() for leaf in jax.tree.leaves(gradient))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-6, atol=atol), slope, gradient)


def test_what_padding_holds_does_not_matter(captions):
    """Padded segments are zeros by the sources' grace alone."""
    model, batch = captions.model(), captions.batch()
    params = captions.parameters(model)
    filled = {**batch, "video": jnp.where(batch["video_mask"][:, :, None], batch["video"], 7.0)}
    results = [loss_and_gradient(model, params, data) for data in (batch, filled)]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7), *results)


def test_arrays_without_segments_and_batches_of_padding(captions, numpy_model):
    """No video of the batch has a segment; then no row has a caption."""
    model, batch = captions.model(), captions.batch()
    params = captions.parameters(model)
    blind = {**batch, "video": batch["video"][:, :0], "video_mask": batch["video_mask"][:, :0]}
    (loss, tokens), gradient = loss_and_gradient(model, params, blind)
    p, surprises = captions.float64(params), []
    for language in model.languages:
        for _, target, video in captions.captions_of(blind, language):
            surprises.append(captions.surprises(captions.write(numpy_model, p, language, target, video)[0], target))
    np.testing.assert_allclose(loss, np.concatenate(surprises).mean(), rtol=1e-5)
    assert tokens == 21
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
    empty = {**batch, "target_en": batch["target_en"] * 0, "target_zh": batch["target_zh"] * 0}
    (loss, tokens), gradient = loss_and_gradient(model, params, empty)
    assert (loss, tokens) == (0, 0)
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(gradient))


def test_search_tells_the_log_probabilities_of_what_it_writes(captions, numpy_model):
    model, batch = captions.model(shared_decoder=False), captions.batch()
    params = captions.parameters(model, scale=0.8, seed=3)
    for language in model.languages:
        # Untrained, hardly any caption would end before it must.
        bias = params[f"words_{language}"]["bias"]
        params[f"words_{language}"]["bias"] = bias.at[captions.EOS].add(2.0)

    @jax.jit
    def decode(params):
        found = {}
        for language in model.languages:
            step, state = captions_decoding(model, params, batch, language)
            found[language] = (
                beam_search(step, state, beam=3, max_words=5, n_best=3),
                greedy(step, state, max_words=5),
            )
        return found

    p = captions.float64(params)
    ends = set()
    for language, both in decode(params).items():
        for found in both:
            for row in range(len(LENGTHS)):
                video = np.asarray(batch["video"][row])[np.asarray(batch["video_mask"][row])]
                for tokens, length, log_prob in zip(
                    np.asarray(found.tokens[row]), found.lengths[row], found.log_probs[row], strict=True
                ):
                    output = tokens[: int(length)]
                    logits, _, _ = captions.write(numpy_model, p, language, output, video)
                    expected = -captions.surprises(logits, output).sum()
                    np.testing.assert_allclose(log_prob, expected, rtol=1e-5, atol=1e-5)
                    ends.add(int(length))
        words = np.asarray(both[1].tokens[:, 0])
        assert not set(words.ravel().tolist()) & {1, 2, 4}
    assert len(ends) > 2


def names(params):
    return [tuple(key.key for key in path) for path, _ in jax.tree_util.tree_leaves_with_path(params)]


@pytest.mark.parametrize(
    ("kind", "shared", "private"),
    [
        ("base", set(), {"encoder", "decoder", "words_zh"}),
        ("base untied", set(), {"encoder", "decoder", "words_en"}),
        ("shared enc", {"encoder"}, {"decoder_en", "decoder_zh", "words_en", "words_zh"}),
        ("shared enc-dec", {"encoder", "decoder"}, {"words_en", "words_zh"}),
    ],
)
def test_what_the_languages_share(captions, kind, shared, private):
    model = captions.model(**captions.KINDS[kind])
    of = functools.partial(is_shared, model)
    paths = names(captions.parameters(model))
    assert {path[0] for path in paths if of(path)} == shared
    assert {path[0] for path in paths if not of(path)} == private


@pytest.mark.parametrize("kind", ["shared enc", "shared enc-dec"])
def test_captions_of_one_language_teach_it_and_what_is_shared(captions, kind):
    model, batch = captions.model(**captions.KINDS[kind]), captions.batch()
    params = captions.parameters(model)
    batch = {**batch, "target_zh": batch["target_zh"] * 0}
    (_, tokens), gradient = loss_and_gradient(model, params, batch)
    assert tokens == 11
    for name, tree in gradient.items():
        moved = [bool(np.abs(leaf).max() > 1e-6) for leaf in jax.tree.leaves(tree)]
        assert not any(moved) if name.endswith("_zh") else all(moved), name


@pytest.mark.parametrize("sampling", [None, 0.5])
def test_a_batch_without_any_caption_of_a_language(captions, sampling):
    """The shape of such a batch has no word of it; the loss is that of words that are all padding."""
    model, batch = captions.model(**captions.KINDS["shared enc"]), captions.batch()
    params, rows = captions.parameters(model), batch["target_en"].shape[0]

    @jax.jit
    def compute(width):
        given = batch | {"target_zh": jnp.zeros((rows, len(width)), jnp.int32)}
        key = jax.random.key(3)
        return jax.value_and_grad(lambda p: captions_loss(model, p, given, key, sampling), has_aux=True)(params)

    ((loss, count), gradient), ((wanted, counted), expected) = compute(jnp.zeros(0)), compute(jnp.zeros(1))
    assert count == counted > 0
    np.testing.assert_allclose(loss, wanted, rtol=1e-6)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), gradient, expected)


def test_languages_missing_unknown_and_ignored(captions):
    model, batch = captions.model(), captions.batch()
    params, key = captions.parameters(model), jax.random.key(0)
    with pytest.raises(DataError, match=r"no captions in zh: give it target_zh, all PAD"):
        captions_loss(model, params, {name: x for name, x in batch.items() if name != "target_zh"}, None)
    more = {**batch, "target_fr": batch["target_zh"]}
    assert captions_loss(model, params, more, None) == captions_loss(model, params, batch, None)
    step, state = captions_decoding(model, params, batch, "fr")
    with pytest.raises(ConfigError, match=r"does not know 'fr': its languages are \['en', 'zh'\]"):
        step(state, jnp.zeros((5, 1), jnp.int32))
    with pytest.raises(ConfigError, match="name at least one, each once"):
        captions.model(vocabularies=()).init(key, *captions.given(model, batch))
    with pytest.raises(ConfigError, match="name at least one, each once"):
        captions.model(vocabularies=(("en", 9), ("en", 9))).init(key, *captions.given(model, batch))
    with pytest.raises(ConfigError, match=r"vocabulary of zh has 5 entries.* no word at all"):
        captions.model(vocabularies=(("en", 9), ("zh", 5))).init(key, *captions.given(model, batch))
    with pytest.raises(ConfigError, match=r"decoder_hidden is 9.*2 \* model.video_hidden = 8"):
        captions.model(decoder_hidden=9).init(key, *captions.given(model, batch))


@pytest.mark.slow
def test_bfloat16_close_to_float32(captions):
    model, batch = captions.model(), captions.batch()
    params, key = captions.parameters(model, scale=0.3), jax.random.key(0)

    def compute(model, sampling):
        return jax.jit(jax.value_and_grad(lambda p: captions_loss(model, p, batch, key, sampling)[0]))(params)

    for sampling in (None, 0.0):
        (loss, gradient), (rough, slope) = compute(model, sampling), compute(model.clone(dtype=jnp.bfloat16), sampling)
        assert rough.dtype == jnp.float32
        assert rough != loss
        np.testing.assert_allclose(rough, loss, rtol=0.02)
        total = np.sqrt(sum(np.square(leaf).sum() for leaf in jax.tree.leaves(gradient)))
        gaps = jax.tree.map(lambda a, b: np.asarray(a) - np.asarray(b), gradient, slope)
        assert np.sqrt(sum(np.square(leaf).sum() for leaf in jax.tree.leaves(gaps))) < 0.05 * total
        assert {leaf.dtype for leaf in jax.tree.leaves(slope)} == {jnp.dtype("float32")}
