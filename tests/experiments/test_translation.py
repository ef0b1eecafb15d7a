"""The translation experiment from end to end on the tiny world: every mode, its files, its refusals."""

import json
from pathlib import Path

import ml_collections
import numpy as np
import pytest

from configs import vmt
from vatex_jax.errors import CheckpointError, ConfigError
from vatex_jax.experiments import translation
from vatex_jax.experiments import translation_outputs as outputs
from vatex_jax.reports import cells, results

PAIRS = 40  # 8 test videos of the tiny world, 5 pairs each


def tiny_config(variant: str = "attention") -> ml_collections.ConfigDict:
    config = vmt.get_config(variant)
    config.cpu_devices = 0  # the test process has its devices already
    config.data.name = "vatex_sim/tiny"
    config.data.min_count = 1
    config.data.shapes = 1
    config.train.epochs = 2
    config.train.batch_size = 40
    config.train.warmup_steps = 0
    config.decode.batch_size = 40
    config.decode.max_words = 12
    config.decode.beam = 3
    config.decode.n_best = 2
    config.eval.bootstrap_samples = 20
    return config


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("translation")
        patch.setenv("VATEX_JAX_DATA", str(folder / "data"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield folder


@pytest.fixture(scope="module")
def finished(environment) -> tuple[Path, dict]:
    workdir = environment / "run"
    return workdir, translation.run(tiny_config(), workdir, "train_and_evaluate")


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_results_are_valid_and_say_what_they_are(finished):
    workdir, result = finished
    assert results.read(workdir / "results.json") == json.loads(json.dumps(result))
    assert result["dataset"]["simulated"]
    assert not result["dataset"]["stand_in"]
    assert result["dataset"]["sizes"] == {"train": 24, "validation": 8, "test": 8}
    assert result["metrics"]["sentences"] == PAIRS
    assert result["metrics"]["oracle_bleu4"] == 100
    assert result["metrics"]["bleu4_low"] <= result["metrics"]["bleu4_high"]
    assert result["signature"]["tokeniser"].startswith("zh:jieba")
    assert np.load(workdir / "bleu_statistics.npy").shape == (PAIRS, 10)


def test_predictions_hold_every_pair_with_its_own_reference(finished):
    workdir, _ = finished
    predictions = read_lines(workdir / "predictions.jsonl")
    facts = json.loads(next((workdir.parent / "data").rglob("test_pairs.json")).read_text(encoding="utf-8"))
    said = {(line["video_id"], line["pair"]): (line["source"], line["reference"]) for line in predictions}
    assert said == {(fact["video_id"], fact["pair"]): (fact["en"], fact["zh"]) for fact in facts}
    for line in predictions:
        scores = [output["score"] for output in line["n_best"]]
        assert 1 <= len(scores) <= 2
        assert scores == sorted(scores, reverse=True)
        for output in line["n_best"]:
            assert len(output["tokens"]) <= 12
            assert "".join(output["tokens"]) == output["text"]
            assert not {"<pad>", "<unk>", "<bos>", "<eos>", "[M]"} & set(output["tokens"])


def test_pictures_and_metrics_are_there(finished):
    workdir, _ = finished
    assert len(read_lines(workdir / "metrics.jsonl")) == 2
    names = {path.name for path in (workdir / "figures").iterdir()}
    assert "training.png" in names
    assert sum(name.startswith("attention_video") for name in names) == 4
    assert sum(name.startswith("attention_source") for name in names) == 4


def test_a_finished_run_is_not_trained_again(finished):
    workdir, result = finished
    again = translation.run(tiny_config(), workdir, "train_and_evaluate")
    assert again["metrics"] == result["metrics"]


def test_predict_writes_the_challenge_s_file(finished):
    workdir, _ = finished
    before = read_lines(workdir / "predictions.jsonl")
    assert translation.run(tiny_config(), workdir, "predict") is None
    submission = json.loads((workdir / "submission.json").read_text(encoding="utf-8"))
    lines = read_lines(workdir / "predictions.jsonl")
    assert lines == before
    assert submission == {f"{line['video_id']}&{line['pair']}": " ".join(line["n_best"][0]["tokens"]) for line in lines}
    assert len(submission) == PAIRS


def test_what_is_decoded_otherwise_goes_to_a_folder_of_its_own(finished):
    workdir, result = finished
    before = {path: path.read_bytes() for path in workdir.iterdir() if path.is_file()}
    config = tiny_config()
    config.decode.beam = config.decode.n_best = 1
    greedy = translation.run(config, workdir, "evaluate")
    assert greedy["signature"]["decoding"].startswith("beam:1|")
    folder = workdir / "decoded" / "beam=1,n_best=1"
    assert results.read(folder / "results.json")["metrics"] == greedy["metrics"]
    config.decode.length_penalty = 0.0
    assert translation.run(config, workdir, "predict") is None
    assert (workdir / "decoded" / "beam=1,length_penalty=0.0,n_best=1" / "submission.json").exists()
    assert {path: path.read_bytes() for path in workdir.iterdir() if path.is_file()} == before
    assert [run.folder for run in cells.load_runs([workdir])] == [workdir]
    assert translation.run(tiny_config(), workdir, "evaluate")["metrics"] == result["metrics"]


def test_a_restored_run_writes_what_the_run_wrote(finished):
    workdir, _ = finished
    trained = translation.restore(workdir, report=lambda line: None)
    found = outputs.translate(trained.config, trained.task.model, trained.params, trained.data)
    words = outputs.Output(trained.data, "test", found).words
    assert words == [line["n_best"][0]["tokens"] for line in read_lines(workdir / "predictions.jsonl")]
    with pytest.raises(CheckpointError, match="holds no run"):
        translation.restore(workdir / "figures")


def test_another_configuration_is_refused_with_the_fields_that_differ(finished):
    workdir, _ = finished
    config = tiny_config()
    config.seed = 5
    config.model.embedding = 32
    for mode in ("train_and_evaluate", "evaluate"):
        with pytest.raises(CheckpointError, match=r"(?s)model\.embedding: 64 there, 32 now.*seed: 0 there, 5 now"):
            translation.run(config, workdir, mode)


def test_a_changed_vocabulary_is_refused(finished, tmp_path):
    workdir, _ = finished
    path = workdir / "vocabulary_zh.json"
    kept = path.read_text(encoding="utf-8")
    words = json.loads(kept)
    words["words"][7], words["words"][8] = words["words"][8], words["words"][7]
    path.write_text(json.dumps(words), encoding="utf-8")
    try:
        with pytest.raises(CheckpointError, match="vocabulary_zh"):
            translation.run(tiny_config(), workdir, "evaluate")
    finally:
        path.write_text(kept, encoding="utf-8")


def test_evaluating_what_was_never_trained_says_so(environment):
    with pytest.raises(CheckpointError, match="train first"):
        translation.run(tiny_config(), environment / "untrained", "evaluate")


def test_a_folder_of_other_files_is_left_alone(environment):
    folder = environment / "thesis"
    folder.mkdir()
    (folder / "chapter1.tex").write_text("dear")
    with pytest.raises(CheckpointError, match="no run"):
        translation.run(tiny_config(), folder, "train_and_evaluate", overwrite=True)
    assert (folder / "chapter1.tex").read_text() == "dear"


def test_modes_and_values_that_mean_nothing_are_errors(environment):
    with pytest.raises(ConfigError, match="mode=table"):
        translation.run(tiny_config(), environment / "x", "table")
    config = tiny_config()
    config.direction = "en2fr"
    with pytest.raises(ConfigError, match="en2zh"):
        translation.run(config, environment / "x", "describe")


def test_describe_needs_no_data_and_counts_the_published_sizes(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("VATEX_JAX_DATA", str(tmp_path / "nothing"))
    assert translation.run(vmt.get_config("paper"), tmp_path / "run", "describe") is None
    printed = capsys.readouterr().out
    assert "47,262,384" in printed
    assert "source_encoder/words" in printed
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_another_variant_runs_in_the_other_direction(environment):
    variant = "none"
    config = tiny_config(variant)
    config.direction = "zh2en"
    config.train.epochs = 1
    config.eval.figures = False
    result = translation.run(config, environment / variant, "train_and_evaluate")
    assert result["variant"] == variant
    assert result["signature"]["tokeniser"].startswith("en:")
    assert result["metrics"]["ceiling_bleu4"] < 100


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("train.learning_rate", float("nan"), "finite"),
        ("decode.length_penalty", float("inf"), "finite"),
        ("seed", 10**20, "at most"),
        ("model.embedding", 0, "1 or more"),
        ("model.video_projection", -3, "1 or more"),
        ("vocabulary_size.en", 0, "6 or more"),
        ("data.min_count", 0, "1 or more"),
        ("data.chinese", "letters", "words"),
        ("train.schedule", "foo", "schedule"),
        ("train.clip", "foo", "clip"),
        ("train.metric", "bleu5", "bleu4"),
        ("train.plateau_patience", 0, "1 or more"),
        ("train.warmup_steps", -1, "warmup"),
        ("cpu_devices", -1, "0 or more"),
        ("direction", "fr2en", "en2zh"),
    ],
)
def test_values_that_mean_nothing_are_refused_before_anything_runs(tmp_path, field, value, said):
    config = tiny_config()
    *path, name = field.split(".")
    place = config
    for part in path:
        place = place[part]
    with place.ignore_type():
        place[name] = value
    with pytest.raises(ConfigError, match=said):
        translation.run(config, tmp_path / "run", "describe")
    assert not list(tmp_path.iterdir())
