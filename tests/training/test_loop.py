"""What the loop decides, saves and says; kills are in test_resume.py."""

import json
import signal
import threading

import jax
import numpy as np
import optax
import pytest

from vatex_jax.errors import CheckpointError, ConfigError, DataError, TrainingError
from vatex_jax.training import sharding
from vatex_jax.training.checkpoints import load_best_params
from vatex_jax.training.loop import Stage, make_train_step, shapes_of, train
from vatex_jax.training.state import new_state
from vatex_jax.training.writers import read_metrics


class Scores:
    """An evaluation that gives out prepared numbers and keeps the parameters it was shown."""

    def __init__(self, *values):
        self.values, self.seen = list(values), []

    def __call__(self, params, epoch):
        self.seen.append(jax.device_get(params))
        return {"accuracy": self.values[len(self.seen) - 1]}


def run(toy, workdir, evaluate=None, task=None, batches=None, stages=None, **fields):
    return train(
        task or toy.ToyTask(),
        batches or toy.ToyBatches(),
        config=toy.make_config(**fields),
        seed=7,
        workdir=workdir,
        evaluate=evaluate,
        stages=stages,
    )


def assert_same(ours, others):
    ours, others = jax.tree.leaves(ours), jax.tree.leaves(others)
    assert all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in zip(ours, others, strict=True))


def test_stops_after_patience_and_returns_the_best(toy, tmp_path):
    scores = Scores(1.0, 3.0, 2.0, float("nan"), 3.0, 9.0)
    result = run(toy, tmp_path, scores, epochs=9, patience=3)
    assert len(scores.seen) == 5
    assert (result.host.best_step, result.host.best_value) == (10, 3.0)
    assert_same(result.params, scores.seen[1])
    assert_same(result.state.params, scores.seen[4])
    assert_same(load_best_params(tmp_path / "checkpoints", scores.seen[1], {}), scores.seen[1])
    lines = read_metrics(tmp_path / "metrics.jsonl")
    assert [(line["step"], line["epoch"], line["accuracy"]) for line in lines] == [
        (5, 1.0, 1.0),
        (10, 2.0, 3.0),
        (15, 3.0, 2.0),
        (20, 4.0, None),
        (25, 5.0, 3.0),
    ]
    assert lines == result.host.history


def test_lower_can_be_better(toy, tmp_path):
    result = run(toy, tmp_path, Scores(2.0, 1.0, 3.0), epochs=3, metric_mode="min")
    assert result.host.best_step == 10


def test_a_finished_run_returns_at_once(toy, tmp_path):
    first = run(toy, tmp_path, Scores(1.0, 2.0), epochs=2)
    again = run(toy, tmp_path, Scores(), epochs=2, batches=toy.ToyBatches(pause=1e9))
    assert_same(again.params, first.params)
    assert again.host.history == first.host.history


def test_without_an_evaluation_the_last_is_the_best(toy, tmp_path):
    for name, evaluate in [("none", None), ("empty", lambda params, epoch: {})]:
        result = run(toy, tmp_path / name, evaluate, epochs=2, patience=1)
        assert result.host.best_step == 10
        assert_same(result.params, result.state.params)


def test_evaluations_by_steps_and_a_limit_on_steps(toy, tmp_path):
    result = run(toy, tmp_path, toy.accuracy, eval_every=3, max_steps=8, epochs=10)
    assert [line["step"] for line in result.host.history] == [3, 6, 8]
    assert int(result.state.step) == 8


def test_never_evaluated_the_last_step_is_kept(toy, tmp_path):
    def never(params, epoch):
        raise AssertionError

    result = run(toy, tmp_path, never, eval_every=-1, epochs=3)
    assert [line["step"] for line in result.host.history] == [15] == [result.host.best_step]
    assert_same(result.params, result.state.params)
    with pytest.raises(ConfigError, match="eval_every is -2"):
        run(toy, tmp_path / "other", eval_every=-2)


def test_training_loss_is_the_mean_over_tokens_since_the_last_evaluation(toy, tmp_path):
    class Constant(toy.ToyTask):
        """Loss and number of tokens by step."""

        def loss(self, params, batch, key, step):
            loss, _ = super().loss(params, batch, key, step)
            return 0 * loss + step + 1.0, {"tokens": 10 * (step + 1)}

    result = run(toy, tmp_path, task=Constant(), epochs=2, batches=toy.ToyBatches(steps_per_epoch=2))
    assert [line["train/loss"] for line in result.host.history] == [(1 + 4) / 3, (9 + 16) / 7]


def test_plateau_halves_the_steps_taken(toy, tmp_path):
    # Without momentum of its own size the toy has no closed form; the same gradient twice has: half the way.
    fields = dict(epochs=3, plateau_patience=1, patience=0, max_steps=3, eval_every=1)
    whole, half = Scores(3.0, 2.0, 1.0), Scores(3.0, 2.0, 1.0)
    run(toy, tmp_path / "whole", whole, plateau_factor=1.0, **fields)
    result = run(toy, tmp_path / "half", half, plateau_factor=0.5, **fields)
    assert float(result.state.learning_rate_scale) == 0.25
    assert_same(whole.seen[1], half.seen[1])
    for before, full, cut in zip(
        *(jax.tree.leaves(tree) for tree in (whole.seen[1], whole.seen[2], half.seen[2])), strict=True
    ):
        np.testing.assert_allclose(cut - before, (full - before) / 2, atol=1e-7)


def test_second_stage_freezes_what_it_is_told_to(toy, tmp_path):
    scores = Scores(1.0, 4.0, 2.0, 3.0, 5.0)
    stages = [Stage(3), Stage(2, lambda path: path[0] == "embed")]
    result = run(toy, tmp_path, scores, stages=stages, weight_decay=0.1)
    assert [line["stage"] for line in result.host.history] == [0, 0, 0, 1, 1]
    best = scores.seen[1]  # the second stage starts from these, not from the last
    assert_same(result.params["embed"], best["embed"])
    assert_same(scores.seen[3]["embed"], best["embed"])
    assert all((a != b).any() for a, b in zip(*map(jax.tree.leaves, (result.params["out"], best["out"])), strict=True))
    assert result.host.best_step == 25


def test_a_second_stage_that_does_not_help_changes_nothing(toy, tmp_path):
    scores = Scores(1.0, 4.0, 2.0, 3.0)
    result = run(toy, tmp_path, scores, stages=[Stage(2), Stage(2, lambda path: path[0] == "embed")])
    assert_same(result.params, scores.seen[1])


@pytest.mark.parametrize("nan_step", [0, 7])
def test_a_nan_stops_the_run_and_is_never_saved(toy, tmp_path, nan_step):
    with pytest.raises(TrainingError) as error:
        run(toy, tmp_path, toy.accuracy, task=toy.NanTask(nan_step), checkpoint_seconds=0.0)
    message = str(error.value)
    assert f"stopped at step {nan_step + 1}: the loss is nan" in message
    assert f"{[nan_step * 16 + row for row in range(16)]}" in message
    saved = sorted((tmp_path / "checkpoints").glob("last-*"))
    if nan_step == 0:
        assert "No checkpoint was written" in message
        assert saved == []
    else:
        assert str(saved[-1]) in message
        assert json.loads((saved[-1] / "checkpoint.json").read_text("utf-8"))["step"] == nan_step


def test_a_nan_without_checkpoints_between_is_not_saved_at_the_epochs_end(toy, tmp_path):
    with pytest.raises(TrainingError, match="step 10: "):
        run(toy, tmp_path, toy.accuracy, task=toy.NanTask(9))
    assert [path.name for path in sorted((tmp_path / "checkpoints").glob("last-*"))] == ["last-00000005"]


class Failing:
    """Batches up to a step, then a failure of the machine."""

    def __init__(self, batches, step):
        self.batches, self.step, self.steps_per_epoch = batches, step, batches.steps_per_epoch

    def batch(self, step):
        if step == self.step:
            raise OSError("the machine fails")
        return self.batches.batch(step)

    def of_each_shape(self):
        return self.batches.of_each_shape()


def test_a_run_that_failed_anywhere_goes_on_as_if_it_had_not(toy, tmp_path):
    fields = dict(epochs=4, patience=2, plateau_factor=0.5, plateau_patience=1, eval_every=3)
    stages = [Stage(2), Stage(2, lambda path: path[0] == "embed")]
    whole = run(toy, tmp_path / "whole", toy.accuracy, stages=stages, **fields)
    for step in (2, 11, int(whole.state.step) - 1):
        workdir = tmp_path / f"cut{step}"
        with pytest.raises(OSError, match="machine"):
            run(toy, workdir, toy.accuracy, stages=stages, batches=Failing(toy.ToyBatches(), step), **fields,
                checkpoint_seconds=0.0 if step == 11 else 1e9)  # fmt: skip
        resumed = run(toy, workdir, toy.accuracy, stages=stages, **fields)
        assert_same(resumed.state, whole.state)
        assert_same(resumed.params, whole.params)
        measured = [
            [{key: line[key] for key in ("step", "epoch", "stage", "train/loss", "accuracy")} for line in lines]
            for lines in (read_metrics(workdir / "metrics.jsonl"), whole.host.history)
        ]
        assert measured[0] == measured[1]


def test_a_damaged_newest_checkpoint_costs_steps_and_nothing_else(toy, tmp_path):
    whole = run(toy, tmp_path / "whole", toy.accuracy)
    with pytest.raises(OSError, match="machine"):
        run(toy, tmp_path / "cut", toy.accuracy, batches=Failing(toy.ToyBatches(), 12))
    newest = tmp_path / "cut" / "checkpoints" / "last-00000010"
    next(newest.glob("arrays/float32-*/zarr.json")).unlink()
    with pytest.warns(UserWarning, match="last-00000010 is damaged"):
        resumed = run(toy, tmp_path / "cut", toy.accuracy)
    assert_same(resumed.state, whole.state)
    assert [line["step"] for line in read_metrics(tmp_path / "cut" / "metrics.jsonl")] == [5, 10, 15, 20]


def test_a_metric_nobody_measures_is_named(toy, tmp_path):
    with pytest.raises(ConfigError, match="'bleu4', but what is measured is accuracy"):
        run(toy, tmp_path, toy.accuracy, metric="bleu4", epochs=1)


@pytest.mark.parametrize(
    "field", [{"metric_mode": "up"}, {"epochs": 0}, {"patience": -1}, {"max_steps": -1}, {"checkpoint_seconds": -1.0}]
)
def test_unusable_fields_are_named(toy, tmp_path, field):
    with pytest.raises(ConfigError, match=f"train.{next(iter(field))}"):
        run(toy, tmp_path, **field)


def test_no_batches_are_explained(toy, tmp_path):
    with pytest.raises(DataError, match="no batch"):
        run(toy, tmp_path, batches=toy.ToyBatches(steps_per_epoch=0))


def test_a_run_of_more_stages_is_refused(toy, tmp_path):
    run(toy, tmp_path, stages=[Stage(1), Stage(1)])
    with pytest.raises(CheckpointError, match="stage 2 of a run of 1"):
        run(toy, tmp_path, stages=[Stage(1)])


def test_the_handler_of_sigterm_is_put_back(toy, tmp_path):
    def own(number, frame):
        raise AssertionError

    before = signal.signal(signal.SIGTERM, own)
    try:
        run(toy, tmp_path, epochs=1)
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)


def test_runs_outside_the_main_thread(toy, tmp_path):
    results = []
    thread = threading.Thread(target=lambda: results.append(run(toy, tmp_path, epochs=1)))
    thread.start()
    thread.join()
    assert int(results[0].state.step) == 5


def test_one_line_an_evaluation_where_there_is_no_terminal(toy, tmp_path, capsys):
    run(toy, tmp_path, Scores(0.5, 0.25), epochs=2)
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 2
    assert "epoch 2  step 10" in printed.out
    assert "accuracy 0.250  best 0.500" in printed.out
    assert printed.err == ""


def test_programs_for_several_shapes_are_compiled_ahead_and_give_the_same_bits(toy):
    mesh, optimizer = sharding.make_mesh(), optax.sgd(0.1)
    task, wide = toy.ToyTask(), toy.ToyBatches().batch(0)
    narrow = {"words": wide["words"][:, :3], "index": wide["index"]}
    made = [make_train_step(task, optimizer, mesh, jax.random.key(1)) for _ in range(2)]
    states = [new_state(task.init(jax.random.key(0)), optimizer) for _ in range(2)]
    states = [sharding.replicate(mesh, jax.device_get(state)) for state in states]
    made[1].compile(states[1], [wide, narrow, wide])
    programs = dict(made[1]._programs)
    assert set(programs) == {shapes_of(wide), shapes_of(narrow)}
    for batch in (narrow, wide, narrow, {name: array[:8] for name, array in wide.items()}):
        for number, step in enumerate(made):
            states[number], measured = step(states[number], sharding.shard_batch(mesh, batch))
            assert np.isfinite(np.asarray(measured)).all()
    assert_same(states[0], states[1])
    assert made[1]._programs == programs
