"""Long JSON lists read record by record."""

import gzip
import json

import pytest

from vatex_jax.data import json_stream
from vatex_jax.data.json_stream import JSONList
from vatex_jax.errors import DataError

RECORDS = [
    {"a": 1, "b": ["x", '鱼 🐟 \u2028 \\ " ]']},
    {},
    {"a": {"c": [1.5, None, True]}},
    [],
    "text",
    -12.5e-30,
    1234,
    7,
]


@pytest.fixture(params=[1, 2, 3, 7, 1 << 20])
def chunk(request, monkeypatch):
    """Where a chunk ends must not matter."""
    monkeypatch.setattr(json_stream, "_CHUNK", request.param)


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("records", [RECORDS, RECORDS[:1], []])
@pytest.mark.parametrize("packed", [False, True])
def test_the_records_are_those_of_the_whole_parse(tmp_path, records, indent, packed):
    text = json.dumps(records, ensure_ascii=False, indent=indent) + " \n"
    path = tmp_path / "list.json"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert list(JSONList(path)) == records


def test_a_byte_order_mark_is_no_record(tmp_path):
    path = tmp_path / "list.json"
    path.write_bytes(b"\xef\xbb\xbf[1]")
    assert list(JSONList(path)) == [1]


def test_every_cut_is_an_error_that_names_the_record_it_reached(tmp_path):
    whole = b'[{"a": "one"}, {"a": [2, 3]}]'
    path = tmp_path / "list.json"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"list\.json") as error:
            list(JSONList(path))
        reached = 1 if length <= whole.index(b",") else 2
        assert "must hold a JSON list" in str(error.value) or f"record {reached}:" in str(error.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'[1, 2, {"a": nothing, "b": "long enough to lie within the buffer"}]', "record 3: is not JSON"),
        (b'[{"a": 1, "a": 2}]', "record 1: .*'a' stands there twice"),
        (b"[1, 2,]", r"record 3: is not JSON \(Expecting value"),
        (b"[// none\n]\n", "record 1: is not JSON"),
        (b'[{"a": 1,}]', "record 1: is not JSON"),
        (b'[{"a": [1, 2]', "record 1: the file ends in the middle"),
        (b'[{"a": "1, 2]', "record 1: the file ends in the middle"),
        (b'[{"a": tru', "record 1: the file ends in the middle"),
        (b"[1 2]", "record 1: is followed by neither a comma"),
        (b"[1] [2]", r"goes on after the end of its list: '\[2\]'"),
        (b"[] 1", "goes on after the end"),
        (b'{"a": 1}', "must hold a JSON list"),
        (b"", "must hold a JSON list"),
        (b'["\xff\xfe"]', "is not UTF-8"),
        (b"[" + b"[" * 100_000, "record 1: "),
        (b"[" + b"9" * 5000 + b"]", "record 1: cannot be read"),
    ],
)
def test_damage_is_named(tmp_path, content, said):
    path = tmp_path / "list.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=said):
        list(JSONList(path))


def test_a_damaged_or_cut_gzip_file_names_the_record(tmp_path):
    packed = gzip.compress(json.dumps([{"number": number, "text": "word " * number} for number in range(500)]).encode())
    path = tmp_path / "list.json.gz"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match=r"record \d+: the compressed file is damaged or cut short"):
        list(JSONList(path))
    path.write_bytes(packed[:-6] + b"\0\0" + packed[-4:])
    with pytest.raises(DataError, match="damaged or cut short"):
        list(JSONList(path))


def test_what_is_no_file_is_said(tmp_path):
    with pytest.raises(DataError, match="not a regular file"):
        list(JSONList(tmp_path))
