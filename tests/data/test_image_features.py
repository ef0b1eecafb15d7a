"""Image features by id: the three layouts, their mean over regions, and that every fault is named."""

import io
import pathlib
import sys
import zipfile

import numpy as np
import pytest

from vatex_jax.data.image_features import open_image_features
from vatex_jax.errors import ConfigError, DataError

IDS = [30, 7, 185565]
VECTORS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [-1.0, 0.5, 0.0]])
REGIONS = np.array([[[1.0, 2.0], [3.0, 6.0]], [[0.0, 0.0], [1.0, 0.0]], [[5.0, 5.0], [7.0, -5.0]]])


def write_folder(path: pathlib.Path, ids=IDS, features=VECTORS) -> pathlib.Path:
    path.mkdir()
    for image_id, values in zip(ids, features, strict=True):
        np.save(path / f"{image_id}.npy", values)
    (path / "notes.txt").touch()
    return path


def write_npz(path: pathlib.Path, ids=IDS, features=VECTORS, **more: object) -> pathlib.Path:
    np.savez(path, **({"image_ids": np.asarray(ids), "features": features} | more))
    return path


def write_hdf5(path: pathlib.Path, ids=IDS, features=VECTORS, id_name="image_ids", **more: object) -> pathlib.Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file[id_name] = np.asarray(ids)
        file["features"] = features
        for name, values in more.items():
            file[name] = values
    return path


WRITERS = {
    "folder": lambda folder, **of: write_folder(folder / "features", **of),
    "npz": lambda folder, **of: write_npz(folder / "features.npz", **of),
    "h5": lambda folder, **of: write_hdf5(folder / "features.h5", **of),
    "hdf5": lambda folder, **of: write_hdf5(folder / "features.hdf5", id_name="image_id", **of),
}


@pytest.mark.parametrize("layout", WRITERS)
@pytest.mark.parametrize("dtype", ["<f2", ">f4", "<f8"])
def test_every_layout_gives_an_image_its_features(layout, dtype, tmp_path):
    found = open_image_features([WRITERS[layout](tmp_path, features=VECTORS.astype(dtype))])
    assert found.size == 3
    assert not found.regions
    assert [image_id in found for image_id in (*IDS, 1)] == [True, True, True, False]
    for image_id, values in zip(IDS, VECTORS, strict=True):
        assert found[image_id].dtype == np.float32
        assert found[image_id].tolist() == values.tolist()


@pytest.mark.parametrize("layout", WRITERS)
def test_the_mean_of_regions_stands_for_the_image(layout, tmp_path):
    found = open_image_features([WRITERS[layout](tmp_path, features=REGIONS)])
    assert (found.size, found.regions) == (2, True)
    assert [found[image_id].tolist() for image_id in IDS] == [[2.0, 4.0], [0.5, 0.0], [6.0, 0.0]]


@pytest.mark.parametrize("layout", WRITERS)
def test_one_region_is_the_image(layout, tmp_path):
    found = open_image_features([WRITERS[layout](tmp_path, features=VECTORS[:, None])])
    assert (found.size, found.regions) == (3, False)
    assert found[7].tolist() == [4.0, 5.0, 6.0]


def test_regions_that_are_not_there_do_not_count(tmp_path):
    path = write_hdf5(tmp_path / "f.h5", features=REGIONS, num_boxes=[2, 1, 1])
    found = open_image_features([path])
    assert [found[image_id].tolist() for image_id in IDS] == [[2.0, 4.0], [0.0, 0.0], [5.0, 5.0]]
    for boxes in ([2, 0, 1], [2, 3, 1], [2, 1]):
        with pytest.raises(DataError, match="num_boxes"):
            open_image_features(
                [write_hdf5(tmp_path / f"{len(boxes)}{boxes[1]}.h5", features=REGIONS, num_boxes=boxes)]
            )


def test_files_are_put_together_and_told_apart(tmp_path):
    one = write_npz(tmp_path / "a.npz")
    other = write_npz(tmp_path / "b.npz", ids=[1, 2, 3], features=VECTORS + 10)
    both = open_image_features([one, other])
    assert both[2].tolist() == [14.0, 15.0, 16.0]
    assert both[30].tolist() == [1.0, 2.0, 3.0]
    assert len({both.sha1, open_image_features([one]).sha1, open_image_features([other]).sha1}) == 3
    assert open_image_features([one]).sha1 == open_image_features([one]).sha1
    with pytest.raises(DataError, match=r"c\.npz and .*a\.npz both have features of image 30"):
        open_image_features([one, write_npz(tmp_path / "c.npz", ids=[30, 31, 32])])


@pytest.mark.parametrize("layout", ["folder", "npz", "h5"])
def test_the_fingerprint_follows_the_content(layout, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    changed = VECTORS.copy()
    changed[2, 2] = 1e-3
    prints = [
        open_image_features([WRITERS[layout](tmp_path / at, features=v)]).sha1
        for at, v in (("a", VECTORS), ("b", changed))
    ]
    assert prints[0] != prints[1]


NAN = VECTORS.copy()
NAN[1, 2] = np.nan
HUGE = VECTORS.copy()
HUGE[1, 0] = 1e300


@pytest.mark.parametrize("layout", WRITERS)
@pytest.mark.parametrize(("values", "word"), [(NAN, "feature 2 is not finite"), (HUGE, "feature 0 is not finite")])
def test_values_must_be_finite(layout, values, word, tmp_path):
    path = WRITERS[layout](tmp_path, features=values)
    found = open_image_features([path])
    assert found[30].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(DataError, match=word) as caught:
        found[7]
    assert str(caught.value).startswith(f"{path}, image 7:")


def test_all_images_have_one_size(tmp_path):
    found = open_image_features(
        [write_npz(tmp_path / "a.npz"), write_npz(tmp_path / "b.npz", [1, 2, 3], REGIONS[:, 0])]
    )
    with pytest.raises(DataError, match="image 30: has 3 features, and others have 2"):
        found[30]


def save(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def npz_of(**members: bytes):
    def write(path: pathlib.Path) -> pathlib.Path:
        with zipfile.ZipFile(path / "f.npz", "w") as archive:
            for name, data in members.items():
                archive.writestr(f"{name}.npy", data)
        return path / "f.npz"

    return write


def other_file(name: str, data: bytes):
    def write(path: pathlib.Path) -> pathlib.Path:
        (path / name).write_bytes(data)
        return path / name

    return write


OBJECTS = np.array([{}, {}, {}], dtype=object)
FAULTS = {
    "another ending": (other_file("f.pt", b""), "folder of <image_id>.npy files"),
    "nothing there": (lambda path: path / "f.npz", "no such file"),
    "no zip": (other_file("f.npz", b"PK"), "not a zip file"),
    "no HDF5": (lambda path: cut(write_hdf5(path / "f.h5"), 100) / "f.h5", "not an HDF5 file"),
    "no ids": (npz_of(features=save(VECTORS)), "not image_ids and features"),
    "no features": (npz_of(image_ids=save(np.array(IDS))), "not image_ids and features"),
    "pickled features": (npz_of(image_ids=save(np.array(IDS)), features=save(OBJECTS)), "pickled Python objects"),
    "pickled ids": (npz_of(image_ids=save(OBJECTS), features=save(VECTORS)), "pickled Python objects"),
    "fractional ids": (npz_of(image_ids=save(np.array([1.0, 2.0, 3.0])), features=save(VECTORS)), "not integers"),
    "integer features": (lambda path: write_npz(path / "f.npz", features=VECTORS.astype(int)), "float32"),
    "integer HDF5": (lambda path: write_hdf5(path / "f.h5", features=VECTORS.astype(int)), "floating-point"),
    "fewer ids": (lambda path: write_npz(path / "f.npz", ids=[1, 2]), "do not go with 3 rows"),
    "an id twice": (lambda path: write_hdf5(path / "f.h5", ids=[1, 2, 1]), "image 1 is there twice"),
    "one axis": (lambda path: write_npz(path / "f.npz", features=VECTORS[:, 0]), r"\[N, F\]"),
    "four axes": (lambda path: write_hdf5(path / "f.h5", features=REGIONS[..., None]), r"\[N, F\]"),
    "no rows": (lambda path: write_npz(path / "f.npz", ids=[], features=np.zeros((0, 3))), "integers|no numbers"),
    "no features at all": (lambda path: write_hdf5(path / "f.h5", features=np.zeros((3, 0))), r"\[N, F\]"),
    "empty folder": (lambda path: path, "no <image_id>.npy files"),
    "cut file": (lambda path: cut(write_folder(path / "f") / "7.npy"), "cut short"),
    "three axes": (lambda path: write_folder(path / "f", features=REGIONS[:, None]), "image 7: its shape"),
    "an id in two spellings": (lambda path: write_folder(path / "f", ["7", "007", "8"]), "both features of image 7"),
}


def cut(path: pathlib.Path, count: int = 1) -> pathlib.Path:
    path.write_bytes(path.read_bytes()[:-count])
    return path.parent


@pytest.mark.parametrize("case", FAULTS)
def test_every_fault_names_the_file(case, tmp_path):
    write, word = FAULTS[case]
    path = write(tmp_path)
    with pytest.raises(DataError, match=word) as caught:
        open_image_features([path])
    assert str(caught.value).startswith(str(path))


def test_hdf5_links_lead_nowhere(tmp_path):
    h5py = pytest.importorskip("h5py")
    write_hdf5(tmp_path / "real.h5")
    with h5py.File(tmp_path / "linked.h5", "w") as file:
        file["image_ids"] = IDS
        file["features"] = h5py.ExternalLink("real.h5", "features")
    with h5py.File(tmp_path / "stored.h5", "w") as file:
        file["image_ids"] = IDS
        file.create_dataset("features", (3, 3), "<f8", external=[(str(tmp_path / "raw"), 0, 72)])
    for name, word in (("linked.h5", "is a link"), ("stored.h5", "no data set with its numbers in the file")):
        with pytest.raises(DataError, match=word):
            open_image_features([tmp_path / name])


def test_without_h5py_it_is_named(tmp_path, monkeypatch):
    (tmp_path / "f.h5").touch()
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ConfigError, match=r"h5py.*vatex-jax\[h5\]"):
        open_image_features([tmp_path / "f.h5"])
