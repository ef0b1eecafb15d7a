"""Corpora in VaTeX's and MSR-VTT's layouts, and files that are neither."""

import json

import pytest

from vatex_jax.corpus.readers import CorpusVideo, read_corpus
from vatex_jax.errors import DataError


def write(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def test_a_folder_of_vatex_files_has_their_splits_and_pairs(tmp_path):
    write(tmp_path / "vatex_training_v1.0.json", [{"videoID": "a", "enCap": ["x"] * 10, "chCap": ["y"] * 10}])
    write(tmp_path / "vatex_public_test_english_v1.1.json", [{"videoID": "b", "enCap": ["z"]}])
    assert list(read_corpus(tmp_path)) == [
        CorpusVideo("train", "a", ("x",) * 10, ("y",) * 10, 5), CorpusVideo("public_test", "b", ("z",)),
    ]  # fmt: skip


def test_a_file_of_any_name(tmp_path):
    path = write(tmp_path / "mine.v2.json", [{"videoID": "a", "enCap": ["x"], "chCap": ["y"]}])
    assert list(read_corpus(path)) == [CorpusVideo("mine", "a", ("x",), ("y",), 1)]


def test_msr_vtt_s_sentences_are_gathered_by_video(tmp_path):
    path = write(tmp_path / "videodatainfo.json", {
        "info": {"year": "2016"},
        "videos": [{"video_id": "video0", "split": "train", "category": 9},
                   {"video_id": "video1", "split": "validate"}],
        "sentences": [
            {"video_id": "video1", "caption": "a car", "sen_id": 0}, {"video_id": "video0", "caption": "a man"},
            {"video_id": "video1", "caption": "a road"}, {"video_id": "video7", "caption": "new"},
        ],
    })  # fmt: skip
    assert list(read_corpus(path)) == [
        CorpusVideo("validation", "video1", ("a car", "a road")),
        CorpusVideo("train", "video0", ("a man",), label="9"),
        CorpusVideo("all", "video7", ("new",)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "list of records is empty"),
        ("{}", "without a list `sentences`"),
        ('{"sentences": []}', "holds no sentence"),
        ('{"sentences": [{"video_id": "a", "caption": 3}]}', "sentence 1, field caption: is 3, not text"),
        ('{"sentences": [{"video_id": "a", "caption": "x\\ud800"}]}', "which is no character"),
        ('{"sentences": [{"video_id": "a/b", "caption": "x"}]}', "path separator"),
        (
            '{"videos": [{"video_id": "a"}, {"video_id": "a"}], "sentences": [{"video_id": "a", "caption": "x"}]}',
            "stands there twice",
        ),
        ('{"sentences": [3]}', "sentence 1: is a number, not an object"),
        ('{"sentences": [{"video_id": "a", "caption": "x"}], "videos": [{}]}', "video 1, field video_id"),
        ('[{"videoID": "a", "enCap": ["x"]}, {"videoID": "a", "enCap": ["x"]}]', "record 1 has the same id"),
        ('[{"videoID": "a", "enCap": "x"}]', "record 1 .*field enCap"),
        ('[{"videoID": "a", "enCap": ["x"]}', "ends in the middle|cut short|the list's end"),
        ("nonsense", "must hold a JSON list"),
    ],
)
def test_what_is_no_corpus_is_told_by_file_record_and_field(tmp_path, content, message):
    path = write(tmp_path / "x.json", content)
    with pytest.raises(DataError, match=message) as caught:
        list(read_corpus(path))
    assert "x.json" in str(caught.value)


def test_a_path_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="no such file or folder"):
        list(read_corpus(tmp_path / "none"))
