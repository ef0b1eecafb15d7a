"""`evaluate` on lists, the baselines, and the published code's figures."""

import json
import subprocess
import sys

import numpy as np
import pytest

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.experiments import generative_eval
from vatex_jax.experiments.generative_eval import baselines, evaluate
from vatex_jax.metrics.consensus import METRICS
from vatex_jax.metrics.generations import per_question
from vatex_jax.metrics.meteor import Meteor

COUNTED = ("cider", "sbleu")


@pytest.fixture(scope="module")
def meteor():
    with Meteor() as running:
        yield running


def test_everything_of_a_small_file(meteor):
    generations = [["yes", "", "no , thanks"], ["a dog"], [], [" "]]
    references = [["yes", "no, thanks"], ["a cat"], ["b"], ["c"]]
    found = evaluate(generations, references, running=meteor)
    assert set(found) == {"per_question", "summary"}
    scores, summary = found["per_question"], found["summary"]
    assert list(scores) == [*(f"cider{n}" for n in range(1, 5)), *(f"sbleu{n}" for n in range(1, 5)), "meteor1"]
    assert {table.shape for table in scores.values()} == {(4, 3)}
    assert np.isnan(scores["meteor1"]).tolist() == [[False, True, False], [False, True, True], [True] * 3, [True] * 3]
    assert scores["sbleu2"][0, 2] == 1  # the detokenizer joins the comma
    assert summary["questions"] == 4
    assert {name for name in summary if name.startswith("k3/") and name.count("/") == 1} == {
        "k3/scored", "k3/empty", "k3/unscored", "k3/fewer",
    }  # fmt: skip
    assert [summary[f"k3/{name}"] for name in ("scored", "empty", "unscored", "fewer")] == [3, 2, 2, 3]
    assert [summary[f"k1/{name}"] for name in ("scored", "empty", "unscored", "fewer")] == [2, 1, 2, 1]
    assert summary["k1/sbleu1/mean"] == pytest.approx((1 + 1 / 2) / 2)
    assert summary["k3/sbleu1/best"] == pytest.approx((1 + 1 / 2) / 2)
    assert summary["k1/meteor1/k_std"] == 0 < summary["k1/meteor1/data_std"]
    assert "k5/cider1/mean" not in summary


def test_generations_pass_the_tokenizer_and_references_do_not():
    generations, references = [["no , it's"], ["x"]], [["no , it's", "no, it's"], ["y"]]
    passed = evaluate(generations, references, ["sbleu"])["per_question"]["sbleu3"]
    left = evaluate(generations, references, ["sbleu"], detokenize=False)["per_question"]["sbleu3"]
    assert passed[0, 0] == 0 < left[0, 0] == 1
    assert evaluate([["\n", "a"]], [["a"]], ["sbleu"])["summary"]["k2/empty"] == 1


def test_encoders_are_given_the_same_texts():
    asked = []

    def encode(texts):
        asked.extend(texts)
        return np.array([[float(len(text)), 1.0] for text in texts])

    generations, references = [["no , no", "", "ab"], ["abc"]], [["ab", "abcd"], ["abcd"]]
    found = evaluate(generations, references, [], encoders={"bert": encode})
    assert "no, no" in asked
    scores = found["per_question"]
    assert list(scores) == ["bert_l2", "bert_cs"]
    np.testing.assert_allclose(scores["bert_l2"], [[(4 + 2) / 2, np.nan, (0 + 2) / 2], [1, np.nan, np.nan]])
    assert found["summary"]["k3/bert_l2/best"] == 1 == (1 + 1) / 2
    assert found["summary"]["k3/bert_cs/best"] >= found["summary"]["k3/bert_cs/mean"]


def test_baselines_by_hand():
    """The ground truth passes the tokenizer, references as generations do not."""
    references = [["no , it is", "yes"], ["b"]]
    found = baselines(["no , it is", "b"], references, COUNTED)
    assert list(found) == ["A_gt", "Gamma"]
    assert found["Gamma"]["sbleu1/mean"] == found["Gamma"]["sbleu1/best"] == 1
    assert found["Gamma"]["sbleu1/data_std"] == found["Gamma"]["sbleu1/k_std"] == 0
    # `no,` `it` `is`: two of three words, and the penalty towards four (`yes` is farther: 3 - 1 against 4 - 3).
    assert found["A_gt"]["sbleu1/mean"] == pytest.approx((2 / 3 * np.exp(1 - 4 / 3) + 1) / 2)
    # In a set of two without common words each is half like the set; the other set is its one answer.
    assert found["Gamma"]["cider1/mean"] == pytest.approx((1 / 2 + 1) / 2)


def test_one_question_and_nothing_but_empty_generations():
    one = evaluate([["a b"]], [["a b"]], COUNTED)
    assert one["summary"]["k1/sbleu2/mean"] == 1
    assert one["summary"]["k1/cider1/mean"] == 0
    none = evaluate([["", " "], []], [["a"], ["b"]])
    assert all(np.isnan(table).all() for table in none["per_question"].values())
    assert np.isnan(none["summary"]["k1/meteor1/mean"])
    assert none["summary"]["k2/unscored"] == 2
    assert evaluate([[], []], [["a"], ["b"]])["summary"]["k1/unscored"] == 2


def test_what_cannot_be_evaluated_is_told():
    with pytest.raises(DataError, match="generations of question 0 must be a list of texts"):
        evaluate(["yes"], [["yes"]])
    with pytest.raises(DataError, match="no question"):
        evaluate([], [])
    with pytest.raises(DataError, match="of 1 questions, the references of 2"):
        baselines(["a"], [["a"], ["b"]])
    with pytest.raises(ConfigError, match="'bleu'"):
        evaluate([["a"]], [["a"]], ["bleu"])
    with pytest.raises(ConfigError, match="k = 5"):
        evaluate([["a"]], [["a"]], COUNTED, ks=[5])


def test_evaluating_needs_no_jax():
    code = (
        "import sys; from vatex_jax.experiments.generative_eval import evaluate;"
        "evaluate([['yes']], [['yes']], ['cider']); assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.real
def test_the_published_codes_figures(real_data, meteor):
    """CIDEr to 1e-9 and METEOR to 1e-4, an item at a time; the ground truth's, Gamma's and the averages."""
    golden = json.loads((real_data.parent / "golden" / "consensus.json").read_text(encoding="utf-8"))
    items, summary = golden["items"], golden["summary"]
    references, truths = [item["refs"] for item in items], [item["ground_truth"] for item in items]
    found = evaluate([[item["generation"]] for item in items], references, running=meteor)
    of_truth = evaluate([[truth] for truth in truths], references, running=meteor)["per_question"]
    gamma = generative_eval.overlap_scores(references, references, METRICS, meteor)
    cider = lambda scores: np.stack([scores[f"cider{n}"] for n in range(1, 5)], axis=-1)  # noqa: E731
    np.testing.assert_allclose(cider(found["per_question"])[:, 0], [item["cider"] for item in items], atol=1e-9)
    np.testing.assert_allclose(cider(of_truth)[:, 0], [item["cider_ground_truth"] for item in items], atol=1e-9)
    np.testing.assert_allclose(found["per_question"]["meteor1"][:, 0], [item["meteor"] for item in items], atol=1e-4)
    expected = [item["meteor_ground_truth"] for item in items]
    np.testing.assert_allclose(of_truth["meteor1"][:, 0], expected, atol=1e-4)
    width = max(map(len, references))
    for name, key in (("best", "gamma_cider"), ("mean", "mu_cider")):
        each = np.stack([per_question(gamma[f"cider{n}"], width, False)[name] for n in range(1, 5)], axis=1)
        np.testing.assert_allclose(each, [item[key] for item in items], atol=1e-9)
    rows = baselines(truths, references, running=meteor)
    for n in range(4):
        for key, value in (
            ("cider_mean", found["summary"][f"k1/cider{n + 1}/mean"]),
            ("cider_std", found["summary"][f"k1/cider{n + 1}/data_std"]),
            ("gt_cider_mean", rows["A_gt"][f"cider{n + 1}/mean"]),
            ("gamma_h_cider", rows["Gamma"][f"cider{n + 1}/best"]),
        ):
            assert value == pytest.approx(summary[key][n], abs=1e-9)
    for key, name in (("meteor_mean", "mean"), ("meteor_std", "data_std")):
        assert found["summary"][f"k1/meteor1/{name}"] == pytest.approx(summary[key], abs=1e-4)
    assert rows["Gamma"]["meteor1/mean"] == rows["Gamma"]["sbleu1/best"] == 1
