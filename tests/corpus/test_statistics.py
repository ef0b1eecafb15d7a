"""Corpus figures on hand-worked captions in both languages, and against a plain, slow recount."""

from collections import Counter

import numpy as np
import pytest

from vatex_jax.corpus import statistics
from vatex_jax.corpus.readers import CorpusVideo
from vatex_jax.corpus.statistics import CorpusCounter, is_word, text_key
from vatex_jax.text.tagging import open_tagger
from vatex_jax.text.tokenization import make_tokenizer


def counted(videos, language="en", tagged=False):
    opened = (lambda: open_tagger(language, cache=None)) if tagged else None
    counter = CorpusCounter(language, make_tokenizer(language), opened)
    for number, captions in enumerate(videos):
        own = {language: tuple(captions)}
        counter.add(CorpusVideo("train", f"v{number}", own.get("en", ()), own.get("zh", ())))
    return counter.finish()


def test_hand_worked_english():
    found = counted(
        [
            ["A dog is running .", "a dog  is running .", "Two cats sleep quietly ."],
            ["A dog is running .", "A red ball !"],
            [],
        ],
        tagged=True,
    )
    assert (found.videos, found.captions, found.words) == (2, 5, 19)
    assert found.lengths == Counter({4: 4, 3: 1})
    metrics = found.metrics()
    assert metrics["length"] == 19 / 5
    assert metrics["captions_per_video"] == 2.5
    assert metrics["intra_video_duplicates"] == 50.0  # the first of two videos
    assert metrics["inter_video_duplicates"] == 60.0  # three of five stand at both
    # a dog is running two cats sleep quietly red ball; of bigrams three, three and two; of trigrams two, two and one
    assert [metrics[f"unique_{n}gram"] for n in (1, 2, 3, 4)] == [10, 8, 5, 2]
    assert metrics["unique_noun"] == 3  # dog, cats, ball
    assert metrics["unique_verb"] == 2  # running, sleep; `is` is an auxiliary
    assert metrics["unique_adjective"] == 1
    assert metrics["unique_adverb"] == 1
    assert found.per_caption["noun"] == Counter({1: 5})
    assert found.per_caption["verb"] == Counter({1: 4, 0: 1})
    assert found.curve == [(5, 2)]


def test_hand_worked_chinese():
    found = counted([["男人在吃苹果。", "男人在吃苹果！"], ["女人吃红色苹果"]], "zh", tagged=True)
    assert (found.videos, found.captions) == (2, 3)
    assert found.lengths == Counter({4: 3})
    metrics = found.metrics()
    assert metrics["intra_video_duplicates"] == 0.0  # other signs, another text
    assert [metrics[f"unique_{n}gram"] for n in (1, 2, 3, 4)] == [6, 6, 4, 2]
    assert metrics["unique_noun"] == 4  # 男人 女人 苹果 红色
    assert metrics["unique_verb"] == 1


def test_words_hold_a_letter_or_a_digit():
    assert [token for token in ["a", "3", "...", "一", "，", "t-shirt", "🐶", "'s"] if is_word(token)] == [
        "a", "3", "一", "t-shirt", "'s",
    ]  # fmt: skip


def test_texts_are_equal_but_for_capitals_white_space_and_forms_of_unicode():
    assert text_key("A  Café\n") == text_key("a cafe\u0301") != text_key("a cafe")
    assert text_key("\ud800") != text_key("")


def test_without_tags_nothing_is_said_of_kinds():
    found = counted([["A dog runs."]])
    assert found.kinds == found.per_caption == {}
    assert not [name for name in found.metrics() if "noun" in name or "verb" in name]


def test_nothing_counts_nothing():
    found = counted([[], []])
    assert found.metrics()["length"] == found.metrics()["captions"] == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_figures_equal_a_plain_recount_of_many_captions(language, monkeypatch):
    monkeypatch.setattr(statistics, "_FIRST_POINT", 7)
    monkeypatch.setattr(statistics, "_WAITING", 4)
    words = {"en": ["a", "the", "man", "woman", "dog", "runs", "eats", "red", "ball", "quickly", "in", "park", "."],
             "zh": list("男女狗跑吃红球在里的。")}[language]  # fmt: skip
    rng = np.random.default_rng(0)
    glue = " " if language == "en" else ""
    videos = [[glue.join(rng.choice(words, rng.integers(1, 6))) for _ in range(rng.integers(0, 6))] for _ in range(80)]
    found, tokenize = counted(videos, language), make_tokenizer(language).tokenize
    captions = [caption for own in videos for caption in own]
    tokens = [[token for token in tokenize(caption) if is_word(token)] for caption in captions]
    assert found.lengths == Counter(map(len, tokens))
    for n in (1, 2, 3, 4):
        assert found.distinct[n] == len({tuple(t[i : i + n]) for t in tokens for i in range(len(t) - n + 1)})
    plain = [[" ".join(caption.split()) for caption in own] for own in videos]
    assert found.repeating_videos == sum(len(set(own)) < len(own) for own in plain)
    at = Counter(text for own in plain for text in set(own))
    assert found.shared_captions == sum(at[text] > 1 for own in plain for text in own)
    assert len(found.curve) > 5
    for count, types in found.curve:
        seen = tokens[:count]
        assert types == len({tuple(t[i : i + 4]) for t in seen for i in range(len(t) - 3)})
