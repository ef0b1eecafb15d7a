"""Captions and videos as arrays: which caption stands beside which video, and what is cut, left out or empty."""

import numpy as np

from vatex_jax.data.batching import Examples, TrainingBatches, assemble, decoding_batches
from vatex_jax.data.caption_examples import VideoExamples, caption_examples, caption_text
from vatex_jax.data.sources import Features, Split, Video
from vatex_jax.text.tokenization import make_tokenizer
from vatex_jax.text.vocabulary import EOS, Vocabulary

TOKENIZERS = {"en": make_tokenizer("en"), "zh": make_tokenizer("zh", "characters")}
SEGMENTS = np.array([3, 0, 9], np.int32)
VIDEOS = (
    Video("a", 4, ("a dog runs", "a cat"), ("狗",), 1),
    Video("b", -1, (), ("猫🐈睡觉",), 0),
    Video("c", 7, ("the end of it all",), (), 0),
)


def read(index: int) -> np.ndarray:
    return np.full((SEGMENTS[index], 2), index + 1, np.float32)


SPLIT = Split("train", VIDEOS, Features(read, SEGMENTS))
TEXT = caption_text(SPLIT, TOKENIZERS)
VOCABULARIES = {
    language: Vocabulary.build((tokens for video in TEXT.tokens[language] for tokens in video), 1)
    for language in TOKENIZERS
}


def decoded(examples, language: str) -> list[str]:
    return [" ".join(VOCABULARIES[language].decode(ids)) for ids in examples.targets[language]]


def test_each_caption_stands_beside_its_video_and_the_other_language_s_of_that_number():
    examples = caption_examples(SPLIT, TEXT, VOCABULARIES, max_words=4, max_segments=5)
    assert isinstance(examples, Examples)
    assert examples.video.tolist() == [0, 0, 1, 2]
    assert decoded(examples, "en") == ["a dog runs", "a cat", "", "the end of it"]
    assert decoded(examples, "zh") == ["狗", "", "猫 🐈 睡 觉", ""]
    assert examples.lengths().tolist() == [[4, 2, 3], [3, 0, 3], [0, 5, 0], [5, 0, 5]]
    assert [ids[-1] for ids in examples.targets["en"] if len(ids)] == [EOS] * 3


def test_one_language():
    examples = caption_examples(SPLIT, TEXT, {"en": VOCABULARIES["en"]}, max_words=4, max_segments=5)
    assert decoded(examples, "en") == ["a dog runs", "a cat", "the end of it"]
    assert examples.words == 1


def test_a_batch_pads_words_segments_and_rows():
    examples = caption_examples(SPLIT, TEXT, VOCABULARIES, max_words=4, max_segments=5)
    batch = assemble(examples, [3, 2], (6, 5, 5), 3)
    assert batch["index"].tolist() == [3, 2, -1]
    assert (batch["target_en"] > 0).sum(1).tolist() == [5, 0, 0]
    assert (batch["target_zh"] > 0).sum(1).tolist() == [0, 5, 0]
    assert batch["video_mask"].sum(1).tolist() == [5, 0, 0]
    assert batch["video"][0].tolist() == [[3, 3]] * 5
    assert not batch["video"][1:].any()


def test_training_batches_hold_every_example_once():
    examples = caption_examples(SPLIT, TEXT, VOCABULARIES, max_words=4, max_segments=5)
    batches = TrainingBatches(examples, batch_size=3, seed=0)
    rows = [row for step in range(batches.steps_per_epoch) for row in batches.batch(step)["index"].tolist()]
    assert sorted(row for row in rows if row >= 0) == [0, 1, 2, 3]


def test_videos_are_decoded_once_each_longest_first():
    videos = VideoExamples(SPLIT.features, 5)
    assert isinstance(videos, Examples)
    found = list(decoding_batches(videos, 2))
    assert [rows.tolist() for rows, _ in found] == [[2, 0], [1]]
    assert found[0][1].keys() == {"index", "video", "video_mask"}
    assert found[0][1]["video"].shape == (2, 8, 2)
    assert found[0][1]["video_mask"].sum(1).tolist() == [5, 3]
    assert found[1][1]["video"].shape == (2, 0, 2)
