"""What CCA-AQ is trained on, on two splits of three dialogues each that are written out below."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from configs import cca as configs
from vatex_jax.cca.cca import fit
from vatex_jax.data.dialogues import NONE, Dialogues
from vatex_jax.data.sources import Source
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.experiments import cca, rankers, training_pairs
from vatex_jax.experiments.cca_data import CCAData, Turns, _copies, joined, rounds_of
from vatex_jax.text.vectors import WordVectors
from vatex_jax.text.vocabulary import Vocabulary

C = 5  # candidates
Q = {"train": [[0, 1], [2, 0], [2, NONE]], "validation": [[2, 2], [0, 1], [1, NONE]]}
OPTIONS = {
    "train": [[[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]], [[5, 4, 3, 2, 1], [0, 2, 4, 5, 1]], [[1, 0, 5, 4, 3], [NONE] * 5]],
    "validation": [[[0, 1, 2, 3, 5], [1, 2, 3, 4, 0]], [[5, 4, 3, 2, 1], [0, 2, 4, 5, 1]], [[1, 0, 5, 4, 3], [-1] * 5]],
}  # fmt: skip
GT = {"train": [[0, 1], [2, 3], [4, NONE]], "validation": [[1, 1], [0, 0], [NONE, NONE]]}
# Dialogue 0 is annotated in its second round, which rejects the ground truth, dialogue 2 in its first.
RATED = {"train": [1, NONE, 0], "validation": [NONE, 0, NONE]}
RELEVANCE = {
    "train": [[0.5, 0, 0, 0.25, 0], [0] * C, [0, 1, 0, 0, 1]],
    "validation": [[0] * C, [0, 0, 1, 0, 0], [0] * C],
}


def split(name: str) -> Dialogues:
    options, gt = np.array(OPTIONS[name], np.int32), np.array(GT[name], np.int32)
    answers = np.where(gt >= 0, np.take_along_axis(options, np.maximum(gt, 0)[..., None], 2)[..., 0], NONE)
    return Dialogues(
        name=name,
        image_ids=np.arange(3, dtype=np.int64),
        captions=("",) * 3,
        rounds=np.array([2, 2, 1], np.int32),
        question_table=("a", "b", "c"),
        answer_table=tuple("uvwxyz"),
        questions=np.array(Q[name], np.int32),
        answers=answers.astype(np.int32),
        options=options,
        gt_index=gt,
        relevance_round=np.array(RATED[name], np.int32),
        relevance=np.array(RELEVANCE[name], np.float32),
        images=np.zeros((3, 0), np.float32),
    )


def data(copies=(1, 1, 1)) -> CCAData:
    rng = np.random.default_rng(0)
    train, validation = split("train"), split("validation")
    asked = {part.name: part.questions for part in (train, validation)}
    times = {"train": np.array(copies), "validation": np.ones(3, int)}
    nothing = Turns(*(np.zeros(0, int) for _ in range(4)))
    return CCAData(
        source=Source("by hand", "1", Path(), simulated=True, stand_in=False, builder=None),
        train=train,
        test=split("validation"),
        validation=validation,
        words=WordVectors(Vocabulary.build([], 1), np.zeros((5, 2), np.float32), np.zeros(5, bool), "by hand"),
        questions=rng.normal(size=(3, 2)).astype(np.float32),
        answers=rng.normal(size=(6, 2)).astype(np.float32),
        question_texts=("a", "b", "c"),
        answer_texts=tuple("uvwxyz"),
        asked=asked,
        copies=times,
        training=rounds_of(train, train.answered, train.questions, times["train"]),
        turns=nothing,
        options=np.zeros((0, C), int),
        gt_index=np.zeros(0, int),
        question_gaps=0.0,
        answer_gaps=0.0,
        fingerprint="",
    )


def config(variant: str):
    made = configs.get_config(variant)
    made.cca.update({"k": 1, "regularization": 0.1})
    return made


def counted(pairs) -> dict[tuple[int, int], int]:
    return {(a, q): n for a, q, n in zip(pairs.answers, pairs.questions, pairs.counts, strict=True)}


def tally(pairs) -> dict[tuple[int, int], int]:
    found = {}
    for pair in pairs:
        found[pair] = found.get(pair, 0) + 1
    return found


def test_each_question_with_its_ground_truth():
    assert counted(training_pairs.training_pairs(config("aq"), data())) == tally(
        [(0, 0), (2, 1), (3, 2), (5, 0), (3, 2)]
    )


def test_the_annotated_rounds_with_their_ground_truth():
    assert counted(training_pairs.training_pairs(config("aq_dense_gt"), data())) == tally([(2, 1), (3, 2)])


def test_the_annotated_rounds_with_peoples_set_and_the_rejected_ground_truth():
    # Round 1 of dialogue 0: candidates 0 and 3, and the ground truth 1; round 0 of dialogue 2: candidates 1 and 4.
    found = training_pairs.training_pairs(config("aq_dense_h"), data())
    assert counted(found) == tally([(1, 1), (4, 1), (2, 1), (0, 2), (3, 2)])


def test_a_dialogue_counts_as_often_as_it_is_drawn():
    found = training_pairs.training_pairs(config("aq_dense_h"), data(copies=(3, 1, 0)))
    assert counted(found) == tally(3 * [(1, 1), (4, 1), (2, 1)])
    found = training_pairs.training_pairs(config("aq"), data(copies=(0, 2, 0)))
    assert counted(found) == tally(2 * [(3, 2), (5, 0)])


@pytest.mark.parametrize("letter", ["S", "M", "G"])
@pytest.mark.parametrize("rounds", ["dense", "train", "trainval"])
def test_sets_are_those_that_cca_star_finds(monkeypatch, letter, rounds):
    """In pieces of one round, so that counts are summed over pieces."""
    monkeypatch.setattr(training_pairs, "_PIECE", 1)
    made, given = config(f"aq_{rounds}_{letter.lower()}"), data()
    people = training_pairs.training_pairs(config("aq_dense_h"), given)
    star = fit([given.answers[people.answers], given.questions[people.questions]], 1, weights=people.counts,
               regularization=0.1)  # fmt: skip
    expected = []
    for name in ("train", "validation") if rounds == "trainval" else ("train",):
        part = split(name)
        for dialogue, turn in np.argwhere(part.judged):
            if rounds == "dense" and part.relevance_round[dialogue] != turn:
                continue
            options, gt = part.options[dialogue, turn], part.gt_index[dialogue, turn]
            row = star.correlate(0, given.answers[options[gt]][None], 0, given.answers[options])
            construct = training_pairs.constructions(made.training.clusters)[letter]
            (members,) = construct(row.astype(np.float32), np.array([gt]))
            expected += [(int(option), int(part.questions[dialogue, turn])) for option in options[members]]
    assert counted(training_pairs.training_pairs(made, given)) == tally(expected)


def test_star_is_fitted_on_the_annotations_that_are_named():
    made, given = config("aq_train_s"), data()
    of_train = training_pairs.fit_star(made, given)
    made.training.annotations = "trainval"
    both = training_pairs.fit_star(made, given)
    # Validation adds dialogue 1's first round: candidate 2, and its ground truth 0, which people rejected.
    pairs = [(1, 1), (4, 1), (2, 1), (0, 2), (3, 2), (3, 0), (5, 0)]
    answers, questions = np.array(pairs).T
    expected = fit([given.answers[answers], given.questions[questions]], 1, regularization=0.1)
    np.testing.assert_allclose(both.eigenvalues, expected.eigenvalues, atol=1e-10)
    assert abs(of_train.eigenvalues - both.eigenvalues).max() > 1e-6


def test_without_annotations_it_is_said():
    given = data()
    given = dataclasses.replace(
        given, train=dataclasses.replace(given.train, relevance_round=np.full(3, NONE, np.int32))
    )
    with pytest.raises(DataError, match="by hand has no annotated round in train"):
        training_pairs.fit_star(config("aq_train_s"), given)


def test_what_cca_refuses_names_the_model_its_views_and_the_fields():
    """Three questions in the annotated rounds of train cannot give three components."""
    made = config("aq_dense_gt")
    made.cca.k = 3
    with pytest.raises(DataError) as refused:
        rankers.fit_cca(made, data())
    text = str(refused.value)
    assert text.startswith("CCA-AQ on annotated rounds of train, each question with its ground truth: CCA: 2 rows")
    assert text.endswith("Views: 0 answers, 1 questions; fields: config.cca.k, config.cca.regularization.")
    with pytest.raises(DataError, match=r"^CCA-AQ\* on annotated rounds of train, each question with people's set H"):
        training_pairs.fit_star(made, dataclasses.replace(data(), questions=np.zeros_like(data().questions)))


def test_a_split_of_two_without_annotations_is_not_left_out_unsaid():
    for name in ("train", "validation"):
        given = data()
        bare = dataclasses.replace(getattr(given, name), relevance_round=np.full(3, NONE, np.int32))
        with pytest.raises(DataError, match=f"no annotated round in {name}, which is in trainval"):
            training_pairs.annotated(dataclasses.replace(given, **{name: bare}), "trainval")
        bare = dataclasses.replace(bare, gt_index=np.full((3, 2), NONE, np.int32))
        with pytest.raises(DataError, match=f"no round with candidates and a known answer in {name}, which"):
            training_pairs.judged(dataclasses.replace(given, **{name: bare}), "trainval")
    with pytest.raises(DataError, match="the dialogues drawn from train have no annotated round"):
        training_pairs.annotated(data(copies=(0, 3, 0)), "train")


def test_rounds_of_two_splits_are_joined_in_order():
    part = split("train")
    one = rounds_of(part, part.judged, part.questions)
    both = joined([one, rounds_of(split("validation"), split("validation").judged, part.questions)])
    assert both.dialogue.tolist() == [0, 0, 1, 1, 2, 0, 0, 1, 1]
    assert len(one) == 5


def test_samples_of_dialogues_differ_by_seed_and_are_as_large_as_the_split():
    made, part = config("aq"), split("train")
    assert _copies(made, part).tolist() == [1, 1, 1]
    made.data.resample = True
    found = []
    for seed in range(20):
        made.seed = seed
        copies = _copies(made, part)
        assert copies.sum() == 3
        assert copies.tolist() == _copies(made, part).tolist()
        found.append(tuple(copies))
    assert len(set(found)) > 3


def test_a_variant_is_what_it_says(tmp_path):
    made = config("aq_train_s")
    made.training.answers = "M"
    with pytest.raises(ConfigError, match=r"'aq_train_s', but config\.training\.answers is 'M'"):
        cca.run(made, tmp_path, "train_and_evaluate")
