"""Files of ranks and generations: what is written is read again, what is malformed is named."""

import json

import numpy as np
import pytest

from vatex_jax.data.submissions import read_generations, read_ranks, write_generations, write_ranks
from vatex_jax.errors import DataError


def test_ranks_count_rounds_from_one_in_the_file_and_from_nought_here(tmp_path):
    path = tmp_path / "ranks.json"
    write_ranks(path, np.array([7, 9]), np.array([0, 4]), np.array([[2, 1, 3], [1, 2, 3]]))
    assert json.loads(path.read_text())[1] == {"image_id": 9, "round_id": 5, "ranks": [1, 2, 3]}
    found = read_ranks(path, candidates=3)
    np.testing.assert_array_equal(found.rounds, [0, 4])
    np.testing.assert_array_equal(found.ranks, [[2, 1, 3], [1, 2, 3]])


def test_generations_count_rounds_from_nought(tmp_path):
    path = tmp_path / "generations.json"
    texts = (("yes", ""), ("好 \u2028🙂",))
    write_generations(path, np.array([7, 9]), np.array([0, 9]), texts)
    assert json.loads(path.read_text())[0] == {"image_id": 7, "round_id": 0, "generations": ["yes", ""]}
    found = read_generations(path)
    assert found.texts == texts
    np.testing.assert_array_equal(found.rounds, [0, 9])


def test_ranks_that_are_no_permutation_are_not_written(tmp_path):
    with pytest.raises(DataError, match=r"question 2 are no permutation of 1\.\.3"):
        write_ranks(tmp_path / "r.json", np.array([7, 9]), np.array([0, 4]), np.array([[2, 1, 3], [1, 1, 3]]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "must hold a JSON list"),
        ([{"image_id": 1, "round_id": 1}], "record 1: must be an object with image_id, round_id and ranks"),
        ([{"image_id": "1", "round_id": 1, "ranks": [1, 2, 3]}], "field image_id: must be a whole number, not '1'"),
        ([{"image_id": 1, "round_id": 0, "ranks": [1, 2, 3]}], "field round_id: must be from 1 to 10, not 0"),
        ([{"image_id": 1, "round_id": True, "ranks": [1, 2, 3]}], "field round_id: must be from 1 to 10, not True"),
        ([{"image_id": 1, "round_id": 1, "ranks": [1, 2, 2]}], r"field ranks: must be a permutation of 1\.\.3"),
        ([{"image_id": 1, "round_id": 1, "ranks": [1, 2, True]}], r"field ranks: must be a permutation of 1\.\.3"),
        ([{"image_id": 1, "round_id": 1, "ranks": [1, 2, "3"]}], r"field ranks: must be a permutation of 1\.\.3"),
        ([{"image_id": 1, "round_id": 1, "ranks": [1, 2, 3]}] * 2, "record 2: image 1, round 1 is there twice"),
    ],
)
def test_malformed_ranks_name_the_record_and_the_field(tmp_path, content, message):
    path = tmp_path / "ranks.json"
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=message):
        read_ranks(path, candidates=3)


def test_malformed_generations_are_named(tmp_path):
    path = tmp_path / "generations.json"
    path.write_text(json.dumps([{"image_id": 1, "round_id": 10, "generations": []}]))
    with pytest.raises(DataError, match="from 0 to 9, not 10"):
        read_generations(path)
    path.write_text(json.dumps([{"image_id": 1, "round_id": 10, "generations": []}]))
    with pytest.raises(DataError, match="seem to count from 1: take 1 from each"):
        read_generations(path)
    path.write_text(json.dumps([{"image_id": 1, "round_id": 1, "generations": "yes"}]))
    with pytest.raises(DataError, match="record 1, field generations: must be a list of texts, not 'yes'"):
        read_generations(path)
    path.write_text(json.dumps([{"image_id": 10**30, "round_id": 1, "generations": []}]))
    with pytest.raises(DataError, match="record 1, field image_id: must be a whole number"):
        read_generations(path)
    path.write_text(json.dumps([{"image_id": 1, "round_id": 1, "generations": ["a", None]}]))
    with pytest.raises(DataError, match="record 1, field generations: must be a list of texts"):
        read_generations(path)
    path.write_text("[")
    with pytest.raises(DataError, match="the file ends in the middle"):
        read_generations(path)
