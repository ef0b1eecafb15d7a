"""Any number of devices and processes computes the same."""

import socket

import numpy as np
import pytest

from vatex_jax.errors import ConfigError
from vatex_jax.training import sharding


@pytest.mark.parametrize("devices", ["8 devices", "2 processes"])
def test_loss_gradients_and_a_run_as_on_one_device(toy, one_device, run_toy, start_toy, tmp_path, devices):
    arguments = ["--gradients=1", "--max_steps=2"]
    if devices == "8 devices":
        run_toy(tmp_path, *arguments, devices=8)
    else:
        with socket.socket() as free:
            free.bind(("localhost", 0))
            address = f"localhost:{free.getsockname()[1]}"
        variables = {"JAX_COORDINATOR_ADDRESS": address, "JAX_NUM_PROCESSES": "2"}
        pair = [start_toy(tmp_path, *arguments, devices=4, JAX_PROCESS_ID=str(i), **variables) for i in range(2)]
        outputs = [process.communicate()[0] for process in pair]
        assert [process.returncode for process in pair] == [0, 0], outputs
        assert "step 2" in outputs[0]
        assert "step 2" not in outputs[1]
    for name in ("gradients.npz", "final.npz"):
        ours, reference = np.load(tmp_path / name), np.load(one_device / name)
        assert set(ours) == set(reference)
        for key in reference:
            np.testing.assert_allclose(ours[key], reference[key], atol=1e-5, rtol=1e-5, err_msg=f"{name} {key}")


@pytest.fixture(scope="module")
def one_device(run_toy, tmp_path_factory):
    """The reference; its loss is the sum over the real words of all rows over their number."""
    workdir = tmp_path_factory.mktemp("one")
    run_toy(workdir, "--gradients=1", "--max_steps=2")
    assert np.load(workdir / "gradients.npz")["tokens"] == 8 + 15 * 1
    return workdir


def test_a_batch_the_devices_cannot_share():
    sharding.check_batch_size(16, 8)
    with pytest.raises(ConfigError, match=r"12 rows .* 8 devices: set the batch size to .* 8, such as 8 or 16"):
        sharding.check_batch_size(12, 8)
    with pytest.raises(ConfigError, match=r"such as 8\."):
        sharding.check_batch_size(3, 8)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"JAX_NUM_PROCESSES": "2"}, "set JAX_COORDINATOR_ADDRESS"),
        ({"JAX_COORDINATOR_ADDRESS": "localhost:1"}, "set JAX_NUM_PROCESSES"),
        ({"JAX_COORDINATOR_ADDRESS": "localhost:1", "JAX_NUM_PROCESSES": "two"}, "JAX_NUM_PROCESSES is 'two'"),
        (
            {"JAX_COORDINATOR_ADDRESS": "localhost:1", "JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": "2"},
            "from 0 to 1",
        ),
    ],
)
def test_half_a_distributed_setup_is_explained(monkeypatch, variables, message):
    for name in ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=message):
        sharding.initialize_distributed()


def test_one_process_needs_no_setup(monkeypatch):
    for name in ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)
    sharding.initialize_distributed()
