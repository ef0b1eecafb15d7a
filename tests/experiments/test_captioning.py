"""The captioning experiment from end to end on the tiny world, and the schedule of its scheduled sampling."""

import dataclasses
import json
import zlib
from pathlib import Path

import jax
import jax.numpy as jnp
import ml_collections
import numpy as np
import pytest

from configs import captioning as config_file
from vatex_jax.data.batching import TrainingBatches
from vatex_jax.errors import CheckpointError, ConfigError
from vatex_jax.experiments import captioning, trained
from vatex_jax.experiments import captioning_outputs as outputs
from vatex_jax.metrics import coco
from vatex_jax.metrics.meteor import Meteor
from vatex_jax.models.captioner import Captioner, is_shared
from vatex_jax.reports import caption_sheet, results
from vatex_jax.training import loop, optimizers

VIDEOS = 8  # of the tiny world's test split


def tiny_config(variant: str = "") -> ml_collections.ConfigDict:
    config = config_file.get_config(variant)
    config.cpu_devices = 0  # the test process has its devices already
    config.data.update({"name": "vatex_sim/tiny", "min_count": 1, "shapes": 1})
    config.train.update({"epochs": 1, "batch_size": 40})
    config.decode.update({"batch_size": 8, "max_words": 6, "beam": 2, "n_best": 2, "samples": 2})
    return config


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("captioning")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VATEX_JAX_DATA", str(folder / "data"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield folder / "run", captioning.run(tiny_config(), folder / "run", "train_and_evaluate")


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_results_hold_every_metric_of_both_languages(finished):
    workdir, result = finished
    assert results.read(workdir / "results.json") == json.loads(json.dumps(result))
    for language in ("en", "zh"):
        for name in (*coco.METRICS, "distinct1", "distinct2", "self_bleu4", "novel", "vocabulary", "length"):
            assert f"{language}/{name}" in result["metrics"]
        mean, best = (result["metrics"][f"{language}/cider/{suffix}"] for suffix in ("mean", "best"))
        assert best >= mean
    assert result["signature"]["en/tokeniser"].startswith("en:ptb")
    assert result["signature"]["zh/tokeniser"].startswith("zh:jieba")
    assert result["signature"]["decoding"].startswith("beam:2|")


def test_predictions_and_scores_are_one_line_a_video(finished):
    workdir, result = finished
    lines = read_lines(workdir / "predictions.jsonl")
    scores = read_lines(workdir / "caption_scores.jsonl")
    assert [line["video_id"] for line in lines] == [line["video_id"] for line in scores]
    assert len(lines) == VIDEOS
    for line in lines:
        for language in ("en", "zh"):
            assert len(line[language]["references"]) == 10
            assert 1 <= len(line[language]["n_best"]) <= 2
            assert len(line[language]["samples"]) == 2
    mean = np.mean([line["zh"]["rouge_l"] for line in scores])
    assert result["metrics"]["zh/rouge_l"] == pytest.approx(mean)


def test_stages_are_both_trained_and_pictures_drawn(finished):
    workdir, _ = finished
    assert [line["stage"] for line in read_lines(workdir / "metrics.jsonl")] == [0, 1]
    names = {path.name for path in (workdir / "figures").iterdir()}
    assert {"training.png", "captions.png", "attention_en_0.png", "attention_zh_7.png"} <= names


def test_predict_writes_a_submission_a_language(finished):
    workdir, _ = finished
    assert captioning.run(tiny_config(), workdir, "predict") is None
    by_language = [
        json.loads((workdir / f"submission_{name}.json").read_text(encoding="utf-8")) for name in ("en", "zh")
    ]
    lines = read_lines(workdir / "predictions.jsonl")
    assert by_language[1] == {line["video_id"]: line["zh"]["n_best"][0]["text"] for line in lines}
    assert len(by_language[0]) == VIDEOS


def test_a_restored_run_captions_as_before(finished):
    workdir, _ = finished
    trained = captioning.restore(workdir, report=lambda line: None)
    again = outputs.caption(trained.config, trained.task.model, trained.params, trained.data)
    lines = read_lines(workdir / "predictions.jsonl")
    assert again.words("en") == [line["en"]["n_best"][0]["tokens"] for line in lines]
    assert again.sampled("zh") == [[one["tokens"] for one in line["zh"]["samples"]] for line in lines]


def test_held_out_actions_are_scored_apart_and_unlabelled_videos_in_neither_part(finished):
    trained = captioning.restore(finished[0], report=lambda line: None)
    test = trained.data.splits["test"]
    labels = (7, 7, 7, 1, 2, -1, 2, 1)
    labelled = zip(test.videos, labels, strict=True)
    videos = tuple(dataclasses.replace(video, label=label) for video, label in labelled)
    data = dataclasses.replace(
        trained.data,
        splits={**trained.data.splits, "test": dataclasses.replace(test, videos=videos)},
        held_out=frozenset({7}),
    )
    config = tiny_config()
    config.decode.samples = 0
    output = outputs.caption(config, trained.task.model, trained.params, data)
    metrics = outputs.test_metrics(output)
    texts, references = output.texts("zh"), output.references("zh")
    with Meteor() as running:
        for part, rows in (("heldout", [0, 1, 2]), ("seen", [3, 4, 6, 7])):
            assert metrics[f"zh-{part}/sentences"] == metrics[f"en-{part}/sentences"] == len(rows)
            several = [references[row] for row in rows]
            alone = coco.coco_scores([texts[row] for row in rows], several, "zh", running=running)
            for name in coco.METRICS:
                assert metrics[f"zh-{part}/{name}"] == pytest.approx(alone.corpus[name])


def test_another_sharing_is_another_run(finished):
    workdir, _ = finished
    with pytest.raises(CheckpointError, match="shared_decoder"):
        captioning.run(tiny_config("shared_enc"), workdir, "evaluate")


def test_sheets_of_two_runs_stand_side_by_side(finished, tmp_path):
    workdir, _ = finished
    found = caption_sheet.read_predictions(workdir / "predictions.jsonl")
    lines = caption_sheet.sheet_lines({"one": found, "two": found}, 1)
    labels = [label for label, _, _ in lines]
    assert labels[0] == next(iter(found))
    assert [labels.count(f"{name}, {language}") for name in ("one", "two") for language in ("en", "zh")] == [1] * 4
    assert sum("reference" in label for label in labels) == 4
    assert caption_sheet.main([str(workdir), f"--out={tmp_path / 'sheet.png'}"]) == 0
    assert (tmp_path / "sheet.png").stat().st_size > 10_000
    assert caption_sheet.main([str(tmp_path), f"--out={tmp_path / 'none.png'}"]) == 2


def test_describe_tells_what_the_second_stage_leaves_as_it_is(monkeypatch, tmp_path, capsys):
    """Shared Enc shares the encoder alone: 4,723,200 parameters (see test_captioner.py) stay fixed."""
    monkeypatch.setenv("VATEX_JAX_DATA", str(tmp_path / "nothing"))
    assert captioning.run(config_file.get_config("shared_enc-paper"), tmp_path / "run", "describe") is None
    printed = capsys.readouterr().out
    assert "rate times 0.5 after 4 evaluations without a better cider" in printed
    assert "scheduled sampling: 0.05 at first, 0.05 more every 5 epochs, at most 0.25" in printed
    assert "stage 1: at most 50 epochs, 0 parameters frozen" in printed
    assert "stage 2: at most 10 epochs, 4,723,200 parameters frozen" in printed
    assert not list(tmp_path.iterdir())


def test_the_share_fed_back_grows_and_is_capped():
    """The paper's: 0.05, then 0.05 more every 5 epochs, 0.25 from epoch 20 on."""
    sampling = captioning.ScheduledSampling(0.05, 0.05, 5, 0.25)
    found = [float(sampling.probability(jnp.int32(epoch))) for epoch in (0, 4, 5, 19, 20, 25, 100)]
    np.testing.assert_allclose(found, [0.05, 0.05, 0.1, 0.2, 0.25, 0.25, 0.25], rtol=1e-6)
    assert sampling.ever()
    assert captioning.ScheduledSampling(0.0, 0.05, 5, 0.25).ever()
    assert not captioning.ScheduledSampling(0.0, 0.0, 5, 0.25).ever()
    assert not captioning.ScheduledSampling(0.05, 0.05, 5, 0.0).ever()


def test_one_language_freezes_nothing_and_teacher_forcing_samples_nothing():
    experiment = captioning.CaptioningExperiment()
    config = tiny_config("base_zh")
    config.train.scheduled_sampling.most = 0.0
    task = experiment.task(config, {"zh": 50}, 7)
    assert task.sampling is None
    shapes = jax.eval_shape(task.init, jax.random.key(0))
    for stage in experiment.stages(config, task):
        assert not any(jax.tree.leaves(optimizers.frozen_leaves(shapes, stage.frozen)))
    both = experiment.task(tiny_config(), {"en": 40, "zh": 50}, 7)
    assert len(experiment.stages(tiny_config(), both)) == 2
    config = tiny_config()
    config.train.finetune_private = False
    assert experiment.stages(config, both) is None


@pytest.mark.parametrize("variant", config_file.VARIANTS)
def test_every_variant_has_a_loss_and_passes_its_own_checks(variant):
    config, experiment = config_file.get_config(variant), captioning.CaptioningExperiment()
    experiment.check(config)
    task = experiment.task(config, {language: 30 for language in config.model.languages}, 5)
    shapes = jax.eval_shape(task.init, jax.random.key(0))
    batch = {"video": np.zeros((2, 4, 1024), np.float32), "video_mask": np.ones((2, 4), bool)}
    batch |= {f"target_{language}": np.ones((2, 5), np.int32) for language in config.model.languages}
    loss, _ = jax.eval_shape(task.loss, shapes, batch, jax.random.key(0), np.int32(0))
    assert (loss.shape, loss.dtype) == ((), np.float32)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("model.languages", ("en", "fr"), "one or more of en, zh"),
        ("train.scheduled_sampling.most", 1.5, "from 0 to 1"),
        ("train.scheduled_sampling.every", 0, "1 or more"),
        ("decode.temperature", 0.0, "above 0"),
        ("data.shuffled_video", True, "the variant is"),
        ("model.shared_decoder", False, "the variant is"),
        ("model.tied", False, "the variant is"),
        ("model.languages", ("zh",), "the variant is"),
    ],
)
def test_values_that_mean_nothing_are_errors(field, value, said):
    config = tiny_config()
    *path, name = field.split(".")
    place = config
    for part in path:
        place = place[part]
    place[name] = value
    with pytest.raises(ConfigError, match=said):
        captioning.CaptioningExperiment().check(config)


class Cut(Exception):
    """Stands for a kill."""


def train_in_two_stages(workdir: Path, cut: bool = False) -> tuple[Captioner, list, loop.Result]:
    """Trains on the tiny world; returns the model, the parameters at each evaluation, four a stage, and the result."""
    experiment, config = captioning.CaptioningExperiment(), tiny_config()
    config.train.update({"checkpoint_seconds": 0, "eval_every": 1, "max_steps": 4})
    config.train.update({"schedule": "constant", "plateau_factor": 0.5, "plateau_patience": 1})
    data = experiment.load(config, workdir, lambda line: None, references=True)
    batches = TrainingBatches(data.examples["train"], batch_size=40, seed=0, shapes=1)
    task = experiment.task(config, {name: len(words) for name, words in data.vocabularies.items()}, 3)
    measured: list = []

    def evaluate(params, epoch):
        measured.append(jax.device_get(params))
        if cut and len(measured) == 6:  # in the second stage, before its second evaluation counts
            raise Cut
        # Better or worse as it happens, a function of the parameters alone.
        return {"cider": zlib.crc32(measured[-1]["words_en"]["bias"].tobytes()) / 2**32}

    stages = experiment.stages(config, task)
    result = loop.train(task, batches, config=config.train, seed=0, workdir=workdir, evaluate=evaluate, stages=stages)
    return task.model, measured, result


def test_the_second_stage_moves_what_languages_do_not_share_and_nothing_else(finished, tmp_path):
    (tmp_path / "run").mkdir()
    model, measured, _ = train_in_two_stages(tmp_path / "run")
    assert len(measured) == 8  # four evaluations a stage
    # The second stage begins with the best of the first.
    best = max(measured[:4], key=lambda params: zlib.crc32(params["words_en"]["bias"].tobytes()))
    before, after = (jax.tree_util.tree_leaves_with_path(params) for params in (best, measured[7]))
    names = [tuple(key.key for key in path) for path, _ in before]
    same = [old.tobytes() == new.tobytes() for (_, old), (_, new) in zip(before, after, strict=True)]
    assert {name for name, is_same in zip(names, same, strict=True) if is_same} >= {
        name for name in names if is_shared(model, name)
    }
    moved = [not is_same for name, is_same in zip(names, same, strict=True) if not is_shared(model, name)]
    assert moved
    assert all(moved)


def test_a_run_cut_in_its_second_stage_ends_as_one_that_was_not(finished, tmp_path):
    for name in ("whole", "cut"):
        (tmp_path / name).mkdir()
    _, _, whole = train_in_two_stages(tmp_path / "whole")
    with pytest.raises(Cut):
        train_in_two_stages(tmp_path / "cut", cut=True)
    _, again, cut = train_in_two_stages(tmp_path / "cut")
    assert len(again) == 3  # it did not begin anew
    kept = [jax.tree.leaves((run.state, run.params)) for run in (cut, whole)]
    for ours, theirs in zip(*kept, strict=True):
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()
    hosts = [{**dataclasses.asdict(run.host), "wall_seconds": 0.0, "train_seconds": 0.0} for run in (cut, whole)]
    for host in hosts:
        host["history"] = [(line["step"], line["cider"]) for line in host["history"]]
    assert hosts[0] == hosts[1]
    assert whole.host.stage == 1


@pytest.mark.slow
def test_meteor_starts_once_before_the_evaluation_that_ends_training_and_ends_after_a_failure(
    finished, tmp_path, monkeypatch
):
    events = []

    class Recorded(Meteor):
        def __enter__(self):
            events.append("start")
            return super().__enter__()

        def __exit__(self, *error):
            events.append("stop")
            super().__exit__(*error)

    class Experiment(captioning.CaptioningExperiment):
        def judge(self, config, task, data):
            judge = super().judge(config, task, data)
            return lambda params, epoch: events.append(f"epoch {epoch}") or judge(params, epoch)

        def decode(self, *arguments):
            events.append("decode")
            raise RuntimeError("no more")

    monkeypatch.setattr(captioning, "Meteor", Recorded)
    config = tiny_config()
    config.train.update({"epochs": 2, "finetune_private": False})
    with pytest.raises(RuntimeError, match="no more"):
        trained.run(Experiment(), config, tmp_path / "run", "train_and_evaluate")
    assert events == ["epoch 1", "start", "epoch 2", "decode", "stop"]
