"""A small folder of VaTeX files, made anew for each test that wants one."""

import json
import pathlib
from collections.abc import Callable

import numpy as np
import pytest

VIDEOS = {
    "vatex_training_v1.0.json": [
        {
            "videoID": "-a_000001_000011",
            "enCap": [f"A dog runs number {i} 🐶 ." for i in range(10)],
            "chCap": [f"第{i}只狗在跑。" for i in range(10)],
        },
        {"videoID": "_b_000000_000010", "enCap": ["A bat .", "One ."], "chCap": [f"蝙蝠{i}" for i in range(7)]},
        {"videoID": "c_000002_000012", "enCap": ["Only English ."]},
    ],
    "vatex_validation_v1.0.json": [{"videoID": "d_000003_000013", "enCap": ["A crane ."], "chCap": ["起重机"]}],
    "vatex_public_test_english_v1.1.json": [{"videoID": "e_000004_000014", "enCap": ["Six ."] * 6}],
    "vatex_private_test_without_annotations.json": [{"videoID": "f_000005_000015"}],
}
KINETICS = (
    "label,youtube_id,time_start,time_end,split\nrunning,-a,1,11,train\nflying,_b,0,10,train\nsitting,z,0,1,test\n"
)


def features_of(video_id: str) -> np.ndarray:
    """float32 [1, T, 1024], T = 1, 2, ... by the id's letter."""
    letter = "abcdef".index(video_id.strip("-_")[0])
    return np.random.default_rng(letter).normal(size=(1, letter + 1, 1024)).astype(np.float32)


def write_folder(folder: pathlib.Path) -> pathlib.Path:
    """Writes captions, features in three folders, and labels; returns `folder`."""
    for name, videos in VIDEOS.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(videos, ensure_ascii=False), encoding="utf-8")
        place = folder / ("trainval" if "training" in name or "validation" in name else name.removesuffix(".json"))
        place.mkdir(exist_ok=True)
        for video in videos:
            np.save(place / f"{video['videoID']}.npy", features_of(video["videoID"]))
    (folder / "kinetics_train.csv").write_text(KINETICS, encoding="utf-8")
    return folder


@pytest.fixture
def vatex_folder(tmp_path) -> pathlib.Path:
    """A folder with all four splits: 3, 1, 1 and 1 videos."""
    return write_folder(tmp_path / "vatex files")


@pytest.fixture
def write_vatex_folder() -> Callable[[pathlib.Path], pathlib.Path]:
    """Writes such a folder anywhere."""
    return write_folder


@pytest.fixture
def expected_features() -> Callable[[str], np.ndarray]:
    """The features that the folder has for a video."""
    return features_of
