"""What tells the sense of a word in the simulated world: the segments of its event; not its sentence, nor the mean."""

import collections
import itertools

import numpy as np
import pytest

from tfds_builders.vatex_sim import lexicon, templates
from tfds_builders.vatex_sim.world import DIMENSIONS, World

# Largest of some 100 standard normal deviates by chance in less than one world of a thousand.
LARGEST_DEVIATE = 4.5


@pytest.fixture(scope="module")
def world():
    return World(0)


def _kinds(world, event, language="en"):
    """The kinds of the event's words that are ambiguous in a language: one, or none where it has no such word."""
    return {world.kind(c) for c in event.concepts() if lexicon.CONCEPTS[c].ambiguous_in == language}


def _deviate(kinds):
    """How many standard errors the mean of fair coins lies from 1/2."""
    return abs(np.sum(kinds) - len(kinds) / 2) / (np.sqrt(len(kinds)) / 2)


def _opposite(events):
    """The pairs of a video's events that hold the same word."""
    words = [{concept // 2 for concept in event.concepts()} for event in events]
    return [(i, j) for i, j in itertools.combinations(range(len(events)), 2) if words[i] & words[j]]


def test_the_kind_of_an_event_decides_its_senses_and_events_that_share_a_word_are_of_opposite_kinds(world):
    several = contrasting = 0
    for video in world.videos("train"):
        for language in ("en", "zh"):
            assert all(len(_kinds(world, event, language)) <= 1 for event in video.events)
            for i, j in _opposite(video.events):
                assert not _kinds(world, video.events[i], language) & _kinds(world, video.events[j], language)
        several += len(video.events) > 1
        contrasting += bool(_opposite(video.events))
    assert contrasting / several > 0.99


def test_each_word_has_a_sense_of_either_kind_as_often_and_no_order_in_the_lexicon(world):
    assert all(world.kind(c) == 1 - world.kind(c ^ 1) for c in range(len(lexicon.CONCEPTS)))
    first = [world.kind(c) for c in range(0, len(lexicon.CONCEPTS), 2)]
    assert 20 <= sum(first) <= 42  # of 62; three standard errors
    senses = collections.defaultdict(list)
    for video in world.videos("train"):
        for event, concept in itertools.product(video.events, range(3)):
            senses[event.concepts()[concept] // 2].append(event.concepts()[concept] % 2)
    assert min(map(len, senses.values())) > 60
    assert max(map(_deviate, senses.values())) < LARGEST_DEVIATE


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_word_of_a_sentence_nor_its_template_tells_the_kind_of_its_events(world, language):
    """A sentence's own nouns, verbs, colours, agents and places, as written; one vote an event and word."""
    found = collections.defaultdict(dict)
    for video in world.videos("train"):
        for telling in video.parallel():
            for number in {slot[1] for slot, _ in telling.fillers}:
                mine = templates.Telling(telling.template, tuple(f for f in telling.fillers if f[0][1] == number))
                hidden = [c for c in mine.concepts() if lexicon.CONCEPTS[c].ambiguous_in == language]
                agent = next(filler[1] for slot, filler in mine.fillers if slot[0] == "A")
                for word in (*templates.content_words(mine, language), (telling.template, number)):
                    if hidden:
                        found[word][video.video_id, agent] = world.kind(hidden[0])
    deviates = {word: _deviate(list(kinds.values())) for word, kinds in found.items() if len(kinds) >= 30}
    assert len(deviates) > 100
    assert {word for word, deviate in deviates.items() if deviate > LARGEST_DEVIATE} == set()


def test_the_guess_without_video_is_of_one_kind_an_event_and_of_opposite_kinds_for_two(world):
    """Senses of both kinds in one event never happen: a guess word by word would mostly have probability 0."""
    guess = world.kind(int(world.likelier[0]))
    assert {world.kind(2 * word + int(sense)) for word, sense in enumerate(world.likelier)} == {guess}
    for video in world.videos("test"):
        for telling, (source, target) in itertools.product(video.parallel(), (("en", "zh"), ("zh", "en"))):
            senses = world.most_probable_senses(telling, source)
            assert senses.keys() == world.senses(telling, source).keys()
            told = templates.parse(templates.render(telling, source), source, senses)
            for slot, filler in told.fillers:
                if slot[0] in "VNM" and lexicon.CONCEPTS[filler[-1]].ambiguous_in == source:
                    assert world.kind(filler[-1]) == (guess if slot[1] == "1" else 1 - guess)
            assert world.ceiling(telling, source) == templates.render(told, target)


def _probe(train, labels, test):
    """Scores [tests, classes] of ridge regression on one-hot labels."""
    targets = np.eye(labels.max() + 1)[labels]
    design = train.T @ train + 20.0 * np.eye(DIMENSIONS)
    return test @ np.linalg.solve(design, train.T @ (targets - targets.mean(0)))


def test_linear_probes_read_agent_kind_and_senses_from_one_segment(world):
    def segments(split, count):
        rows, events = [], []
        for index, video in enumerate(world.videos(split)[:count]):
            starts = np.cumsum([0] + [event.length for event in video.events[:-1]])
            rows.extend(world.features(split, index)[starts + 1])
            events.extend(video.events)
        facts = [(event.agent, max(_kinds(world, event), default=-1), *event.concepts()) for event in events]
        return np.array(rows), np.array(facts)

    (train, known), (test, truth) = segments("train", 2000), segments("test", 200)
    for column in (0, 1):
        told, asked = known[:, column] >= 0, truth[:, column] >= 0
        scores = _probe(train[told], known[told, column], test[asked])
        assert np.mean(scores.argmax(1) == truth[asked, column]) >= 0.95
    rows = np.arange(len(test))
    for column in (2, 3, 4):
        scores = _probe(train, known[:, column], test)
        assert np.mean(scores[rows, truth[:, column]] > scores[rows, truth[:, column] ^ 1]) >= 0.95


def test_the_mean_feature_does_not_tell_which_of_two_events_is_of_which_kind(world):
    """Even to a reader who knows the directions: the kind that prevails in it is not that of the clearer agent."""
    agents, kinds = world._directions["agent"], world._directions["kind"][0]
    right = []
    for index, video in enumerate(world.videos("train")):
        truth = [_kinds(world, event) for event in video.events]
        if len(video.events) != 2 or not _opposite(video.events) or not all(truth):
            continue
        mean = world.features("train", index).mean(0)
        first, second = (agents[event.agent] @ mean / np.sum(agents[event.agent] ** 2) for event in video.events)
        prevailing = int((mean - kinds.mean(0)) @ (kinds[1] - kinds[0]) > 0)
        right.append((prevailing in truth[0]) == (first > second))
    assert len(right) > 700
    assert abs(np.mean(right) - 0.5) < 0.08
