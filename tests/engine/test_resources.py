"""Memory that is given back and taken again."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

ROUNDS = """
import resource, sys
import numpy as np
from sase.engine.resources import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
for _ in range(4):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    pieces = [np.ones(1 << 17) for _ in range(20)]
    del pieces
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def new_pages(how: str) -> int:
    """The pages that are new to a process which takes twenty megabytes for the fourth time."""
    done = subprocess.run(
        [sys.executable, "-c", ROUNDS, how], capture_output=True, text=True, check=True, env={}
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what the C library of GNU does")
def test_memory_stays_with_the_process() -> None:
    assert new_pages("kept") < 100 < 2_000 < new_pages("not kept")
