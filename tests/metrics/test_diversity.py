"""Diversity by hand and by brute force, and the summary of sampled captions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from vatex_jax.errors import DataError
from vatex_jax.metrics import diversity as module
from vatex_jax.metrics.diversity import distinct, diversity, sample_diversity, sample_summary, self_bleu

CAPTIONS = st.lists(st.lists(st.sampled_from(["a", "b", "狗", "d"]), max_size=7), max_size=7)


def brute_self_bleu(captions, order):
    """Each caption against all others, by sacrebleu's sentence BLEU."""
    engine = BLEU(tokenize="none", smooth_method="none", effective_order=True, max_ngram_order=order)
    lines = [" ".join(caption) for caption in captions if caption]
    if len(lines) < 2:
        return 0.0
    return np.mean([engine.sentence_score(line, lines[:i] + lines[i + 1 :]).score for i, line in enumerate(lines)])


@settings(max_examples=150, deadline=None)
@given(CAPTIONS, st.integers(1, 4))
def test_self_bleu_equals_brute_force(captions, order):
    assert self_bleu(captions, order) == pytest.approx(brute_self_bleu(captions, order), abs=1e-9)


def test_self_bleu_of_a_set_worked_by_hand():
    # `a b c` has 2 of 3 words, 1 of 2 pairs and no triple; so has `a b d`, once `a b` stands in the other.
    assert self_bleu([["a", "b", "c"], ["a", "b", "d"]], 2) == pytest.approx(100 * np.sqrt(2 / 3 * 1 / 2))
    assert self_bleu([["a", "b", "c"], ["a", "b", "d"]]) == 0
    # Clipped at the other caption: one of two `a`; the other way round all match, with a penalty of exp(1 - 2/1).
    assert self_bleu([["a", "a"], ["a"]], 1) == pytest.approx(100 * (1 / 2 + np.exp(-1)) / 2)


def test_self_bleu_of_one_sentence_for_all():
    assert self_bleu([["a", "man"]] * 3) == pytest.approx(100)
    assert self_bleu([["a", "man"]] * 2 + [[]]) == pytest.approx(100)
    assert self_bleu([["a", "man"], []]) == 0
    assert self_bleu([]) == 0


def test_distinct_words_and_pairs():
    captions = [["a", "b", "a"], ["a", "b"], ["c"], []]
    assert distinct(captions, 1) == pytest.approx(3 / 6)
    assert distinct(captions, 2) == pytest.approx(2 / 3)  # a b, b a, a b: no pair reaches over two captions
    assert distinct([["a"]], 2) == 0


def test_all_of_a_split():
    captions = [["a", "b"], ["a", "c"], ["a", "b"], []]
    assert diversity(captions, {("a", "b"), ("b",)}) == pytest.approx(
        {
            "distinct1": 3 / 6,
            "distinct2": 2 / 3,
            # Twice 100; `a c` shares `a` alone.
            "self_bleu4": 200 / 3,
            "novel": 25,
            "vocabulary": 3,
            "length": 6 / 4,
        }
    )


def test_nothing_is_zero_not_an_error():
    assert set(diversity([], set()).values()) == {0}
    assert set(diversity([[]], set()).values()) == {0}
    assert set(sample_diversity([]).values()) == {0}


def test_samples_are_compared_within_their_video():
    samples = [[["a", "b"], ["a", "b"]], [["c"], ["d"]]]
    assert sample_diversity(samples) == pytest.approx(
        {"distinct1": (2 / 4 + 1) / 2, "distinct2": (1 / 2 + 0) / 2, "self_bleu4": 50}
    )


def test_the_summary_of_samples():
    scores = np.array([[1.0, 3.0], [5.0, 5.0]])
    assert sample_summary(scores) == pytest.approx({"mean": 3.5, "k_std": 0.5, "best": 4, "data_std": 1.5})
    assert sample_summary(np.array([[2.0]])) == {"mean": 2, "k_std": 0, "best": 2, "data_std": 0}
    with pytest.raises(DataError, match=r"\(0, 3\)"):
        sample_summary(np.zeros((0, 3)))


def test_many_captions_take_a_pass_not_a_pair_each():
    """20,000 captions: comparing pairs would never end."""
    rng = np.random.default_rng(0)
    captions = [[f"w{word}" for word in rng.zipf(1.5, 8) % 500] for _ in range(20_000)]
    assert 0 < self_bleu(captions) < 100
    assert module.distinct(captions, 2) < module.distinct(captions, 1) * 100
