"""Answers as numbers: pairs, references, blocks of comparisons."""

import numpy as np
import pytest

from vatex_jax.errors import DataError
from vatex_jax.metrics import answers as module
from vatex_jax.metrics.answers import NONE, blocks, code_answers


def test_each_distinct_pair_of_question_and_text_is_there_once():
    answers = code_answers([["a", "b", "a"], ["a", " \n"], []], [["b", "b"], ["c"], ["a"]])
    assert len(answers) == 3
    pairs = [(q, answers.texts[t]) for q, t in zip(answers.question.tolist(), answers.text.tolist(), strict=True)]
    assert sorted(pairs) == [(0, "a"), (0, "b"), (1, "a")]
    assert answers.pair[0, 0] == answers.pair[0, 2] != answers.pair[0, 1]
    assert (answers.pair == NONE).tolist() == [[False] * 3, [False, True, True], [True] * 3]
    assert [answers.texts[row] for row in answers.references] == ["b", "b", "c", "a"]
    assert answers.starts.tolist() == [0, 2, 3, 4]
    table = answers.table(np.array([1.0, 2.0, 3.0]))
    assert np.isnan(table).tolist() == (answers.pair == NONE).tolist()
    assert table[1, 0] == 3.0


def test_comparisons_of_some_pairs():
    answers = code_answers([["x"], ["y"]], [["a", "b"], ["c"]])
    ((part, references, begins),) = answers.comparisons(np.array([1, 0]))
    assert part == slice(0, 2)
    assert [answers.texts[row] for row in references] == ["c", "a", "b"]
    assert begins.tolist() == [0, 1]
    keys = answers.keys(np.array([1, 0]), references, begins)
    texts = [[answers.texts[row] for row in rows] for rows in np.divmod(keys, len(answers.texts))]
    assert texts == [["y", "x", "x"], ["c", "a", "b"]]


def test_blocks_hold_all_rows_and_no_more_than_they_may(monkeypatch):
    monkeypatch.setattr(module, "_ENTRIES", 4)
    assert list(blocks(np.array([2, 2, 1, 9, 1]))) == [slice(0, 2), slice(2, 3), slice(3, 4), slice(4, 5)]
    monkeypatch.setattr(module, "_ENTRIES", 7)
    full = [slice(0, 2), slice(2, 3), slice(3, 4), slice(4, 7), slice(7, 8)]
    assert list(blocks(np.array([3, 4, 1, 9, 2, 2, 2, 2]))) == full
    assert list(blocks(np.array([0, 0]))) == [slice(0, 2)]
    assert list(blocks(np.zeros(0, np.int64))) == []


@pytest.mark.parametrize(
    ("generations", "references", "message"),
    [
        ([["a"]], [["a"], ["b"]], "of 1 questions, the references of 2"),
        ([], [], "no question to evaluate"),
        (["yes"], [["a"]], "generations of question 0 must be a list of texts, not 'yes'"),
        ([["a"], ["b", None]], [["a"], ["b"]], r"generations of question 1 must be a list of texts, not \['b', None\]"),
        ([["a"], ["b"]], [["a"], "b"], "references of question 1 must be a list"),
        ([["a"], ["b"]], [["a"], []], "question 1 has no reference"),
    ],
)
def test_lists_that_cannot_be_compared_are_refused(generations, references, message):
    with pytest.raises(DataError, match=message):
        code_answers(generations, references)
