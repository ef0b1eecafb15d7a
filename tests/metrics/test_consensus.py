"""CIDEr, sentence BLEU and METEOR of sets: by hand, by brute force, and under hostile texts."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from vatex_jax.errors import ConfigError
from vatex_jax.metrics import answers, consensus
from vatex_jax.metrics.consensus import METEOR_WORDS, overlap_scores
from vatex_jax.metrics.meteor import Meteor

COUNTED = ("cider", "sbleu")

HOSTILE = [
    *("a|||b", "|||", "yes ||| no", "a\rb", "a\r\nb", "a\nb\n", "a\tb", "a\x00b", "\x00", "a\x1c\x85b", "a\u2028b"),
    *(
        "\u2029",
        "שלום עולם",
        "\u202eabc",
        "😀 👩‍👩‍👧",
        "\ud800",
        "yes \udfff",
        "",
        " ",
        "一个男人",
        "\"``''\"",
        "-LRB- (",
    ),
    "yes " * 10_000,
    " ".join(f"w{number}" for number in range(10_000)),
    "," * 10_000,
]


@pytest.fixture(scope="module")
def meteor():
    with Meteor() as running:
        yield running


class Recording(Meteor):
    """Takes the program's place: all texts score the same, and what was asked is kept."""

    def __init__(self, score=1.0):
        self.asked, self._score = [], score

    def expect(self, lines):
        pass  # no program is needed

    def sentences(self, hypotheses, references):
        self.asked += [(text, one) for text, several in zip(hypotheses, references, strict=True) for one in several]
        return np.full(len(hypotheses), self._score)


def ngrams(text, order):
    words = text.split()
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))


def brute_cider(generations, references):
    """The formula, a pair at a time."""
    sets = [[Counter() | sum((ngrams(text, n) for text in several), Counter()) for several in references]
            for n in range(1, 5)]  # fmt: skip

    def vector(text, order):
        held = {ngram: sum(ngram in one for one in sets[order - 1]) for ngram in ngrams(text, order)}
        return {
            ngram: count * (math.log(len(references)) - math.log(max(1, held[ngram])))
            for ngram, count in ngrams(text, order).items()
        }

    def cosine(one, other):
        norm = math.hypot(*one.values()) * math.hypot(*other.values())
        return sum(value * other.get(ngram, 0) for ngram, value in one.items()) / norm if norm else 0.0

    def score(text, several, upto):
        return np.mean(
            [np.mean([cosine(vector(text, n), vector(one, n)) for one in several]) for n in range(1, upto + 1)]
        )

    return {f"cider{n}": table(generations, references, lambda *pair, n=n: score(*pair, n)) for n in range(1, 5)}


def brute_bleu(generations, references):
    engines = {n: BLEU(tokenize="none", smooth_method="none", max_ngram_order=n) for n in range(1, 5)}
    return {
        f"sbleu{n}": table(
            generations,
            references,
            lambda text, several, engine=engine: engine.sentence_score(text, several).score / 100,
        )
        for n, engine in engines.items()
    }


def table(generations, references, score):
    found = np.full((len(generations), max(map(len, generations))), np.nan)
    for row, (texts, several) in enumerate(zip(generations, references, strict=True)):
        for column, text in enumerate(texts):
            if text.split():
                found[row, column] = score(text, several)
    return found


TEXTS = st.lists(st.sampled_from(["a", "b", "c", "A"]), max_size=6).map(" ".join)
QUESTIONS = st.lists(
    st.tuples(st.lists(TEXTS, max_size=3), st.lists(TEXTS, min_size=1, max_size=4)), min_size=1, max_size=5
)


@pytest.mark.parametrize("held_at_once", [1 << 20, 3])
@settings(max_examples=100, deadline=None)
@given(QUESTIONS)
def test_cider_and_bleu_equal_brute_force(held_at_once, questions):
    generations, references = map(list, zip(*questions, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "_ENTRIES", held_at_once)
        found = overlap_scores(generations, references, COUNTED)
    expected = brute_cider(generations, references) | brute_bleu(generations, references)
    assert list(found) == list(expected)
    for name, scores in expected.items():
        np.testing.assert_allclose(found[name], scores, atol=1e-12, err_msg=name)


def test_a_repeated_word_counts_as_in_cider_not_as_in_cider_d():
    """All n-grams are in one set of two: one idf, which cancels. CIDEr-D would clip: 2 / sqrt(10), and a penalty."""
    found = overlap_scores([["a a b"], ["d"]], [["a b"], ["c"]], ["cider"])
    one, two = 3 / math.sqrt(10), 1 / math.sqrt(2)
    expected = [one, (one + two) / 2, (one + two) / 3, (one + two) / 4]
    np.testing.assert_allclose([found[f"cider{n}"][0, 0] for n in range(1, 5)], expected)
    assert found["cider1"][1, 0] == 0


def test_rare_words_weigh_more_and_unseen_ones_most():
    """`a` is in 2 sets of 4: log 2; `b` in 1: 2 log 2; `z` in none, as if in 1."""
    found = overlap_scores([["a z", "a b"], ["x"], ["x"], ["x"]], [["a b"], ["a"], ["c"], ["d"]], ["cider"])["cider1"]
    np.testing.assert_allclose(found[0], [1 / 5, 1])


def test_duplicate_references_count_as_often_as_they_stand():
    generations, others = [["a b"], ["e"]], ["e"]
    once = overlap_scores(generations, [["a b", "c d"], others], COUNTED)
    twice = overlap_scores(generations, [["a b", "a b", "c d"], others], COUNTED)
    assert once["cider1"][0, 0] == pytest.approx(1 / 2)
    assert twice["cider1"][0, 0] == pytest.approx(2 / 3)  # and the set holds `a` once for the document frequency
    assert once["sbleu1"][0, 0] == twice["sbleu1"][0, 0] == 1


def test_an_empty_generation_changes_no_other_score(meteor):
    references = [["a b", "yes"], ["yes it is", "b"], ["no"]]
    full = overlap_scores([["a b"], ["yes b"], ["no"]], references, running=meteor)
    without = overlap_scores([[" "], ["yes b"], ["no"]], references, running=meteor)
    for name, scores in full.items():
        assert np.isnan(without[name][0, 0])
        assert without[name][1:].tolist() == scores[1:].tolist()
    # Its references still count in the document frequencies.
    alone = overlap_scores([["yes b"], ["no"]], references[1:], ["cider"])
    assert alone["cider1"][0, 0] != full["cider1"][1, 0]


@pytest.mark.parametrize(
    ("text", "references", "expected"),
    [
        ("a b c", ["a b", "a b c d e"], [1, 1, 1, 0]),  # too short for BLEU-4; the closest is one word shorter
        ("a a a", ["a a", "b a"], [2 / 3, math.sqrt(2 / 3 * 1 / 2), 0, 0]),  # clipped at the reference that has most
        ("a b", ["a b c", "z"], [1, 1, 0, 0]),  # at a tie the shorter: no penalty
        ("a", ["a b c"], [math.exp(1 - 3), 0, 0, 0]),
        ("A", ["a"], [0, 0, 0, 0]),
        ("a b c d", ["a b c d"], [1, 1, 1, 1]),
    ],
)
def test_sentence_bleu_by_hand(text, references, expected):
    found = overlap_scores([[text]], [references], ["sbleu"])
    np.testing.assert_allclose([found[f"sbleu{n}"][0, 0] for n in range(1, 5)], expected)


def test_the_best_reference_counts_in_meteor(meteor):
    found = overlap_scores([["yes", "2", "Yes."], ["yes, it is"]], [["no", "yes it is", ""], ["yes it is"]],
                           ["meteor"], meteor)["meteor1"]  # fmt: skip
    np.testing.assert_allclose(found[0], [0.2553, 0, meteor.score(["Yes."], [["yes it is"]]).sentences[0]], atol=5e-5)
    assert found[1, 0] == pytest.approx(0.4337, abs=5e-5)


def test_a_text_of_signs_is_no_match_of_itself_by_rule(meteor):
    """It is compared with the others where the program does not give 1."""
    hypotheses, several = ["...", "|||", "yes"], ["...", "|||", "yes"]
    found = overlap_scores([hypotheses], [several], ["meteor"], meteor)["meteor1"][0]
    best = meteor.score(hypotheses, [several] * 3).sentences
    assert found.tolist() == best.tolist()
    assert found[1] < 1


def test_each_pair_is_asked_for_once_and_none_beside_a_perfect_one():
    program = Recording()
    generations, references = [["yes", "no"], ["yes", "yes"]], [["yes it is", "no"], ["yes it is", "yes it is"]]
    overlap_scores(generations, references, ["meteor"], program)
    assert sorted(program.asked) == [("no", "no"), ("yes", "no"), ("yes", "yes it is")]
    program = Recording(0.5)
    overlap_scores(generations, references, ["meteor"], program)
    assert sorted(set(program.asked)) == [
        ("no", "no"), ("no", "yes it is"), ("yes", "no"), ("yes", "yes it is"),
    ]  # fmt: skip


def test_a_pair_met_again_is_asked_for_once_and_its_score_reaches_both_questions(meteor):
    generations = [["a cat", "no dog"], ["a cat"], ["no dog"]]
    references = [["the cat", "dogs", "cats"], ["two dogs", "the cat"], ["a dog", "a dog"]]
    program = Recording(0.5)
    overlap_scores(generations, references, ["meteor"], program)
    assert len(program.asked) == len(set(program.asked)) == 8
    expected = table(generations, references, lambda *pair: meteor.score([pair[0]], [pair[1]]).sentences[0])
    np.testing.assert_array_equal(overlap_scores(generations, references, ["meteor"], meteor)["meteor1"], expected)


def test_scores_find_their_places_in_many_blocks(meteor, monkeypatch):
    generations = [["yes", "", "no dog"], [], ["a cat", "yes"], ["yes"]]
    references = [["yes it is", "dog"], ["a"], ["the cat", "cat a", "yes"], ["yeah"]]
    expected = table(generations, references, lambda *pair: meteor.score([pair[0]], [pair[1]]).sentences[0])
    monkeypatch.setattr(answers, "_ENTRIES", 2)
    monkeypatch.setattr(consensus, "_SENTENCES", 2)
    found = overlap_scores(generations, references, ["meteor"], meteor)["meteor1"]
    np.testing.assert_array_equal(found, expected)


def test_hostile_texts_score_and_shift_nothing(meteor):
    plain = [("a dog", ["a dog"]), ("yes", ["no", "yes it is"]), ("the yellow bird", ["a bird sings"])]
    rows = [row for text in HOSTILE for row in ((text, ["yes", text]), *plain)]
    generations, references = [[text] for text, _ in rows], [several for _, several in rows]
    with pytest.warns(UserWarning, match="METEOR: 3 texts of more than 200"):
        found = overlap_scores(generations, references, running=meteor)
    alone = overlap_scores([[text] for text, _ in plain], [several for _, several in plain], ["meteor"], meteor)
    by_row = found["meteor1"].reshape(len(HOSTILE), 1 + len(plain))
    np.testing.assert_array_equal(by_row[:, 1:], np.tile(alone["meteor1"].T, (len(HOSTILE), 1)))
    empty = [not text.strip() for text in HOSTILE]
    assert sum(empty) == 3  # "", " " and U+2029
    for name, scores in found.items():
        assert np.isnan(scores[:: 1 + len(plain), 0]).tolist() == empty
        spoken = scores[~np.isnan(scores)]
        assert ((spoken >= 0) & (spoken <= 1 + 1e-12)).all(), name


@pytest.mark.parametrize("unit", ["yes ", ",", "一", "é!"], ids=["words", "signs", "characters", "words and signs"])
def test_long_texts_are_cut_for_meteor_and_said(unit):
    pieces = 1 if unit == "yes " else len(unit)
    program, long = Recording(), unit * (METEOR_WORDS // pieces + 1)
    with pytest.warns(UserWarning, match="1 texts of more than 200 words and signs"):
        overlap_scores([[long]], [["a"]], ["meteor"], program)
    assert program.asked == [((unit * (METEOR_WORDS // pieces)).strip(), "a")]
    program = Recording()
    overlap_scores([["yes " * METEOR_WORDS], ["a" * 5000]], [["a"]] * 2, ["meteor"], program)  # no warning
    assert [len(text) for text, _ in program.asked] == [4 * METEOR_WORDS, 5000]


def test_nothing_but_empty_generations_starts_no_program(monkeypatch):
    monkeypatch.setattr(Meteor, "__enter__", lambda self: pytest.fail("started"))
    found = overlap_scores([["", " "], []], [["a"], ["b", "c"]])
    assert list(found) == [*(f"cider{n}" for n in range(1, 5)), *(f"sbleu{n}" for n in range(1, 5)), "meteor1"]
    assert all(scores.shape == (2, 2) and np.isnan(scores).all() for scores in found.values())
    assert overlap_scores([[]], [["a"]])["cider1"].shape == (1, 0)


def test_a_file_of_one_set_has_no_rare_words():
    found = overlap_scores([["a b"]], [["a b"]], COUNTED)
    assert [found[f"cider{n}"][0, 0] for n in range(1, 5)] == [0] * 4
    assert found["sbleu2"][0, 0] == 1


def test_unknown_metrics_are_refused():
    with pytest.raises(ConfigError, match="'bleu'"):
        overlap_scores([["a"]], [["a"]], ["cider", "bleu"])


def test_every_metric_has_a_signature():
    assert set(consensus.signature()) == set(consensus.METRICS)
