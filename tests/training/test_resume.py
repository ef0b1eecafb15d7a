"""Processes that are really killed."""

import json
import random
import signal
import time

import numpy as np
import pytest

ARGUMENTS = ["--epochs=8", "--patience=5", "--plateau_factor=0.5", "--plateau_patience=1", "--eval_every=4"]


@pytest.fixture(scope="module")
def uninterrupted(run_toy, tmp_path_factory):
    workdir = tmp_path_factory.mktemp("whole")
    run_toy(workdir, *ARGUMENTS)
    return workdir


def assert_same_run(workdir, uninterrupted, said):
    ours, whole = np.load(workdir / "final.npz"), np.load(uninterrupted / "final.npz")
    assert set(ours) == set(whole)
    for key in whole:
        assert ours[key].tobytes() == whole[key].tobytes(), f"{key} {said}"
    lines = [
        [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
        for folder in (workdir, uninterrupted)
    ]
    for entry in lines[0] + lines[1]:
        entry.pop("wall")
        entry.pop("train/tokens_per_second")
    assert lines[0] == lines[1], said


def wait_for(process, word):
    for line in process.stdout:
        if word in line:
            return
    raise AssertionError(f"the run ended without {word!r}: {process.wait()}")


def test_killed_at_random_moments(start_toy, run_toy, uninterrupted, tmp_path):
    seed = random.SystemRandom().randrange(2**32)
    delays = [random.Random(seed).uniform(0, 1.0), random.Random(seed + 1).uniform(0, 0.3)]
    for delay in delays:
        process = start_toy(tmp_path, *ARGUMENTS, "--checkpoint_seconds=0.05", "--pause=0.05")
        wait_for(process, "evaluating")
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        process.stdout.close()
    assert not (tmp_path / "final.npz").exists()
    output = run_toy(tmp_path, *ARGUMENTS)
    assert_same_run(tmp_path, uninterrupted, f"seed {seed}, {output}")
    assert not list((tmp_path / "checkpoints").glob(".*"))


@pytest.mark.parametrize("moment", ["a step", "an evaluation"])
def test_sigterm_saves_and_exits_with_0(start_toy, run_toy, uninterrupted, tmp_path, moment):
    slow = ["--slow_evaluation=600"] if moment == "an evaluation" else ["--pause=0.3"]
    process = start_toy(tmp_path, *ARGUMENTS, *slow)
    wait_for(process, "evaluating")
    if moment == "a step":
        wait_for(process, "epoch")
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert "Terminated after step" in output
    assert list((tmp_path / "checkpoints").glob("last-*"))
    assert "Resuming after step" in run_toy(tmp_path, *ARGUMENTS)
    assert_same_run(tmp_path, uninterrupted, output)
