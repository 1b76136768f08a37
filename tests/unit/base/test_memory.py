"""Freed memory goes back to the operating system."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHILD = """
import ctypes
from pathlib import Path

from audit.base.machine import give_back_freed_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

blocks = [bytearray(b"x") * 100_000 for _ in range(2_000)]
last = blocks.pop()
held = resident()
del blocks
before = resident()
give_back_freed_memory()
print(held, before, resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_blocks_leave_behind_is_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, check=True)
    held, before, after = map(int, done.stdout.split())

    assert held > 200_000_000
    assert before > held - 50_000_000, "the C library gives it back by itself: nothing is shown"
    assert after < held - 150_000_000
