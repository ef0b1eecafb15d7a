"""Candidate lists and dense annotations of the simulated world."""

import numpy as np
import pytest

from tfds_builders.visdial_sim import annotators, candidates
from tfds_builders.visdial_sim.topics import tables
from tfds_builders.visdial_sim.world import World


@pytest.fixture(scope="module")
def world():
    return World(2)


def test_the_first_different_answers_of_a_row_are_kept_in_their_places():
    rows = np.array([[3, -1, 3, 1, 2, 1], [5, 5, 5, -1, -1, 0]], np.int16)
    assert candidates._distinct(rows, 2).tolist() == [[3, -1, -1, 1, -1, -1], [5, -1, -1, -1, -1, 0]]
    assert candidates._distinct(rows, 9).tolist() == [[3, -1, -1, 1, 2, -1], [5, -1, -1, -1, -1, 0]]


@pytest.mark.parametrize("size", ["tiny", "default"])
def test_lists_hold_the_answer_once_the_popular_ones_and_up_to_fifty_similar_ones(size):
    world = World(0, size)
    train, found = world.dialogues("train"), world.dialogues("validation")
    options, gt_index = world.options("validation")
    counts = np.bincount(train.answers.ravel(), minlength=len(world.answers))
    popular = set(sorted(range(len(counts)), key=lambda answer: (-counts[answer], answer))[:30])
    alike = 0
    for index in range(8):
        for turn in range(10):
            row, answer = options[index, turn].tolist(), found.answers[index, turn]
            assert len(set(row)) == len(row) == 100
            assert row.index(answer) == gt_index[index, turn]
            assert popular <= set(row)
            said = set(train.answers[train.topics == found.topics[index, turn]].tolist())
            alike += len(said & set(row) - popular)
    if size == "default":
        assert 8 < alike / 80 < 50


def test_similar_answers_come_from_the_topic_then_the_type_then_the_family():
    """Three topics with training answers of their own: of one topic, type and family the next are told apart."""
    said = tables()
    names = [topic.name for topic in said.topics]
    dog, cat, hair = (names.index(name) for name in ("color:dog", "color:cat", "hair color:man"))
    table = 300
    answers = np.arange(120)  # dog: 0-39, cat: 40-79, hair: 80-119, once each; all are said once
    pool = candidates.pools(said, np.repeat([dog, cat, hair], 40), answers, table)
    options, gt_index = candidates.draw(np.random.default_rng(0), pool, np.full(500, dog), np.full(500, 299))
    assert (options[np.arange(500), gt_index] == 299).all()
    assert pool.popular.tolist() == list(range(30))
    for answer in (299, 0):  # of neither the place in a list tells anything
        assert abs((options == answer).argmax(1).mean() - 49.5) < 6  # over four standard errors
    held = np.zeros((500, table), bool)
    np.put_along_axis(held, options, True, axis=1)
    shares = [held[:, start:end].mean() for start, end in ((30, 40), (40, 80), (80, 120), (120, 299))]
    # 55 draws of 40 leave 1 - exp(-55/40) of the topic's own; the limit of 50 leaves no room for the family's.
    assert shares[0] > 0.7
    assert shares[0] > shares[1] + 0.1
    assert shares[1] > shares[2] + 0.1
    assert abs(shares[2] - shares[3]) < 0.05
    alone = candidates.draw(np.random.default_rng(0), pool, np.full(500, names.index("weather")), np.full(500, 299))[0]
    assert (np.sort(alone, axis=1)[:, :30] == np.arange(30)).all()  # no similar question: popular and random ones


def test_a_table_too_small_for_a_list_is_an_error():
    said = tables()
    pool = candidates.pools(said, np.zeros(90, int), np.arange(90), 90)
    with pytest.raises(ValueError, match="90 answers is too small"):
        candidates.draw(np.random.default_rng(0), pool, np.zeros(1, int), np.zeros(1, int))


def _items(world):
    """400 items of the training split, their options, and what annotators make of them."""
    rng = np.random.default_rng(5)
    contents = world.dialogues("train").contents[:400, 3]
    options = world.options("train")[0][:400, 3]
    seen, relevance = annotators.annotate(rng, world.tables, world.members, world.answers, contents, options)
    return contents, options, seen, relevance


def test_annotators_judge_by_the_content_they_see(world, monkeypatch):
    monkeypatch.setattr(annotators, "_DIVIDED", 0.0)
    contents, options, seen, relevance = _items(world)
    said = world.tables
    assert np.sum(seen != contents) == 34  # 8.5% of 400
    assert (said.class_topic[seen] == said.class_topic[contents]).all()
    assert np.allclose(relevance * 5, np.round(relevance * 5), atol=1e-6)
    inside = world.members[seen[:, None], options]
    hedged = np.array(["think" in answer or "look" in answer for answer in world.answers])[options]
    near = ((said.near.astype(int) @ world.members.astype(int)) > 0)[seen[:, None], options] & ~inside
    plain = relevance[inside & ~hedged].mean()
    assert abs(plain - 0.72) < 0.04  # between 0.50 and 0.97, a little lower for the other hedges
    assert abs(relevance[inside & hedged].mean() - 0.75 * 0.735) < 0.04
    assert abs(relevance[near].mean() - 0.05) < 0.01
    assert abs(relevance[~near & ~inside].mean() - 0.002) < 0.001
    of_item = np.array([relevance[item][inside[item]].mean() for item in range(400)])
    assert of_item.std() > 0.12  # clear items and vague ones


def test_in_divided_items_no_answer_pleases_all(world, monkeypatch):
    monkeypatch.setattr(annotators, "_DIVIDED", 1.0)
    monkeypatch.setattr(annotators, "_MISSEEN", 0.0)
    monkeypatch.setattr(annotators, "_NEAR", 0.0)
    monkeypatch.setattr(annotators, "_OTHER", 0.0)
    contents, options, seen, relevance = _items(world)
    assert (seen == contents).all()
    assert relevance.max() <= np.float32(0.8)
    inside = world.members[seen[:, None], options]
    assert relevance[inside].mean() > 0.4
    assert relevance[~inside].max() <= np.float32(0.4)
    minority = (relevance * ~inside).max(1)
    assert (minority > 0).mean() > 0.8


def test_items_whose_annotators_reject_all_are_judged_anew(world, monkeypatch):
    monkeypatch.setattr(annotators, "_CLEAR", 0.02)
    monkeypatch.setattr(annotators, "_VAGUE", 0.01)
    *_, relevance = _items(world)
    assert relevance.any(1).all()
    assert (relevance > 0).sum(1).mean() < 4


def test_annotated_rounds_are_one_a_dialogue_and_any_of_the_ten(world):
    for split, count in (("train", 400), ("validation", 300), ("test", 300)):
        annotations = world.annotations(split)
        assert len(np.unique(annotations.dialogues)) == count == len(annotations.rounds)
        counts = np.bincount(annotations.rounds, minlength=10)
        assert np.sum((counts - count / 10) ** 2 / (count / 10)) < 30  # chi-square of 9, by chance once in 2,000
        assert len(counts) == 10
    assert world.annotations("train").dialogues.max() > 2900
