"""Dice's coefficient by hand, alignments that no word shares, and the measure of their quality."""

import pytest

from tfds_builders.vatex_sim import templates
from vatex_jax.text.alignment import DiceAligner, precision

PAIRS = [
    (["a", "dog"], ["一", "狗"]),
    (["a", "cat"], ["一", "猫"]),
    (["dog", "cat"], ["狗", "猫"]),
    (["dog", "dog"], ["狗"]),
]


def test_dice_by_hand():
    aligner = DiceAligner.learn(PAIRS)
    # dog and 狗: in 3 pairs each, 3 together; a and 狗: 2 and 3, once together.
    assert aligner._dice("dog", "狗") == pytest.approx(1.0)
    assert aligner._dice("a", "狗") == pytest.approx(2 * 1 / (2 + 3))
    assert aligner._dice("cat", "一") == pytest.approx(2 * 1 / (2 + 2))
    assert aligner._dice("bird", "狗") == aligner._dice("dog", "鸟") == 0


def test_the_likeliest_words_are_taken_first_and_once():
    aligner = DiceAligner.learn(PAIRS)
    assert aligner.align(["a", "dog", "cat"], ["狗", "猫", "一"], [0, 1, 2]) == [2, 0, 1]
    assert aligner.align(["dog", "dog"], ["狗"], [0, 1]) == [0, None]
    assert aligner.align(["bird"], ["狗"], [0]) == [None]
    assert aligner.align([], [], []) == []


def test_nothing_to_learn_from():
    assert DiceAligner.learn([]).align(["a"], ["b"], [0]) == [None]


def test_precision_and_coverage():
    assert precision([["x", None], ["y"]], [["x", "z"], ["q"]]) == (50.0, pytest.approx(200 / 3))
    assert precision([["x", "y", None]], [["x", None, None]]) == (100.0, 100.0)  # what nobody knows counts nowhere
    assert precision([["x"], ["y"]], [["z"], ["y"]]) == (50.0, 100.0)
    assert precision([], []) == (0.0, 0.0)


def test_the_world_aligns_the_words_of_its_pairs():
    assert templates.aligned_words(
        "A girl in red stands there raising a nail and a trunk.", "一个红衣少女站在那里举起一个指甲和一个树干。"
    ) == [("girl", "少女"), ("red", "红衣"), ("raising", "举起"), ("nail", "指甲"), ("trunk", "树干")]
    with pytest.raises(ValueError, match="0 templates"):
        templates.aligned_words("A girl sleeps.", "一个少女在睡觉。")
