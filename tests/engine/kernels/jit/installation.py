"""A copy of the package with a kernel of its own, so that nothing else need be compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]
COMPILING = "sase: compiling kernels, once per installation …\n"

# It is put beside the real ones.
KERNEL = """
from __future__ import annotations
from typing import NamedTuple
import numpy as np
from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import FewCodes, Ints, OutInts, frozen

class Pair(NamedTuple):
    left: Ints
    right: Ints

@linked
def twice(number: int) -> int:
    return 2 * number

@kernel
def total(pair: Pair, more: Ints, out: OutInts) -> int:
    for place in range(out.shape[0]):
        out[place] = twice(pair.left[place]) + pair.right[place] + more[place]
    return out.shape[0]

@kernel
def half(number: int) -> float:
    return number / twice(1)

@kernel
def most(codes: FewCodes, out: OutInts) -> int:
    for code in codes:
        out[0] = max(out[0], code)
    return out[0]

@linked
def within(numbers: Ints, place: int) -> int:
    return numbers[place]

@kernel
def at(numbers: Ints, place: int) -> int:
    assert numbers[place] == within(numbers, place)
    return numbers[place]
"""
PROGRAM = """
import numpy as np
from sase.engine.kernels.example import Pair, frozen, total
numbers = np.arange(3)
out = np.zeros(3, np.int64)
total(Pair(frozen(numbers), frozen(numbers)), numbers, out)
total(Pair(frozen(numbers), frozen(numbers)), frozen(numbers), out)
print(out.tolist(), len(getattr(total, "signatures", [])))
"""


HALF = """
from sase.engine.kernels.example import half
print(half(3))
"""


NOT_COPIED = shutil.ignore_patterns("__pycache__", "machine_code")


def copy_package(folder: Path) -> Path:
    """A copy of the package with a kernel more, and without compiled code."""
    copy = folder / "code"
    shutil.copytree(ROOT / "sase", copy / "sase", ignore=NOT_COPIED)
    (copy / "sase/engine/kernels/example.py").write_text(KERNEL, encoding="utf-8")
    return copy


def run(package: Path, program: str = PROGRAM, **more: str) -> tuple[str, str]:
    """The output of a program, on standard output and on standard error."""
    home = package.parent / "home"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(package),
        **more,
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=package, capture_output=True,
        encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def kept(package: Path) -> list[Path]:
    return list(package.parent.rglob("*.nbc"))


def block(folder: Path) -> None:
    """Put a file where a folder should be: that stops the superuser, too."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("")


def cache_of(base: Path) -> Path:
    (folder,) = base.glob("kernels-*")
    return folder
