"""The simulated world of images and dialogues: acceptance on two seeds, what is asked and answered, seeds, features."""

import collections
import itertools
import re

import numpy as np
import pytest

from tfds_builders.visdial_sim import acceptance, lexicon
from tfds_builders.visdial_sim.answers import spoken, yes_no
from tfds_builders.visdial_sim.topics import TYPES, pronouns, tables
from tfds_builders.visdial_sim.world import DIMENSIONS, SIZES, SPLITS, World, present

TINY = World(0, "tiny")
TOPICS = tables().topics
WRONG = re.compile(r"\ba [aeio]|[{}|]|  ")  # an article, or what is left of a template


@pytest.fixture(scope="module")
def world():
    return World(0)


def _rounds(world, split):
    """Dialogue, turn, topic, the image's values by name, and content of every round of a split."""
    found = world.dialogues(split)
    for index, row in enumerate(found.values):
        image = {a.name: a.values[v] if v >= 0 else None for a, v in zip(lexicon.ATTRIBUTES, row, strict=True)}
        for turn, content in enumerate(found.contents[index]):
            name, _, said = world.tables.class_names[content].rpartition("/")
            assert name == TOPICS[found.topics[index, turn]].name
            yield index, turn, TOPICS[found.topics[index, turn]], image, said


@pytest.mark.parametrize("world_seed", [0, 1])
def test_default_worlds_meet_every_requirement(world, world_seed):
    figures = acceptance.report(World(world_seed) if world_seed else world)
    assert acceptance.check(figures) == []
    assert set(acceptance.REQUIREMENTS) <= set(figures)


def test_check_names_what_fails():
    figures = {name: (low + high) / 2 for name, (low, high) in acceptance.REQUIREMENTS.items()}
    assert acceptance.check(figures) == []
    figures["paraphrases/mean"] = 3.9
    assert acceptance.check(figures) == ["paraphrases/mean is 3.9, must be from 4 to 20"]


def test_answers_of_a_content_by_hand():
    assert spoken(("{v}", "it is {v}", "looks {v}"), {"gray": ("gray", "grey")}) == {
        "gray": ("gray", "grey", "it is grey", "it is gray", "looks gray")
    }
    answers = yes_no("it is", "it is not", "yes, a hat", "no hat | bare", unclear=True)
    assert list(answers) == ["yes", "no", "unclear"]
    assert answers["yes"][:6] == ("yes", "yes it is", "i think so", "yes, it is", "yes, a hat", "looks like it")
    assert answers["no"][3:6] == ("no it is not", "no hat", "bare")
    assert lexicon.with_articles("a elephant and a unicorn in a office") == "an elephant and a unicorn in an office"
    assert (lexicon.plural("bus"), lexicon.plural("dog")) == ("buses", "dogs")
    assert [pronouns(kind)[0] for kind in ("boy", "woman", "truck")] == ["he", "she", "it"]


def test_an_answer_says_one_thing_on_a_topic_but_may_say_it_on_many():
    said = tables()
    members = said.members()
    for topic in range(len(TOPICS)):
        assert members[said.class_topic == topic].sum(0).max() == 1, TOPICS[topic].name
    questions = {question for topic in TOPICS for question in (*topic.questions, *topic.by_pronoun)}
    assert not [text for text in (*said.answers, *questions, *TINY.dialogues("train").captions) if WRONG.search(text)]
    sizes = members.sum(1)
    assert sizes.tolist() == (said.paraphrases >= 0).sum(1).tolist()  # no answer twice in a class
    assert sizes.min() >= 7
    assert len(set(said.answers)) == len(said.answers)
    assert np.allclose(said.popularity.sum(1), 1)
    assert (np.diff(said.popularity[:, :8], axis=1) <= 0).all()
    yes, two = said.answers.index("yes"), said.answers.index("2")
    assert {TOPICS[t].type for t in said.class_topic[members[:, yes]]} > {"presence", "hat", "sunny", "moving"}
    assert {said.class_names[c] for c in np.flatnonzero(members[:, two])} > {"count:dog/2", "count of people/2"}


def test_near_contents_are_of_one_topic():
    said = tables()
    names = {said.class_names[c]: c for c in range(len(said.class_names))}
    assert said.near[names["count:dog/2"], names["count:dog/3"]]
    assert not said.near[names["count:dog/2"], names["count:cat/3"]]
    assert not said.near[names["count:dog/1"], names["count:dog/3"]]
    assert (said.near == said.near.T).all()
    contents = {name.rpartition("/")[2] for name in said.class_names}
    assert {word for pair in lexicon.NEAR for word in pair} <= contents


def test_the_image_and_the_thing_asked_about_decide_what_is_answered(world):
    """The contents of eight types, read from the image without the world's tables."""
    reading = {
        "sunny": lambda image, _: {"sunny": "yes", "unclear": "unclear"}.get(image["weather"], "no"),
        "other people": lambda image, _: "no" if image["people"] == "1" else "yes",
        "count of people": lambda image, _: image["people"],
        "outdoors": lambda image, _: "yes" if image["setting"] == "outdoors" else "no",
        "indoors": lambda image, _: "no" if image["setting"] == "outdoors" else "yes",
        "gender": lambda image, _: "male" if image["person.kind"] in ("man", "boy") else "female",
        "presence": lambda image, topic: image[f"background.{topic.subject}"],
        "color": lambda image, topic: next(
            image[f"{role}.color"] for role, kinds in lexicon.ROLES.items() if topic.subject in kinds
        ),
    }
    read = collections.Counter()
    for _, _, topic, image, content in _rounds(world, "validation"):
        if topic.type in reading:
            assert reading[topic.type](image, topic) == content, topic.name
            read[topic.type] += 1
    assert read.keys() == reading.keys()
    found = world.dialogues("train")
    assert world.members[found.contents, found.answers].all()


def test_dialogues_ask_ten_topics_of_things_that_are_there(world):
    topics = set()
    for (_, _, topic, image, _), captions in zip(
        _rounds(world, "validation"), np.repeat(world.dialogues("validation").captions, 10), strict=True
    ):
        role = TYPES[topic.slot].role
        topics.add(topic.name)
        assert not role or image[f"{role}.kind"] == topic.subject
        for role, kinds in lexicon.ROLES.items():
            named = set(captions.split()) & set(kinds)
            assert named == {image[f"{role}.kind"]} - {lexicon.NONE}
    assert len(topics) > 120
    slots = np.array([topic.slot for topic in TOPICS])[world.dialogues("train").topics]
    assert (np.diff(np.sort(slots, axis=1), axis=1) > 0).all()


def test_a_pronoun_stands_for_the_thing_of_the_round_before(world):
    before = None
    for index, turn, topic, _, _ in _rounds(world, "train"):
        question = world.question("train", index, turn)
        words = question.replace("'s", "").split()
        assert question == question.lower()
        assert "?" not in question
        if world.dialogues("train").pronouns[index, turn]:
            assert turn > 0
            assert topic.subject == before
            assert topic.subject not in words
            assert set(pronouns(topic.subject)) & set(words) or topic.type == "count"
        elif TYPES[topic.slot].role and topic.type != "other people":
            assert topic.subject in words or lexicon.plural(topic.subject) in words
        before = None if topic.type == "other people" else topic.subject


def test_popular_answers_and_priors_are_as_designed(world):
    found = world.dialogues("train")
    yes = np.char.endswith(np.array(world.tables.class_names)[found.contents], "/yes")
    share = np.mean(found.answers[yes] == world.answers.index("yes"))
    assert abs(share - 0.6) < 0.03  # of some 6,000: over four standard errors
    first = collections.Counter(TOPICS[topic].type for topic in found.topics[:, 0])
    assert abs(first["in color"] / (first["in color"] + first["weather"]) - 2.6 / 3.8) < 0.12  # four standard errors
    outdoors = found.values[:, lexicon.INDEX["setting"]] == 1
    trees = found.values[:, lexicon.INDEX["background.trees"]] == 0
    assert abs(outdoors.mean() - 0.58) < 0.04
    assert abs(trees[outdoors].mean() - 0.75) < 0.05
    assert abs(trees[~outdoors].mean() - 0.10) < 0.05
    assert abs(present(found.values, "vehicle")[outdoors].mean() - 0.65) < 0.05
    for role in lexicon.ROLES:
        own = [i for i, attribute in enumerate(lexicon.ATTRIBUTES) if attribute.role == role]
        assert ((found.values[:, own] < 0).all(1) == ~present(found.values, role)).all()
        assert ((found.values[:, own] >= 0).all(1) == present(found.values, role)).all()
    assert all(np.allclose(np.sum(attribute.priors, axis=1), 1) for attribute in lexicon.ATTRIBUTES)


def test_a_feature_vector_is_the_sum_of_its_values_directions_and_noise(world):
    directions = world.directions
    assert np.allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-5)
    features = world.features("test")
    assert (features.dtype, features.shape) == (np.float32, (300, DIMENSIONS))
    first = np.cumsum([0, *(len(attribute.values) for attribute in lexicon.ATTRIBUTES)])
    values = world.dialogues("test").values
    signal = np.array([sum(directions[first[i] + v] for i, v in enumerate(row) if v >= 0) for row in values])
    assert abs((features - signal).std() - 0.2) < 0.003
    decoded = world.decode(signal)
    assert (decoded == values)[values >= 0].all()


def test_the_same_seed_gives_the_same_world_in_any_order_and_another_seed_another_one():
    again, other = World(0, "tiny"), World(1, "tiny")
    for split in reversed(SPLITS):
        assert np.array_equal(again.annotations(split).relevance, TINY.annotations(split).relevance)
        assert np.array_equal(again.options(split)[0], TINY.options(split)[0])
        assert again.features(split).tobytes() == TINY.features(split).tobytes()
        assert again.dialogues(split).captions == TINY.dialogues(split).captions
        for field in ("values", "topics", "answers", "questions"):
            assert not np.array_equal(getattr(other.dialogues(split), field), getattr(TINY.dialogues(split), field))
    assert sorted(other.answers) == sorted(TINY.answers)
    assert other.answers != TINY.answers
    assert not np.allclose(other.directions, TINY.directions)
    ids = np.concatenate([TINY.image_ids(split) for split in SPLITS])
    assert len(set(ids.tolist())) == sum(SIZES["tiny"].values()) == 40


def test_expected_ranks_and_ndcg_are_means_over_all_orders_of_ties():
    scores = np.array([[0.5, 0.9, 0.5, 0.1, 0.5], [1.0, 1.0, 0.0, 0.0, 0.0], [3.0, 1.0, 2.0, 0.0, -1.0]])
    relevance = np.array([[0.2, 0.0, 0.8, 0.4, 0.0], [0.0, 1.0, 0.0, 0.6, 0.0], [0.0, 0.4, 0.0, 0.0, 0.0]])
    places = np.array([2, 1, 4])
    ranks, first = acceptance.expected_ranks(scores, places)
    assert ranks.tolist() == [3.0, 1.5, 5.0]
    assert first.tolist() == [0.0, 0.5, 0.0]
    for row in range(3):
        values = []
        for order in itertools.permutations(range(5)):
            if (np.diff(scores[row, list(order)]) <= 0).all():
                kept = int((relevance[row] > 0).sum())
                gains = relevance[row, list(order)][:kept] / np.log2(np.arange(2, kept + 2))
                ideal = np.sort(relevance[row])[::-1][:kept] / np.log2(np.arange(2, kept + 2))
                values.append(gains.sum() / ideal.sum())
        assert np.isclose(acceptance.expected_ndcg(scores, relevance)[row], np.mean(values))


def test_the_question_only_ranker_knows_no_more_than_the_words_of_the_question():
    train = TINY.dialogues("train")
    frequencies = acceptance.Frequencies(TINY)
    every = np.tile(np.arange(len(TINY.answers)), (train.topics.size, 1))
    scores = np.floor(frequencies.question_only(train, every))
    asked = []
    for topic, pronoun in zip(train.topics.ravel(), train.pronouns.ravel(), strict=True):
        name, subject = TOPICS[topic].type, TOPICS[topic].subject
        if name == "other people":
            subject = ""
        asked.append((name, pronouns(subject)[0] if pronoun and name != "count" else subject * (not pronoun)))
    counts = collections.Counter(zip(asked, train.answers.ravel().tolist(), strict=True))
    for row, key in enumerate(asked):
        assert scores[row].tolist() == [counts[key, answer] for answer in every[row].tolist()]
