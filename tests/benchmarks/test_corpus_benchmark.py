"""The benchmark of corpus analysis at a small size: what it makes up, and that both sides count alike."""

import pytest

from benchmarks import corpus
from benchmarks.corpus import Plan

SMALL = Plan(captions=400, vocabulary=300, tagged=20, rounds=1)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_captions_are_made_up_alike_and_as_long_as_planned(language):
    texts = SMALL.texts(language)
    assert texts == SMALL.texts(language)
    assert len(texts) == 400
    if language == "en":
        words = sum(len(text.split()) for text in texts) / 400
        assert words == pytest.approx(corpus.MEAN_WORDS["en"], rel=0.1)
    assert len(set(texts)) > 390


def test_both_sides_count_alike_and_the_whole_runs():
    ours, peer = corpus.Ours(SMALL), corpus.Peer(SMALL)
    assert ours.ngrams()[2] == peer.ngrams()[2]
    for language in ("en", "zh"):
        assert ours.whole(language)[0] > 0
    assert "%" in ours.whole("en", True)[1]


def test_tags_of_both_sides():
    assert corpus.Ours(SMALL).tags() > 0 < corpus.Peer(SMALL).tags()
