"""Files appear whole or not at all."""

import json
import os

import pytest

from vatex_jax.errors import DataError
from vatex_jax.files import read_json, write_bytes_whole, write_json_lines_whole, write_json_whole, write_text_whole


def test_text_is_utf8_with_its_line_ends(tmp_path):
    path = tmp_path / "made" / "here" / "a.txt"
    write_text_whole(path, "猫\r\n😀\n")
    assert path.read_bytes() == "猫\r\n😀\n".encode()
    write_text_whole(path, "")
    assert path.read_bytes() == b""


def test_json(tmp_path):
    write_json_whole(tmp_path / "a.json", {"猫": [1, None]})
    assert "猫" in (tmp_path / "a.json").read_text("utf-8")
    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == {"猫": [1, None]}
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json_whole(tmp_path / "a.json", float("nan"))
    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == {"猫": [1, None]}


def test_half_a_character_is_escaped(tmp_path):
    write_json_whole(tmp_path / "a.json", ["猫", "\ud800"])
    assert json.loads((tmp_path / "a.json").read_text("ascii")) == ["猫", "\ud800"]


def test_json_made_elsewhere(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": {"b": 1}}\r\n')
    assert read_json(path) == {"a": {"b": 1}}
    path.write_text('{"a": {"b": 1, "c": 2, "b": 3}}')
    with pytest.raises(DataError, match=r"a\.json: .*the field 'b' stands there twice"):
        read_json(path)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    write_bytes_whole(tmp_path / "a", b"old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_bytes_whole(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_others_may_read_what_the_umask_lets_them(tmp_path):
    before = os.umask(0o022)
    try:
        write_text_whole(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o644


def test_a_file_that_is_not_there_is_said_to_be_missing_and_not_damaged(tmp_path):
    with pytest.raises(DataError, match=r"x\.json: no such file\.$"):
        read_json(tmp_path / "x.json")


def test_json_lines_are_as_many_as_records_whatever_they_hold(tmp_path):
    records = [{"text": "a\u2028b\u2029c\u0085d\ne"}, {"text": "猫🐈"}]
    write_json_lines_whole(tmp_path / "x.jsonl", records)
    lines = (tmp_path / "x.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == records
    assert "猫🐈" in lines[1]
