"""Vectors learned from text: counts and PPMI against loops over token pairs, the SVD against NumPy's."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.text import learned_vectors
from vatex_jax.text.learned_vectors import cooccurrences, leading_singular, learn_vectors, ppmi
from vatex_jax.text.sentences import build_vocabulary, encode_sentences
from vatex_jax.text.vocabulary import EOS, SPECIALS, UNK, Vocabulary

SENTENCES = ["the dog ran", "the the cat ran away from the dog", "yes", "", "the dog ran", "a zebra"]
VOCABULARY = Vocabulary([*SPECIALS, "the", "dog", "ran", "cat", "yes", "a"])


def brute_force_counts(sentences, window):
    counts = np.zeros((len(VOCABULARY), len(VOCABULARY)))
    for sentence in sentences:
        ids = [*VOCABULARY.encode(sentence.split()), EOS]
        for i, left in enumerate(ids):
            for j, right in enumerate(ids):
                if i != j and abs(i - j) <= window:
                    counts[left, right] += 1
    return counts


@pytest.mark.parametrize("window", [1, 2, 50])
def test_cooccurrences_equal_a_count_of_pairs(window):
    distinct = list(dict.fromkeys(SENTENCES))
    times = np.array([SENTENCES.count(sentence) for sentence in distinct])
    counts = cooccurrences(encode_sentences(distinct, VOCABULARY, None), times, len(VOCABULARY), window)
    np.testing.assert_array_equal(counts.toarray(), brute_force_counts(SENTENCES, window))


@pytest.mark.parametrize("smoothing", [1.0, 0.75, 0.3])
def test_ppmi_equals_its_definition(smoothing):
    counts = brute_force_counts(SENTENCES, 2)
    expected = np.zeros_like(counts)
    total, contexts = counts.sum(), counts.sum(axis=0) ** smoothing
    for w, c in np.argwhere(counts):
        p_pair, p_word, p_context = counts[w, c] / total, counts[w].sum() / total, contexts[c] / contexts.sum()
        expected[w, c] = max(0.0, math.log(p_pair / (p_word * p_context)))
    actual = ppmi(scipy.sparse.csr_array(counts), smoothing)
    np.testing.assert_allclose(actual.toarray(), expected, rtol=1e-12)
    assert 0 < actual.nnz < np.count_nonzero(counts)


@pytest.mark.parametrize("dense_size", [1000, 0])
def test_leading_singular_vectors_equal_numpys_up_to_sign(monkeypatch, dense_size):
    monkeypatch.setattr(learned_vectors, "_DENSE_SIZE", dense_size)
    matrix = scipy.sparse.random_array((40, 30), density=0.3, rng=np.random.default_rng(0), format="csr")
    left, values = leading_singular(matrix, 7)
    u, s, _ = np.linalg.svd(matrix.toarray())
    np.testing.assert_allclose(values, s[:7], rtol=1e-10)
    np.testing.assert_allclose(np.abs((left * u[:, :7]).sum(axis=0)), 1.0, rtol=1e-9)
    assert (left.max(axis=0) == np.abs(left).max(axis=0)).all()
    again = leading_singular(matrix, 7)
    assert left.tobytes() == again[0].tobytes()


@pytest.mark.parametrize("dense_size", [1000, 0])
def test_no_more_directions_than_the_rank(monkeypatch, dense_size):
    monkeypatch.setattr(learned_vectors, "_DENSE_SIZE", dense_size)
    factors = np.random.default_rng(1).random((2, 12, 3))
    matrix = scipy.sparse.csr_array(factors[0] @ factors[1].T)
    assert leading_singular(matrix, 8)[0].shape == (12, 3)
    assert leading_singular(matrix, 2)[0].shape == (12, 2)


def test_vectors_are_left_singular_vectors_times_root_singular_values():
    words = learn_vectors(SENTENCES, VOCABULARY, dimension=3, window=2, special="source")
    u, s, _ = np.linalg.svd(ppmi(scipy.sparse.csr_array(brute_force_counts(SENTENCES, 2)), 0.75).toarray())
    assert words.matrix.dtype == np.float32
    np.testing.assert_allclose(words.matrix @ words.matrix.T, (u[:, :3] * s[:3]) @ u[:, :3].T, atol=1e-6)
    assert words.found.tolist() == [False, True, False, True, False] + [True] * 6
    assert words.name == "ppmi-svd:d3-w2-s0.75+special"


def test_special_tokens_are_zero_by_default_and_other_rows_the_same():
    zero = learn_vectors(SENTENCES, VOCABULARY, dimension=3)
    source = learn_vectors(SENTENCES, VOCABULARY, dimension=3, special="source")
    assert not zero.matrix[[UNK, EOS]].any()
    assert not zero.found[[UNK, EOS]].any()
    assert source.matrix[[UNK, EOS]].any(axis=1).all()
    np.testing.assert_array_equal(zero.matrix[5:], source.matrix[5:])


def test_the_same_text_in_another_order_gives_the_same_bits():
    one = learn_vectors(SENTENCES, VOCABULARY, dimension=3)
    other = learn_vectors(iter(SENTENCES[::-1]), VOCABULARY, dimension=3)
    assert one.matrix.tobytes() == other.matrix.tobytes()


def test_the_dimension_is_capped_by_the_rank_with_a_warning():
    with pytest.warns(UserWarning, match=r"vectors of \d dimensions, not 300"):
        words = learn_vectors(SENTENCES, VOCABULARY)
    assert 3 < words.dimension < 9
    assert words.name.startswith(f"ppmi-svd:d{words.dimension}-")
    with pytest.warns(UserWarning, match="of 2 dimensions"):
        assert learn_vectors(["yes"], build_vocabulary(["yes"], 1)).matrix.shape == (6, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn_vectors(SENTENCES, VOCABULARY, dimension=words.dimension)


def test_words_used_alike_come_near_each_other():
    frames = ["i see the {} run fast", "is the {} asleep now", "one {} barks loudly", "my {} eats meat"]
    others = ["the sky looks {} and bright", "paint it {} please", "a {} colored wall"]
    text = [f.format(w) for f in frames for w in ("dog", "wolf")] + [
        f.format(w) for f in others for w in ("red", "blue")
    ]
    vocabulary = build_vocabulary(text, min_count=1)
    matrix = learn_vectors(text, vocabulary, dimension=8).matrix
    dog, wolf, red, blue = (
        matrix[index] / np.linalg.norm(matrix[index]) for index in vocabulary.encode(["dog", "wolf", "red", "blue"])
    )
    assert min(dog @ wolf, red @ blue) > 0.9
    assert max(dog @ red, wolf @ blue) < 0.5


def test_text_without_pairs_and_arguments_out_of_range_are_refused():
    with pytest.raises(DataError, match="no two words"):
        learn_vectors(["", ""], VOCABULARY)
    for wrong in ({"dimension": 0}, {"window": 0}, {"smoothing": 0.0}, {"smoothing": 1.5}, {"special": "mean"}):
        with pytest.raises(ConfigError):
            learn_vectors(SENTENCES, VOCABULARY, **wrong)
