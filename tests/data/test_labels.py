"""Action labels from Kinetics CSV files."""

import pytest

from vatex_jax.data.json_files import git_blob_sha1
from vatex_jax.data.labels import parse_labels, read_labels
from vatex_jax.errors import DataError

HEAD = "label,youtube_id,time_start,time_end,split\n"


def test_reads_labels_by_video_id():
    text = HEAD + 'riding a bike,-a_b,7,17,train\n"catching, throwing",c,120.0,130,validate\n,d,0,10,test\n'
    assert parse_labels(("\ufeff" + text).encode(), "f") == {
        "-a_b_000007_000017": "riding a bike",
        "c_000120_000130": "catching, throwing",
    }
    reordered = "split,youtube_id,label,time_end,time_start,extra\r\ntrain,a,跑步,17,7,x\r\n"
    assert parse_labels(reordered.encode(), "f") == {"a_000007_000017": "跑步"}
    assert parse_labels(HEAD.encode(), "f") == {}


def test_other_tables_are_none_of_ours():
    assert parse_labels(b"", "f") is None
    assert parse_labels(b"a,b\n1,2\n", "f") is None


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("run,a,7\n", ["line 2", "fewer fields"]),
        ("run,a,x,17,train\n", ["line 2", "column time_start", "'x'"]),
        ("run,a,7,17.5,train\n", ["line 2", "column time_end"]),
        ("run,a,nan,17,train\n", ["column time_start"]),
        ("run,a,-1,17,train\n", ["column time_start"]),
        ("run,a,7,1000000,train\n", ["column time_end"]),
        ("run,a,7,17,train\nwalk,a,7,17,train\n", ["line 3", "'walk'", "'run'", "a_000007_000017"]),
        ("run,a,\x00,17,train\n", ["line 2"]),
        ("x" * 200_000 + ",a,7,17,train\n", ["not CSV"]),
    ],
)
def test_every_fault_names_line_and_column(rows, words):
    with pytest.raises(DataError) as caught:
        parse_labels((HEAD + rows).encode(), "k.csv")
    for word in ["k.csv", *words]:
        assert word in str(caught.value)


def test_not_utf8():
    with pytest.raises(DataError, match=r"k\.csv: not UTF-8 at offset 43"):
        parse_labels(HEAD.encode() + b"\xff", "k.csv")


def test_numbers_follow_the_sorted_names_of_all_files(tmp_path):
    (tmp_path / "train.csv").write_text(HEAD + "walk,a,0,10,train\nrun,b,0,10,train\n")
    (tmp_path / "VAL.CSV").write_text(HEAD + "dance,c,0,10,validate\nwalk,a,0,10,train\n")
    (tmp_path / "other.csv").write_text("x,y\n")
    labels, remarks = read_labels(tmp_path)
    assert labels.names == ("dance", "run", "walk")
    assert labels.number_of == {"a_000000_000010": 2, "b_000000_000010": 1, "c_000000_000010": 0}
    assert labels.sha1 == {name: git_blob_sha1((tmp_path / name).read_bytes()) for name in ("VAL.CSV", "train.csv")}
    assert len(remarks) == 1
    assert remarks[0].startswith("other.csv: not used")
    (tmp_path / "late.csv").write_text(HEAD + "sit,a,0,10,train\n")
    with pytest.raises(DataError, match=r"a_000000_000010.*(sit|walk)"):
        read_labels(tmp_path)
