"""BLEU and chrF against hand-worked values and sacrebleu's own corpus functions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF

from vatex_jax.errors import DataError
from vatex_jax.metrics import bleu

WORDS = ["a", "man", "bat", "the", "swings", "一个", "男人", "球棒", "😀", "[M]", "."]
SENTENCE = st.lists(st.sampled_from(WORDS), max_size=9)
CORPUS = st.lists(st.tuples(SENTENCE, st.lists(SENTENCE, min_size=1, max_size=3)), min_size=1, max_size=8)


def test_a_sentence_worked_by_hand():
    scores = bleu.corpus_scores([["a", "b", "c", "d", "e"]], [[["a", "b", "c", "d", "f", "g"]]])
    penalty = math.exp(1 - 6 / 5)
    assert [scores[f"ngram_precision{n}"] for n in bleu.ORDERS] == pytest.approx([80, 75, 200 / 3, 50])
    assert scores["bleu1"] == pytest.approx(100 * penalty * 0.8)
    assert scores["bleu2"] == pytest.approx(100 * penalty * (0.8 * 0.75) ** (1 / 2))
    assert scores["bleu3"] == pytest.approx(100 * penalty * (0.8 * 0.75 * 2 / 3) ** (1 / 3))
    assert scores["bleu4"] == pytest.approx(100 * penalty * (0.8 * 0.75 * 2 / 3 * 0.5) ** (1 / 4))
    assert scores["brevity_penalty"] == pytest.approx(penalty)
    assert (scores["hypothesis_length"], scores["reference_length"]) == (5, 6)


def test_repeated_words_are_clipped_at_the_reference_that_has_most():
    # Papineni et al. (2002), section 2.1, with its two references.
    references = [["the", "cat", "is", "on", "the", "mat"], ["there", "is", "a", "cat", "on", "the", "mat"]]
    assert bleu.sufficient_statistics([["the"] * 7], [references])[0, 2] == 2
    assert bleu.corpus_scores([["the"] * 7], [references])["ngram_precision1"] == pytest.approx(100 * 2 / 7)


def test_the_reference_length_is_the_closest_and_the_shorter_at_a_tie():
    statistics = bleu.sufficient_statistics([["a"] * 4] * 2, [[["a"] * 6, ["a"] * 2], [["a"] * 9, ["a"] * 5]])
    assert statistics[:, 1].tolist() == [2, 5]


@settings(max_examples=60, deadline=None)
@given(CORPUS)
def test_agrees_with_sacrebleu_on_ragged_references(corpus):
    hypotheses, references = [hypothesis for hypothesis, _ in corpus], [several for _, several in corpus]
    streams = [[" ".join(r[i]) if i < len(r) else None for r in references] for i in range(3)]
    lines = [" ".join(hypothesis) for hypothesis in hypotheses]
    scores = bleu.corpus_scores(hypotheses, references)
    statistics = bleu.sufficient_statistics(hypotheses, references)
    for n in bleu.ORDERS:
        oracle = BLEU(tokenize="none", smooth_method="none", max_ngram_order=n, force=True).corpus_score(lines, streams)
        assert scores[f"bleu{n}"] == pytest.approx(oracle.score)
        assert bleu.bleu_from_statistics(statistics.sum(axis=0), n) == pytest.approx(oracle.score)
        assert scores[f"ngram_precision{n}"] == pytest.approx(oracle.precisions[n - 1])
    assert scores["brevity_penalty"] == pytest.approx(oracle.bp)
    assert scores["chrf"] == pytest.approx(CHRF().corpus_score(lines, streams).score)


def test_chrf_is_that_of_the_detokenised_text():
    tokens, reference = ["一个", "男人", "挥动", "球棒"], ["男人", "挥", "球棒"]
    expected = CHRF().corpus_score(["一个男人挥动球棒"], [["男人挥球棒"]]).score
    assert 0 < expected < 100
    assert bleu.corpus_scores([tokens], [[reference]])["chrf"] == pytest.approx(expected)


def test_an_empty_hypothesis_counts_against_the_corpus():
    full = ["a", "b", "c", "d", "e"]
    scores = bleu.corpus_scores([full, []], [[full], [full]])
    assert scores["bleu4"] == pytest.approx(100 * math.exp(1 - 10 / 5))
    assert (scores["empty_hypotheses"], scores["sentences"]) == (1, 2)


@pytest.mark.parametrize(
    ("hypotheses", "references"),
    [
        ([["x", "y"]], [[["a", "b"]]]),
        ([[]], [[["a"]]]),
        ([["a", "b", "c"]], [[["a", "b", "c"]]]),
        ([[]], [[[]]]),
        ([], []),
    ],
    ids=["no match", "empty hypothesis", "no 4-gram", "both empty", "no sentence"],
)
def test_without_a_match_of_order_four_bleu_is_zero_not_an_error(hypotheses, references):
    scores = bleu.corpus_scores(hypotheses, references)
    assert scores["bleu4"] == 0
    assert all(math.isfinite(value) for value in scores.values())
    assert bleu.bleu_from_statistics(bleu.sufficient_statistics(hypotheses, references).sum(axis=0)) == 0


def test_many_corpora_are_scored_at_once():
    generator = np.random.default_rng(0)
    counts = generator.integers(0, 40, size=(3, 50, 10))
    counts[..., 2:6] = np.minimum(counts[..., 2:6], counts[..., 6:])
    scores = bleu.bleu_from_statistics(counts)
    assert scores.shape == (3, 50)
    for summed, score in zip(counts.reshape(-1, 10), scores.ravel(), strict=True):
        lengths = {"sys_len": int(summed[0]), "ref_len": int(summed[1])}
        oracle = BLEU.compute_bleu(summed[2:6].tolist(), summed[6:].tolist(), **lengths, smooth_method="none")
        assert score == pytest.approx(oracle.score)


@pytest.mark.parametrize("token", ["", " ", "a b", "a\u3000b", "a\n", "\x1c"])
def test_a_token_with_white_space_is_refused(token):
    with pytest.raises(DataError, match="hypothesis 0"):
        bleu.corpus_scores([["a", token]], [[["a"]]])
    with pytest.raises(DataError, match="reference of sentence 0"):
        bleu.corpus_scores([["a"]], [[["a"], [token]]])


def test_missing_references_are_refused():
    with pytest.raises(DataError, match="sentence 1 has no reference"):
        bleu.sufficient_statistics([["a"], ["b"]], [[["a"]], []])
    with pytest.raises(DataError, match="2 hypotheses"):
        bleu.sufficient_statistics([["a"], ["b"]], [[["a"]]])


def test_the_signature_names_our_tokens():
    signature = bleu.signature("zh:jieba-0.42.1")
    assert signature["segmenter"] == "jieba-0.42.1"
    line = bleu.format_signature(signature)
    assert "tok:zh:jieba-0.42.1" in line
    assert "smooth:none" in line
    assert bleu.format_signature(signature, "zh/chrf").startswith("nrefs:1|case:as-tokenised|eff:yes|nc:6")
    assert bleu.format_signature({}, "meteor") == "tok:unknown"
