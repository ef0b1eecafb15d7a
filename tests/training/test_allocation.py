"""Memory that is freed stays with the process, so that a large buffer freed and asked for again costs no page."""

import subprocess
import sys

import pytest

SCRIPT = """
import os, resource, sys
import numpy as np
from vatex_jax.training.allocation import keep_freed_memory

if sys.argv[1] == "keep":
    assert keep_freed_memory()

def use():
    np.empty(64 << 20, np.uint8)[::4096] = 1

use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*arguments: str) -> int:
    command = [sys.executable, "-c", SCRIPT, *arguments]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's malloc")
def test_buffers_larger_than_32_mib_are_used_again():
    # NumPy asks for huge pages from 4 MiB on, which a kernel may give: each of the five buffers has 32 to 16,384 pages.
    assert faults("keep") < 20
    assert faults("as it is") >= 5 * 32
