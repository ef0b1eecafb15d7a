"""A BERT's files: what is read of them, and what is refused."""

import json
import sys

import numpy as np
import pytest

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.text.bert_folder import WordPieces, expected_shapes, read_config, read_tensors

FILES = ("config.json", "model.safetensors", "tokenizer.json")


@pytest.fixture
def folder(tmp_path, small_bert):
    return small_bert.write(tmp_path / "bert")


def test_sizes(folder, small_bert):
    config = read_config(folder)
    assert {name: getattr(config, name) for name in small_bert.SIZES} == small_bert.SIZES
    assert config.layer_norm_eps == 1e-2


def test_what_the_format_has_defaults_for(folder, small_bert):
    fields = {name: small_bert.CONFIG[name] for name in ("model_type", *small_bert.SIZES)}
    (folder / "config.json").write_text(json.dumps(fields))
    assert read_config(folder).layer_norm_eps == 1e-12
    fields |= {"position_embedding_type": "absolute", "is_decoder": False, "architectures": ["BertForMaskedLM"]}
    (folder / "config.json").write_text(json.dumps(fields))
    assert read_config(folder).hidden_size == 12


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_missing_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(DataError, match=rf"bert: there is no {name}\. A BERT folder holds config\.json"):
        read_config(folder)


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere: there is no config\.json"):
        read_config(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("model_type", "roberta", "model_type is 'roberta'; only 'bert' is supported"),
        ("model_type", None, "model_type is None"),
        ("hidden_act", "gelu_new", "hidden_act is 'gelu_new'; only 'gelu'"),
        ("hidden_act", "relu", "hidden_act is 'relu'"),
        ("position_embedding_type", "relative_key", "position_embedding_type is 'relative_key'; only 'absolute'"),
        ("is_decoder", True, "is_decoder is True"),
        ("hidden_size", "12", "hidden_size is '12', not a whole number above 0"),
        ("hidden_size", True, "hidden_size is True"),
        ("num_hidden_layers", 0, "num_hidden_layers is 0"),
        ("vocab_size", 40.0, "vocab_size is 40.0"),
        ("type_vocab_size", None, "type_vocab_size is None"),
        ("num_attention_heads", 5, "hidden_size 12 is not a multiple of num_attention_heads 5"),
        ("layer_norm_eps", 0, "layer_norm_eps is 0, not a number between 0 and 1"),
        ("layer_norm_eps", "1e-12", "layer_norm_eps is '1e-12'"),
    ],
)
def test_a_configuration_that_is_not_supported(folder, small_bert, field, value, message):
    (folder / "config.json").write_text(json.dumps(small_bert.CONFIG | {field: value}))
    with pytest.raises(DataError, match=rf"config\.json: {message}"):
        read_config(folder)


@pytest.mark.parametrize("field", ["model_type", "vocab_size", "intermediate_size"])
def test_a_configuration_that_lacks_a_field(folder, small_bert, field):
    fields = {name: value for name, value in small_bert.CONFIG.items() if name != field}
    (folder / "config.json").write_text(json.dumps(fields))
    with pytest.raises(DataError, match=f"{field} is None"):
        read_config(folder)


@pytest.mark.parametrize(("text", "message"), [("{", "cannot be read as JSON"), ("[]", "not a JSON object")])
def test_a_configuration_that_is_none(folder, text, message):
    (folder / "config.json").write_text(text)
    with pytest.raises(DataError, match=message):
        read_config(folder)


def test_every_tensor_is_read_by_its_name(folder, small_bert):
    config = read_config(folder)
    found, written = read_tensors(folder, config), small_bert.tensors()
    assert found.keys() == written.keys()
    assert dict(expected_shapes(config)) == {name: tensor.shape for name, tensor in written.items()}
    for name, tensor in found.items():
        np.testing.assert_array_equal(tensor, written[name])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_precisions_are_read_as_float32(tmp_path, small_bert, dtype):
    import ml_dtypes

    kind = getattr(ml_dtypes, dtype, None) or np.dtype(dtype)
    written = {name: tensor.astype(kind) for name, tensor in small_bert.tensors().items()}
    folder = small_bert.write(tmp_path / "bert", written)
    found = read_tensors(folder, read_config(folder))
    assert {tensor.dtype for tensor in found.values()} == {np.dtype(np.float32)}
    for name, tensor in found.items():
        np.testing.assert_array_equal(tensor, written[name].astype(np.float32))


@pytest.mark.parametrize(
    "name",
    ["embeddings.word_embeddings.weight", "encoder.layer.1.output.LayerNorm.bias", "encoder.layer.0.output.dense.bias"],
)
def test_a_tensor_that_is_missing_is_named(tmp_path, small_bert, name):
    weights = {f"bert.{key}": tensor for key, tensor in small_bert.tensors().items() if key != name}
    folder = small_bert.write(tmp_path / "bert", weights)
    with pytest.raises(DataError, match=r"model\.safetensors: tensor .*(embeddings.word|output).* is missing"):
        read_tensors(folder, read_config(folder))


def test_a_tensor_of_another_shape_is_named(tmp_path, small_bert):
    weights = small_bert.tensors()
    weights["encoder.layer.0.intermediate.dense.weight"] = np.zeros((12, 20), np.float32)
    folder = small_bert.write(tmp_path / "bert", weights)
    message = r"tensor encoder\.layer\.0\.intermediate\.dense\.weight is \[12, 20\]; config\.json says \[20, 12\]"
    with pytest.raises(DataError, match=message):
        read_tensors(folder, read_config(folder))


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_not_finite(tmp_path, small_bert, number):
    weights = small_bert.tensors()
    weights["encoder.layer.1.output.dense.bias"][3] = number
    folder = small_bert.write(tmp_path / "bert", weights)
    with pytest.raises(DataError, match=r"encoder\.layer\.1\.output\.dense\.bias holds a number that is not finite"):
        read_tensors(folder, read_config(folder))


@pytest.mark.parametrize("damage", [lambda whole: whole[:-7], lambda whole: b"", lambda whole: b"<html>" + whole])
def test_a_damaged_file(folder, damage):
    path = folder / "model.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=r"model\.safetensors: not a safetensors file, or cut off"):
        read_tensors(folder, read_config(folder))


def pieces(folder, max_pieces=16):
    return WordPieces(folder, read_config(folder), max_pieces)


def test_pieces_stand_between_the_special_ones_unpadded(folder, small_bert):
    found = pieces(folder).encode(["Dogs, NO", "", "yes " * 7])
    assert found == [tuple(small_bert.ids("dog", "##s", ",", "no")), (2, 3), tuple(small_bert.ids(*["yes"] * 7))]
    assert pieces(folder).encode([]) == []


@pytest.mark.parametrize("most", [3, 4, 16])
def test_the_most_pieces_count_the_special_ones(folder, small_bert, most):
    (found,) = pieces(folder, most).encode(["dogs yes no two it" * 20])
    assert len(found) == most
    whole = small_bert.ids("dog", "##s", "yes", "no", "two")
    assert found[:3] == (*whole[:2], found[2])
    assert found[-1] == 3


@pytest.mark.parametrize("most", [-1, 0, 2, 25])
def test_no_room_or_no_positions(folder, most):
    with pytest.raises(ConfigError, match=f"max_pieces is {most}; .* takes 3 to 24, of which 2 are special pieces"):
        pieces(folder, most)


def test_lone_surrogates_are_no_text(folder, small_bert):
    assert pieces(folder).encode(["yes\ud800 no", "\udfff", "no"]) == [
        tuple(small_bert.ids("yes", "no")),
        (2, 3),
        tuple(small_bert.ids("no")),
    ]


def test_many_sentences_come_in_order(folder, small_bert):
    asked = ["yes", "no no", "two"] * 6_000
    expected = [tuple(small_bert.ids(*text.split())) for text in ("yes", "no no", "two")] * 6_000
    assert pieces(folder).encode(asked) == expected


def test_a_tokenizer_of_another_model(folder, small_bert):
    (folder / "config.json").write_text(json.dumps(small_bert.CONFIG | {"vocab_size": 14}))
    with pytest.raises(DataError, match=r"word pieces go up to number 14, but the model has vectors for 14"):
        pieces(folder)
    (folder / "config.json").write_text(json.dumps(small_bert.CONFIG | {"vocab_size": 15}))
    assert pieces(folder).encode(["it"]) == [(2, 14, 3)]


def test_a_tokenizer_without_special_pieces(folder, small_bert):
    made = small_bert.tokenizer()
    made.post_processor = small_bert.tokenizers.processors.Sequence([])
    made.no_padding()
    made.save(str(folder / "tokenizer.json"))
    with pytest.raises(DataError, match="adds no special pieces"):
        pieces(folder)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b"[1, 2]"])
def test_a_damaged_tokenizer(folder, content):
    (folder / "tokenizer.json").write_bytes(content)
    with pytest.raises(DataError, match=r"tokenizer\.json: not a tokenizer that tokenizers reads"):
        pieces(folder)


@pytest.mark.parametrize("package", ["safetensors", "tokenizers"])
def test_packages_that_are_not_installed(folder, package, monkeypatch):
    config = read_config(folder)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=rf"takes {package}, which is not installed .*pip install -e '\.\[bert\]'"):
        read_tensors(folder, config) if package == "safetensors" else WordPieces(folder, config, 16)
