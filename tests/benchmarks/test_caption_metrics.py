"""The made-up captions and the comparison of scores; the metrics themselves are tested elsewhere."""

import numpy as np
import pytest

from benchmarks import caption_metrics
from benchmarks.caption_metrics import Plan, chinese_words, english_words, largest_difference

SMALL = Plan(videos=40, references=3, vocabulary=500)


def test_words_are_distinct_and_common_ones_come_first():
    for words in (english_words(700), chinese_words(700)):
        assert len(set(words)) == len(words) == 700
    assert english_words(700)[:3] == ["a", "the", "is"]
    assert english_words(5) == english_words(700)[:5]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_captions_are_as_documented(language):
    hypotheses, references = SMALL.captions(language)
    assert len(hypotheses) == len(references) == 40
    assert {len(several) for several in references} == {3}
    words = np.mean([len(line.split()) for line in hypotheses])
    assert 12 < words < 18 if language == "en" else words == 1
    assert (hypotheses, references) == SMALL.captions(language)


def test_captions_of_a_video_share_words():
    hypotheses, references = SMALL.captions("en")

    def shared(shift):
        pairs = zip(hypotheses, references[shift:] + references[:shift], strict=True)
        return np.mean([len(set(one.split()) & set(several[0].split())) for one, several in pairs])

    assert shared(0) > 1.3 * shared(1)


def test_the_largest_difference_is_found_in_captions_and_corpus():
    def scores(corpus, captions):
        return {"cider": corpus, "meteor": 0.5}, {"cider": np.array(captions), "meteor": np.array([0.5, 0.5])}

    assert largest_difference(scores(0.1, [0.1, 0.2]), scores(0.1, [0.1, 0.2])) == 0
    assert largest_difference(scores(0.1, [0.1, 0.2]), scores(0.1, [0.4, 0.2])) == pytest.approx(0.3)
    assert largest_difference(scores(0.1, [0.1, 0.2]), scores(0.6, [0.1, 0.2])) == pytest.approx(0.5)


@pytest.mark.slow
def test_both_sides_score_alike():
    results = caption_metrics.run(Plan(videos=60, references=3, vocabulary=500, rounds=1))
    assert results["largest_difference"] < 1e-9
    assert "60 videos" in caption_metrics.table(results)
