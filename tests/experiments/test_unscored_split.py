"""A test split without references, as VaTeX's public one has no Chinese: translated by `predict`, refused elsewhere."""

import json
from pathlib import Path

import ml_collections
import pytest

from configs import vmt
from tfds_builders.build import build
from vatex_jax.errors import DataError
from vatex_jax.experiments import translation


def captions(first: int, count: int, chinese: bool) -> list[dict]:
    videos = [
        {"videoID": f"v{number}", "enCap": [f"a cat {i} sleeps" for i in range(10)], "chCap": ["猫睡觉"] * 10}
        for number in range(first, first + count)
    ]
    return [video if chinese else {name: video[name] for name in ("videoID", "enCap")} for video in videos]


@pytest.fixture
def config(tmp_path, monkeypatch) -> ml_collections.ConfigDict:
    monkeypatch.setenv("VATEX_JAX_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "files"
    folder.mkdir()
    for name, videos in (
        ("vatex_training_v1.0.json", captions(0, 2, True)),
        ("vatex_validation_v1.0.json", captions(2, 3, True)),
        ("vatex_public_test_english_v1.1.json", captions(5, 2, False)),
    ):
        (folder / name).write_text(json.dumps(videos), encoding="utf-8")
    build("vatex/none", manual_dir=folder, report=lambda line: None)
    config = vmt.get_config("none")
    config.cpu_devices = 0
    config.data.update({"name": "vatex/none", "min_count": 1, "shapes": 1})
    config.model.update({"embedding": 8, "source_hidden": 4, "decoder_hidden": 8})
    config.train.update({"epochs": 1, "batch_size": 10})
    config.decode.update({"batch_size": 10, "max_words": 5, "beam": 2, "n_best": 1})
    config.eval.figures = False
    return config


@pytest.mark.slow
def test_half_of_validation_is_scored_and_the_split_itself_translated(config, tmp_path):
    workdir = tmp_path / "run"
    result = translation.run(config, workdir, "train_and_evaluate")
    assert result["dataset"]["split"] == "validation_half"
    assert result["dataset"]["sizes"] == {"train": 2, "validation": 1, "validation_half": 2}
    config.data.test_split = "public_test"
    assert translation.run(config, workdir, "predict") is None
    folder = workdir / "decoded" / "test_split=public_test"
    submission = json.loads((folder / "submission.json").read_text(encoding="utf-8"))
    assert submission.keys() == {f"{video}&{pair}" for video in ("v5", "v6") for pair in range(5)}
    lines = read_lines(folder / "predictions.jsonl")
    assert [line["source"] for line in lines[:5]] == [f"a cat {i} sleeps" for i in range(5, 10)]
    assert {line["reference"] for line in lines} == {None}
    assert len(read_lines(workdir / "predictions.jsonl")) == 10
    with pytest.raises(DataError, match=r"(?s)public_test .* no parallel captions in 'zh'.*--mode=predict"):
        translation.run(config, workdir, "evaluate")


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
