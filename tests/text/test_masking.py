"""Masks: how many, which ones, and that they depend on nothing but seed and caption."""

import math

import numpy as np
import pytest

from vatex_jax.errors import ConfigError
from vatex_jax.text.masking import Masking, mask
from vatex_jax.text.tagging import Word, open_tagger
from vatex_jax.text.tokenization import make_tokenizer
from vatex_jax.text.vocabulary import MASK, Vocabulary

RATES = (0.0, 0.25, 0.5, 0.75, 1.0)


def caption(nouns, verbs=1, name=""):
    words = [Word(f"{name}n{i}", f"n{i}", "NN", "noun") for i in range(nouns)]
    words += [Word(f"v{i}", f"v{i}", "VB", "verb") for i in range(verbs)] + [Word(".", ".", ".", "")]
    return words


def test_a_hand_worked_sentence():
    en = make_tokenizer("en")
    text = "The man's dog catches a t-shirt near two boys."
    (words,) = open_tagger("en", cache=None).tag([en.cased(text)])
    assert mask(en.tokenize(text), Masking("noun", 1.0).positions(words)) == (
        ["the", "[M]", "'s", "[M]", "catches", "a", "[M]", "near", "two", "[M]", "."]
    )
    assert mask(en.tokenize(text), Masking("verb", 1.0).positions(words)) == (
        ["the", "man", "'s", "dog", "[M]", "a", "t-shirt", "near", "two", "boys", "."]
    )
    assert mask(en.tokenize(text), Masking("noun", 0.0).positions(words)) == en.tokenize(text)


def test_the_mask_is_one_token_with_its_own_id_and_survives_the_tokenizer():
    en = make_tokenizer("en")
    tokens = mask(["a", "dog", "runs"], [1])
    assert en.tokenize(en.detokenize(tokens)) == ["a", "[M]", "runs"]
    vocabulary = Vocabulary.build([["a", "dog", "runs"]], 1)
    assert vocabulary.encode(tokens)[1] == MASK == 4


@pytest.mark.parametrize("rate", [0.25, 0.5, 0.75, 0.3])
def test_floor_of_rate_times_n_plus_u(rate):
    for nouns in range(8):
        counts = {len(Masking("noun", rate, seed).positions(caption(nouns, name=f"c{seed}"))) for seed in range(60)}
        low = math.floor(rate * nouns)
        assert counts <= {low, low + 1}
        if rate * nouns != low:  # with a fraction both happen
            assert counts == {low, low + 1}
        elif nouns:
            assert counts == {low}


def test_the_corpus_rate_is_within_half_a_point():
    rng = np.random.default_rng(0)
    captions = [caption(int(n), 2, f"c{i}") for i, n in enumerate(rng.integers(1, 6, 10_000))]
    total = sum(sum(word.kind == "noun" for word in words) for words in captions)
    for rate in RATES:
        masked = sum(len(Masking("noun", rate).positions(words)) for words in captions)
        assert abs(100 * masked / total - 100 * rate) < 0.5


def test_masks_at_a_rate_hold_those_at_every_lower_one_and_only_words_of_the_kind():
    for number in range(200):
        words, before = caption(number % 7, number % 4, f"c{number}"), set()
        for rate in RATES:
            now = set(Masking("noun", rate, 3).positions(words))
            assert before <= now
            assert all(words[place].kind == "noun" for place in now)
            before = now
        assert len(before) == number % 7


def test_masks_depend_on_seed_and_caption_alone():
    captions = [caption(5, 1, f"c{i}") for i in range(50)]
    masking = Masking("noun", 0.5, 1)
    alone = [masking.positions(words) for words in captions]
    assert alone == [masking.positions(words) for words in reversed(captions)][::-1]
    assert alone != [Masking("noun", 0.5, 2).positions(words) for words in captions]
    assert len({tuple(places) for places in alone}) > 5


@pytest.mark.parametrize(
    ("kind", "rate", "message"),
    [("adjective", 0.5, "mask.kind is 'adjective'"), ("noun", 1.5, "mask.rate is 1.5"),
     ("noun", -0.1, "mask.rate"), ("noun", float("nan"), "mask.rate is nan")],
)  # fmt: skip
def test_what_cannot_be_masked_is_refused(kind, rate, message):
    with pytest.raises(ConfigError, match=message):
        Masking(kind, rate)
