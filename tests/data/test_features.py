"""The feature reader, with NumPy's own reader as oracle, and that every fault is named."""

import io
import os
import pickle
import tracemalloc

import numpy as np
import pytest

from vatex_jax.data import features
from vatex_jax.data.features import find_feature_files, parse_features, read_features
from vatex_jax.errors import DataError


def save(array: np.ndarray, version: tuple[int, int] | None = None) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


def make(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("shape", [(1, 3, 1024), (3, 1024), (1, 1024), (1, 1, 1024)])
@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f2", ">f4", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_reads_what_numpy_saved(shape, dtype, order):
    array = np.asarray(make(*shape, dtype=dtype), order=order)
    values = parse_features(save(array), "f")
    assert values.dtype == np.float32
    assert values.flags.c_contiguous
    np.testing.assert_array_equal(values, array.reshape(-1, 1024).astype(np.float32))


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_reads_every_version_of_the_format(version):
    array = make(1, 2, 1024)
    np.testing.assert_array_equal(parse_features(save(array, version), "f"), array[0])


def rewrite_header(header: str, array: np.ndarray) -> bytes:
    text = header.encode("latin-1")
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + array.tobytes()


def test_reads_headers_of_other_writers():
    array = make(1, 2, 1024)
    python2 = "{'descr': '<f4', 'fortran_order': False, 'shape': (1L, 2L, 1024L), }          \n"
    reordered = '{"shape":(1,2,1024),"descr":"<f4","fortran_order":False}'
    for header in (python2, reordered):
        np.testing.assert_array_equal(parse_features(rewrite_header(header, array), "f"), array[0])


def header(descr: str = "'<f4'", order: str = "False", shape: str = "(1, 2, 1024)", more: str = "") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, {more}}}\n"


def poisoned(value: float, dtype: str = "float32") -> bytes:
    array = make(1, 3, 1024, dtype=dtype)
    array[0, 2, 5] = value
    return save(array)


ARRAY = make(1, 2, 1024)
OBJECTS = io.BytesIO()
np.save(OBJECTS, np.array([{}], dtype=object), allow_pickle=True)
DAMAGED = {
    "empty": (b"", ["is empty"]),
    "cut in the magic": (save(ARRAY)[:4], ["not a .npy file"]),
    "cut in the header": (save(ARRAY)[:50], ["cut short in its header"]),
    "cut behind the magic": (save(ARRAY)[:9], ["cut short"]),
    "cut in the data": (save(ARRAY)[:-1], ["cut short", "8320 bytes", "8319"]),
    "too long": (save(ARRAY) + b"\0\0", ["2 bytes too many"]),
    "two arrays": (save(ARRAY) * 2, ["too many"]),
    "other magic": (b"\x93NUMPZ" + save(ARRAY)[6:], ["not a .npy file"]),
    "pickle": (pickle.dumps(ARRAY), ["a pickle"]),
    "npz": (b"PK\x03\x04rest", [".npz"]),
    "page": (b"<!DOCTYPE html>", ["web page"]),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\n", ["Git LFS"]),
    "version 9": (b"\x93NUMPY\x09\x00" + save(ARRAY)[8:], ["version (9, 0)"]),
    "objects": (OBJECTS.getvalue(), ["pickled Python objects"]),
    "records": (save(np.zeros(2, [("a", "f4"), ("b", "f8")])), ["records"]),
    "integers": (save(np.zeros((2, 1024), int)), ["integers", "<i8"]),
    "truth": (save(np.zeros((2, 1024), bool)), ["truth values"]),
    "complex": (save(np.zeros((2, 1024), complex)), ["complex"]),
    "text": (save(np.full((2, 1024), "a")), ["'<U1'"]),
    "long double": (rewrite_header(header("'<f16'"), ARRAY), ["'<f16'", "float32"]),
    "scalar": (save(np.zeros(())), ["shape is ()"]),
    "one axis": (save(np.zeros(1024)), ["shape is (1024,)"]),
    "wrong channels": (save(np.zeros((1, 32, 2048))), ["(1, 32, 2048)", "[1, T, 1024]"]),
    "transposed": (save(np.zeros((1024, 32))), ["(1024, 32)"]),
    "batch of two": (save(np.zeros((2, 3, 1024))), ["(2, 3, 1024)"]),
    "four axes": (save(np.zeros((1, 1, 3, 1024))), ["(1, 1, 3, 1024)"]),
    "no segments": (save(np.zeros((1, 0, 1024))), ["0 segments"]),
    "NaN": (poisoned(np.nan), ["segment 2, channel 5", "nan", "1 of 3072"]),
    "infinite": (poisoned(-np.inf), ["segment 2, channel 5", "-inf"]),
    "beyond float32": (poisoned(1e300, "float64"), ["segment 2, channel 5", "float32"]),
    "absurd shape": (rewrite_header(header(shape="(1, 999999999999, 1024)"), ARRAY), ["999999999999 segments"]),
    "endless shape": (rewrite_header(header(shape="(1, " + "9" * 4400 + ", 1024)"), ARRAY), ["shape"]),
    "large shape": (rewrite_header(header(shape="(1, 65536, 1024)"), ARRAY), ["cut short"]),
    "negative shape": (rewrite_header(header(shape="(1, -2, 1024)"), ARRAY), ["'shape'"]),
    "code in the header": (rewrite_header("__import__('os').abort()", ARRAY), ["'descr'"]),
    "entry missing": (rewrite_header("{'descr': '<f4', 'shape': (2, 1024)}", ARRAY), ["'fortran_order'"]),
    "entry too many": (rewrite_header(header(more="'x': 1"), ARRAY), ["not that of an array"]),
    "comma missing": (rewrite_header(header().replace(", 'fort", " 'fort"), ARRAY), ["not that of an array"]),
    "quotes differ": (rewrite_header(header().replace("'shape'", "'shape\""), ARRAY), ["'shape'"]),
    "leading zero": (rewrite_header(header(shape="(1, 02, 1024)"), ARRAY), ["shape is (1, 02, 1024)"]),
    "odd white space": (rewrite_header(header(shape="(1,\x0b2, 1024)"), ARRAY), ["'shape'"]),
    "header of 4 GB": (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + save(ARRAY)[12:], ["header of 4294967295 bytes"]),
    "header no text": (b"\x93NUMPY\x03\x00\x02\x00\x00\x00\xff\xff", ["not text"]),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_every_fault_is_named(case, tmp_path):
    data, words = DAMAGED[case]
    path = tmp_path / "v_000001_000011.npy"
    path.write_bytes(data)
    for read in (lambda: parse_features(data, str(path)), lambda: read_features(path)):
        with pytest.raises(DataError) as caught:
            read()
        message = str(caught.value)
        assert message.startswith(f"{path}: ")
        for word in words:
            assert word in message, message


def test_a_lying_header_allocates_nothing(tmp_path):
    path = tmp_path / "v.npy"
    path.write_bytes(rewrite_header(header(descr="'<f8'", shape="(1, 65536, 1024)"), ARRAY))
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="cut short"):
            read_features(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_header_and_fingerprint_need_no_values(tmp_path):
    one, other = tmp_path / "a.npy", tmp_path / "b.npy"
    one.write_bytes(save(ARRAY))
    other.write_bytes(save(ARRAY + 1))
    header_one, digest = features.read_header(one)
    assert (header_one.segments, header_one.shape, header_one.dtype) == (2, (1, 2, 1024), np.float32)
    assert features.read_header(other)[1] != digest
    other.write_bytes(save(ARRAY))
    assert features.read_header(other)[1] == digest


def test_finds_features_in_any_folder_and_only_those_asked_for(tmp_path):
    for place in ("a.npy", "trainval/-b.npy", "deep/er/_c.npy", "other.npy", "x/other.npy"):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(place)  # the two named other.npy differ, and nobody asked for them
    found = find_feature_files(tmp_path, ["a", "-b", "_c", "absent"])
    assert {k: str(v.relative_to(tmp_path)) for k, v in found.items()} == {
        "a": "a.npy",
        "-b": "trainval/-b.npy",
        "_c": "deep/er/_c.npy",
    }


def test_one_name_in_two_folders(tmp_path):
    for folder in ("val", "trainval"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "v.npy").write_bytes(save(ARRAY))
    assert find_feature_files(tmp_path, ["v"]) == {"v": tmp_path / "trainval" / "v.npy"}
    (tmp_path / "val" / "v.npy").write_bytes(save(ARRAY + 1))
    with pytest.raises(DataError, match=r"trainval/v\.npy and .*/val/v\.npy differ"):
        find_feature_files(tmp_path, ["v"])


def test_links_are_followed_once(tmp_path):
    real = tmp_path / "disk"
    real.mkdir()
    (real / "v.npy").write_bytes(save(ARRAY))
    (real / "loop").symlink_to(real)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "features").symlink_to(real)
    (folder / "self").symlink_to(folder)
    assert find_feature_files(folder, ["v"]) == {"v": folder / "features" / "v.npy"}
    assert [path.name for path in features._walk(folder)] == ["v.npy"]  # not once for each turn of a loop


def test_folders_pipes_and_dead_links_are_no_feature_files(tmp_path):
    (tmp_path / "a.npy").mkdir()
    os.mkfifo(tmp_path / "b.npy")
    (tmp_path / "c.npy").symlink_to("nowhere")
    found = find_feature_files(tmp_path, ["a", "b", "c"])
    assert set(found) == {"a", "b", "c"}
    for path in found.values():
        with pytest.raises(DataError, match="not a regular file"):
            read_features(path)
    with pytest.raises(DataError, match="cannot be listed"):
        find_feature_files(tmp_path / "absent", ["a"])


@pytest.mark.real
def test_reads_a_real_i3d_file(real_data):
    path = real_data / "video" / "i3d_rgb_sample.npy"
    values = parse_features(path.read_bytes(), str(path))
    np.testing.assert_array_equal(values, np.load(path))
    assert values.shape == (14, 1024)
