"""Losses and gradients of both models are the same however many devices and processes share the batch."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).with_name("gradients_on_devices.py")


def start(out, devices, **environment):
    variables = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(SCRIPT.parents[2]), **environment}
    variables["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    command = [sys.executable, str(SCRIPT), str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=variables)


@pytest.fixture(scope="module")
def one_device(tmp_path_factory):
    out = tmp_path_factory.mktemp("devices") / "one.npz"
    process = start(out, 1)
    assert process.wait() == 0, process.stdout.read()
    result = dict(np.load(out))
    assert result.pop("devices") == 1
    assert result["translator tokens"] == sum(1 + (i * i) % 9 for i in range(15))
    assert result["captioner tokens"] == sum(1 + i % 7 + (i * i) % 9 for i in range(15))
    return result


@pytest.mark.parametrize("layout", ["1 process of 8", pytest.param("2 processes of 4", marks=pytest.mark.slow)])
def test_eight_devices_equal_one(one_device, tmp_path, layout):
    out = tmp_path / "gradients.npz"
    if layout == "1 process of 8":
        processes = [start(out, 8)]
    else:
        with socket.socket() as free:
            free.bind(("localhost", 0))
            address = f"localhost:{free.getsockname()[1]}"
        shared = {"JAX_COORDINATOR_ADDRESS": address, "JAX_NUM_PROCESSES": "2"}
        processes = [start(out, 4, JAX_PROCESS_ID=str(i), **shared) for i in range(2)]
    try:
        outputs = [process.communicate()[0] for process in processes]
        assert all(process.returncode == 0 for process in processes), outputs
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()
    ours = np.load(out)
    assert ours["devices"] == 8
    assert set(ours) == {"devices", *one_device}
    for name, reference in one_device.items():
        np.testing.assert_allclose(ours[name], reference, rtol=1e-5, atol=1e-5, err_msg=name)
