"""`python run_experiment.py` as a person runs it: its errors, and a run that is killed and goes on."""

import importlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from vatex_jax.experiments import EXPERIMENTS, after_interruption
from vatex_jax.files import read_json

ROOT = Path(__file__).resolve().parents[2]
SMALL = (
    "--config=configs/vmt.py",
    "--config.data.name=vatex_sim/tiny",
    "--config.data.min_count=1",
    "--config.data.shapes=2",
    "--config.train.epochs=12",
    "--config.train.batch_size=20",
    "--config.train.checkpoint_seconds=0",
    "--config.decode.max_words=12",
    "--config.eval.figures=False",
)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "run_experiment.py", *arguments]


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"VATEX_JAX_DATA": str(folder / "data"), "XDG_CACHE_HOME": str(folder / "cache")}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--config=configs/vmt.py"),
        (("--config=configs/nowhere.py",), "no such configuration file"),
        (("--config=configs/vmt.py:loud",), "has no variant 'loud'"),
        (("--config=configs/vmt.py", "--config.model.vide=none"), "names no field"),
        (("--config=configs/cca.py", "--config.vektors.source=x"), 'Did you mean "vectors"'),
        (("--config=configs/tables/visdial_table8.py", "--config.vectors.source=x"), r"set by --config.run.FIELD"),
        (("--config", "configs/nowhere.py"), "no such configuration file"),
        (("--config=README.md",), "no such configuration file"),
        (("--config=vatex_jax/errors.py",), "no such configuration file"),
        (("--config=configs/vmt.py", "--config.seed=1.5"), "seed"),
        (("--config=configs/vmt.py", "--mode=foo"), "mode"),
        (("--config=configs/vmt.py", "--nosuch=1"), "nosuch"),
        (("--config=configs/vmt.py", "--config.decode.beam=2"), "n_best"),
        (("--config=configs/vmt.py:none", "--config.model.video=attention"), "the variant is 'none'"),
        (("--config=configs/vmt.py", "--mode=evaluate", "--workdir=does/not/exist"), "train first"),
        (("--config=configs/vmt.py", "--workdir=README.md"), "cannot be used as a run's folder"),
    ],
)
def test_what_a_person_can_mend_is_one_line_and_status_2(arguments, said, tmp_path):
    done = subprocess.run(command(*arguments), cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_sigterm_promises_is_true_of_each_experiment(name):
    """Only what trains has checkpoints to go on from; a table has its finished runs."""
    trains = hasattr(importlib.import_module(EXPERIMENTS[name]), "restore")
    promised = after_interruption(name)
    assert ("from the last checkpoint" in promised) is trains
    assert ("keeps the runs that are done" in promised) is (name == "table")
    assert ("keeps no checkpoints" in promised) is not (trains or name == "table")


@pytest.mark.slow
def test_sigterm_stops_a_command_that_keeps_no_checkpoints_and_says_so(tmp_path):
    run = subprocess.Popen(
        command("--config=configs/cca.py"), cwd=ROOT, env=environment(tmp_path), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    run.stdout.readline()  # it has begun to work
    run.send_signal(signal.SIGTERM)
    assert "starts anew, since this experiment keeps no checkpoints" in run.communicate()[1]
    assert run.returncode == 0


@pytest.mark.slow
def test_a_killed_run_ends_with_the_same_bits(tmp_path):
    environ = environment(tmp_path)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    subprocess.run(command(*SMALL, f"--workdir={whole}"), cwd=ROOT, env=environ, check=True, capture_output=True)
    moments = random.Random(7)
    kills = 0
    for _ in range(3):
        run = subprocess.Popen(command(*SMALL, f"--workdir={cut}"), cwd=ROOT, env=environ, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while run.poll() is None and time.monotonic() < deadline and not list(cut.glob("checkpoints/last-*")):
            time.sleep(0.05)
        time.sleep(moments.uniform(0, 1.5))
        if run.poll() is None:
            run.send_signal(signal.SIGKILL)
            kills += 1
        run.wait()
    subprocess.run(command(*SMALL, f"--workdir={cut}"), cwd=ROOT, env=environ, check=True, capture_output=True)
    assert kills >= 1
    assert read_json(cut / "results.json")["metrics"] == read_json(whole / "results.json")["metrics"]
    ours, theirs = (sorted((folder / "checkpoints").glob("last-*"))[-1] for folder in (whole, cut))
    assert ours.name == theirs.name
    manifests = [read_json(path / "manifest.json") for path in (ours, theirs)]
    arrays = [{name: entry for name, entry in flat(m).items() if "arrays" in name} for m in manifests]
    assert arrays[0]
    assert arrays[0] == arrays[1]
    assert np.array_equal(*(np.load(folder / "bleu_statistics.npy") for folder in (whole, cut)))


def flat(value, prefix: str = "") -> dict:
    if isinstance(value, dict):
        return {k: v for name, item in value.items() for k, v in flat(item, f"{prefix}/{name}").items()}
    return {prefix: value}
