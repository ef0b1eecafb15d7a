"""The simulated world: acceptance on two seeds, translation as a function, what videos hold, seeds, features."""

import itertools

import numpy as np
import pytest

from tfds_builders.vatex_sim import acceptance, lexicon, templates
from tfds_builders.vatex_sim.world import DIMENSIONS, PAIRS, SPLITS, World, describe, translate
from vatex_jax.text.tokenization import make_tokenizer

TINY = World(0, "tiny")


@pytest.fixture(scope="module")
def world():
    return World(0)


@pytest.mark.parametrize("world_seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_default_worlds_meet_every_requirement(world_seed):
    figures = acceptance.report(World(world_seed))
    assert acceptance.check(figures) == []
    assert set(acceptance.REQUIREMENTS) <= set(figures)


def test_check_names_what_fails():
    figures = {name: (low + high) / 2 for name, (low, high) in acceptance.REQUIREMENTS.items()}
    assert acceptance.check(figures) == []
    figures["en/ambiguous_nouns"] = 29
    assert acceptance.check(figures) == ["en/ambiguous_nouns is 29, must be from 30 to 100"]


def test_words_are_ambiguous_one_way_only():
    en, zh = (
        {key: meanings for key, meanings in lexicon.meanings(language).items() if len(meanings) > 1}
        for language in ("en", "zh")
    )
    assert all(len(meanings) == 2 for meanings in (*en.values(), *zh.values()))
    assert not set(itertools.chain(*en.values())) & set(itertools.chain(*zh.values()))
    assert len(set(itertools.chain(*en.values(), *zh.values()))) == len(lexicon.CONCEPTS)
    bat, club = lexicon.CONCEPTS[:2]
    assert (bat.en, bat.zh, bat.sense, club.zh, club.sense) == ("bat", "蝙蝠", 0, "球棒", 1)


def test_templates_and_phrases_are_paired_one_to_one():
    for side in (0, 1):
        assert len({pair[side] for pair in templates.TEMPLATES}) == len(templates.TEMPLATES)
    for pairs in (
        lexicon.AGENTS,
        lexicon.COLOURS,
        lexicon.PLACES,
        lexicon.AGENT_DETERMINERS,
        lexicon.THING_DETERMINERS,
    ):
        assert len({en for en, _ in pairs}) == len({zh for _, zh in pairs}) == len(pairs)


def test_a_sentence_by_hand_both_ways():
    fillers = (("A1", (0, 0, 0)), ("V1", (lexicon.ids("verb", "en")[1],)), ("N1", (1, 0)), ("M1", (0, 33)))
    telling = templates.Telling(4, fillers)
    english, chinese = "A man in red is drawing the bat with an organ.", "一个红衣男人正在用一个风琴拖拉这个蝙蝠。"
    telling = templates.Telling(4, (*fillers[:3], ("M1", (0, lexicon.meanings("en")["noun", "organ"][1]))))
    assert describe(telling) == {"en": english, "zh": chinese}
    assert translate(english, "en", {"drawing": 1, "bat": 0, "organ": 1}) == chinese
    assert translate(english, "en", {"drawing": 0, "bat": 1, "organ": 0}) == "一个红衣男人正在用一个器官描绘这个球棒。"
    assert translate(chinese, "zh", {}) == english
    with pytest.raises(KeyError, match="bat"):
        translate(english, "en", {"drawing": 1, "organ": 0})
    with pytest.raises(ValueError, match="0 templates"):
        translate("A cat sleeps.", "en", {})


def test_translation_is_a_function_of_sentence_and_senses_in_both_directions():
    for video in World(3, "tiny").videos("train"):
        for telling in (*video.en, *video.zh):
            both = describe(telling)
            assert translate(both["en"], "en", TINY.senses(telling, "en")) == both["zh"]
            assert translate(both["zh"], "zh", TINY.senses(telling, "zh")) == both["en"]


def test_jieba_cuts_a_sentence_into_words_that_make_it_up_again():
    tokenizer = make_tokenizer("zh")
    for video in TINY.videos("train"):
        for telling in video.zh:
            sentence = templates.render(telling, "zh")
            words = tokenizer.tokenize(sentence)
            assert tokenizer.detokenize(words) == sentence
            assert set(templates.content_words(telling, "zh")) <= set(words)


def test_videos_hold_what_the_design_says(world):
    for video in world.videos("train")[:300]:
        assert 1 <= len(video.events) <= 3
        assert 8 <= sum(event.length for event in video.events) <= 32
        assert len({event.agent for event in video.events}) == len(video.events)
        assert len(set(video.en)) == len(set(video.zh)) == 10
        assert video.en[PAIRS:] == video.zh[PAIRS:] == video.parallel()
        told = {filler[1] for telling in video.parallel() for slot, filler in telling.fillers if slot[0] == "A"}
        assert told <= {event.agent for event in video.events}
        assert len(told) >= min(2, len(video.events))
        for telling in video.en:
            words = [concept // 2 for concept in telling.concepts()]
            assert len(set(words)) == len(words), "a caption that told both senses would give one away"


def test_the_same_seed_gives_the_same_bytes_in_any_order_and_another_seed_another_world():
    again, other = World(0, "tiny"), World(1, "tiny")
    for split in reversed(SPLITS):
        assert again.features(split, 5).tobytes() == TINY.features(split, 5).tobytes()
        assert again.videos(split) == TINY.videos(split)
        assert other.videos(split)[0].events != TINY.videos(split)[0].events
    assert not np.allclose(
        other._signal(TINY.videos("test")[0].events[0]), TINY._signal(TINY.videos("test")[0].events[0])
    )


def test_shares_of_events_follow_the_design(world):
    counts = np.bincount([len(video.events) for video in world.videos("train")], minlength=4) / 2000
    assert np.abs(counts[1:] - [0.30, 0.45, 0.25]).max() < 0.045  # four standard errors


def test_features_look_like_features(world):
    features = np.concatenate([world.features("train", index) for index in range(40)])
    assert (features.dtype, features.shape[1]) == (np.float32, DIMENSIONS)
    assert abs(features.std() - 0.2) < 0.03
    assert len(world.features("test", 0)) == sum(event.length for event in world.videos("test")[0].events)
