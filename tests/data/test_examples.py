"""Pairs, vocabularies and ids: what is cut and what stays whole, on sentences written here."""

import numpy as np
import pytest

from vatex_jax.data.examples import (
    languages,
    other_videos,
    parallel_text,
    training_vocabulary,
    translation_examples,
)
from vatex_jax.data.sources import Features, Split, Video
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.text.tokenization import make_tokenizer
from vatex_jax.text.vocabulary import EOS, UNK

TOKENIZERS = {"en": make_tokenizer("en"), "zh": make_tokenizer("zh", "characters")}


def split(*videos: Video, segments: tuple[int, ...] = ()) -> Split:
    counts = np.array(segments or [0] * len(videos), np.int32)
    return Split("train", videos, Features(lambda i: np.full((counts[i], 2), i, np.float32), counts))


VIDEOS = (
    Video("a", -1, ("only english", "a dog runs", "a cat"), ("一只狗跑", "猫🐈"), 2),
    Video("b", 3, ("no pair here",), (), 0),
    Video("c", -1, ("the end",), ("别的", "完"), 1),
)


def test_the_last_captions_are_the_pairs_in_both_directions():
    text = parallel_text(split(*VIDEOS), "en2zh", TOKENIZERS)
    assert text.source == (["a", "dog", "runs"], ["a", "cat"], ["the", "end"])
    assert text.target == (["一", "只", "狗", "跑"], ["猫", "🐈"], ["完"])
    assert text.video.tolist() == [0, 0, 2]
    assert text.pair.tolist() == [0, 1, 0]
    back = parallel_text(split(*VIDEOS), "zh2en", TOKENIZERS)
    assert back.source == text.target
    assert back.target == text.source


def test_a_split_without_pairs_is_empty_and_no_error():
    text = parallel_text(split(VIDEOS[1]), "en2zh", TOKENIZERS)
    assert len(text) == 0
    assert text.video.shape == (0,)


def test_without_references_the_last_five_source_captions_are_translated():
    english = Video("d", -1, tuple(f"caption {i}" for i in range(7)), (), 0)
    text = parallel_text(split(english, VIDEOS[0], VIDEOS[1]), "en2zh", TOKENIZERS, unpaired=True)
    assert [words[-1] for words in text.source] == ["2", "3", "4", "5", "6", "runs", "cat", "here"]
    assert text.pair.tolist() == [0, 1, 2, 3, 4, 0, 1, 0]
    assert text.captions[0] == ("caption 2", None)
    assert text.captions[5] == ("a dog runs", "一只狗跑")
    assert text.target[0] == []
    assert len(parallel_text(split(english), "zh2en", TOKENIZERS, unpaired=True)) == 0


def test_vocabularies_count_all_captions_of_a_language_not_the_pairs_alone():
    vocabulary = training_vocabulary(split(*VIDEOS), "en", TOKENIZERS["en"], 1)
    assert {"only", "english", "no", "pair"} <= set(vocabulary.words)
    assert set(training_vocabulary(split(*VIDEOS), "en", TOKENIZERS["en"], 2).words[5:]) == {"a"}
    with pytest.raises(DataError, match=r"Lower config\.data\.min_count"):
        training_vocabulary(split(*VIDEOS), "en", TOKENIZERS["en"], 9)


def test_input_and_target_are_cut_and_a_long_reference_with_rare_words_stays_whole():
    words = [f"w{i}" for i in range(45)]
    video = Video("long", -1, (" ".join(words),), ("长" * 45,), 1)
    known = split(*[Video(str(i), -1, ("w0 w1 w2",), ("长",), 1) for i in range(5)])
    vocabularies = tuple(training_vocabulary(known, side, TOKENIZERS[side], 5) for side in ("en", "zh"))
    text = parallel_text(split(video), "en2zh", TOKENIZERS)
    back = parallel_text(split(video), "zh2en", TOKENIZERS)
    made = translation_examples(text, vocabularies, max_words=40, features=None, max_segments=32)
    reverse = translation_examples(back, vocabularies[::-1], max_words=40, features=None, max_segments=32)
    assert len(made.source[0]) == 40
    assert len(made.target[0]) == 41
    assert made.target[0][-1] == EOS
    assert (made.source[0][3:] == UNK).all()
    assert made.lengths().tolist() == [[40, 41, 0]]
    assert back.target[0] == words, "the reference: 45 words, the rare ones as they are"
    assert (reverse.target[0][3:40] == UNK).all()


def test_segments_follow_the_video_and_the_limit():
    data = split(*VIDEOS, segments=(7, 2, 0))
    text = parallel_text(data, "en2zh", TOKENIZERS)
    vocabularies = tuple(training_vocabulary(data, side, TOKENIZERS[side], 1) for side in ("en", "zh"))
    made = translation_examples(text, vocabularies, max_words=40, features=data.features, max_segments=5)
    assert made.segments.tolist() == [5, 5, 0]


def test_a_source_without_words_is_eos():
    video = Video("x", -1, ("   ",), ("空",), 1)
    known = split(*VIDEOS)
    vocabularies = tuple(training_vocabulary(known, side, TOKENIZERS[side], 1) for side in ("en", "zh"))
    text = parallel_text(split(video), "en2zh", TOKENIZERS)
    made = translation_examples(text, vocabularies, max_words=40, features=None, max_segments=1)
    assert made.source[0].tolist() == [EOS]


@pytest.mark.parametrize("count", [2, 3, 50])
def test_the_control_gives_no_video_its_own_features(count):
    order = other_videos(count, seed=4)
    assert sorted(order) == list(range(count))
    assert all(own != other for own, other in enumerate(order))
    assert order == other_videos(count, seed=4)


def test_reordered_features_keep_their_segments():
    data = split(*VIDEOS, segments=(7, 2, 1))
    turned = data.features.reordered([2, 0, 1])
    assert turned.segments.tolist() == [1, 7, 2]
    assert turned[1].tolist() == [[0.0, 0.0]] * 7


def test_directions():
    assert languages("en2zh") == ("en", "zh")
    with pytest.raises(ConfigError, match="en2zh or zh2en"):
        languages("de2en")
