"""Large answers lie where the last ones did: the kernel hands out no new pages for them."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

PROGRAM = """
import resource
from exchange.serving.memory import keep_freed_memory

assert keep_freed_memory()

def fill():
    answers = [b"x" * (3 << 20) for _ in range(4)]

def count_faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

fill()
before = count_faults()
for _ in range(20):
    fill()
print(count_faults() - before)
"""
PAGES = 4 * (3 << 20) // 4096


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="not glibc")
def test_memory_of_large_answers_is_used_again() -> None:
    """Counts faults in a process of its own; without it each turn would take all pages anew."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    assert int(done.stdout) < PAGES
