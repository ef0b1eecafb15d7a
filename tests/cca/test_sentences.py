"""Sentence vectors: hand-worked means with the end token counted, shares, and the ids of repeated strings."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vatex_jax.cca.sentences import distinct_sentences, embed_sentences
from vatex_jax.errors import ConfigError
from vatex_jax.text.sentences import tokenize_with_end
from vatex_jax.text.vectors import WordVectors
from vatex_jax.text.vocabulary import EOS, SPECIALS, UNK, Vocabulary

VOCABULARY = Vocabulary([*SPECIALS, "yes", "it", "is", "zebra"])
MATRIX = np.zeros((9, 2), np.float32)
MATRIX[5:8] = [[4, 0], [0, 8], [2, 2]]
FOUND = np.arange(9) // 5 == 1
FOUND[8] = False
WORDS = WordVectors(VOCABULARY, MATRIX, FOUND, "by hand")


def test_the_end_token_and_unknown_words_count_in_the_mean():
    result = embed_sentences(["yes", "It is", "yes, it's is", "zebra is", "", "is is"], WORDS)
    expected = [[2, 0], [2 / 3, 10 / 3], [6 / 5, 2 / 5], [2 / 3, 2 / 3], [0, 0], [4 / 3, 4 / 3]]
    np.testing.assert_allclose(result.vectors, expected, rtol=1e-6)
    assert result.vectors.dtype == np.float32
    assert result.unknown_share == pytest.approx(2 / 11)  # the comma and "its"
    assert result.missing_share == pytest.approx(1 / 11)  # zebra


def test_words_past_the_fifteenth_do_not_count():
    fifteen = "is " * 14 + "it"
    cut = embed_sentences([fifteen, fifteen + " yes", fifteen + " yes" * 30], WORDS).vectors
    np.testing.assert_allclose(cut, [[28 / 16, 36 / 16]] * 3, rtol=1e-6)
    np.testing.assert_allclose(embed_sentences(["is it yes"], WORDS, 2).vectors, [[1, 1]])
    with pytest.raises(ConfigError, match="max_tokens"):
        embed_sentences(["is"], WORDS, 0)


def test_vectors_of_special_tokens_enter_where_there_are_any():
    matrix = MATRIX.copy()
    matrix[[UNK, EOS]] = [[10, 0], [0, 20]]
    found = FOUND.copy()
    found[[UNK, EOS]] = True
    result = embed_sentences(["yes", "dog", ""], WordVectors(VOCABULARY, matrix, found, "by hand+special"))
    np.testing.assert_allclose(result.vectors, [[2, 10], [5, 10], [0, 20]])
    assert result.unknown_share == 0.5


def test_no_sentence_and_no_word_are_no_fault():
    none = embed_sentences([], WORDS)
    assert (none.vectors.shape, none.unknown_share, none.missing_share) == ((0, 2), 0.0, 0.0)
    assert embed_sentences([""], WORDS).unknown_share == 0.0


@given(st.lists(st.text("yesit ,.5'", max_size=70), max_size=6))
@settings(max_examples=50, deadline=None)
def test_the_product_equals_a_loop_over_tokens(sentences):
    matrix = np.random.default_rng(0).random((9, 3)).astype(np.float32)
    vectors = embed_sentences(sentences, WordVectors(VOCABULARY, matrix, np.ones(9, np.bool_), "random")).vectors
    for sentence, vector in zip(sentences, vectors, strict=True):
        tokens = tokenize_with_end(sentence)
        ids = [*VOCABULARY.encode(tokens[:-1]), EOS]
        np.testing.assert_allclose(vector, sum(matrix[i] for i in ids) / len(tokens), rtol=1e-5)


def test_distinct_sentences_come_in_order_with_the_ids_of_each_list():
    distinct, (questions, answers, none) = distinct_sentences(["b", "a", "b"], ("", "a", "男人", ""), [])
    assert distinct == ["b", "a", "", "男人"]
    assert (questions.tolist(), answers.tolist(), none.tolist()) == ([0, 1, 0], [2, 1, 3, 2], [])
    assert questions.dtype == none.dtype == np.int64
    assert distinct_sentences() == ([], [])


def test_sentences_of_the_same_words_have_the_same_bits_in_whatever_order():
    rng = np.random.default_rng(0)
    words = WordVectors(VOCABULARY, rng.normal(size=(9, 50)).astype(np.float32), np.ones(9, bool), "random")
    orders = [" ".join(order) for order in itertools.permutations(["yes", "it", "is", "zebra", "is"])]
    vectors = embed_sentences(orders, words).vectors
    np.testing.assert_array_equal(vectors, np.broadcast_to(vectors[0], vectors.shape))
