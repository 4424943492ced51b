"""Kernels are compiled once, kept where that is possible, and work without compilation."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sase.engine.kernels.jit.compiler import passing_interrupts
from tests.engine.kernels.jit.installation import (
    COMPILING,
    HALF,
    PROGRAM,
    ROOT,
    copy_package,
    kept,
    run,
)

EXPRESSIONS = ROOT / "tests/engine/expressions"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return copy_package(tmp_path)


BEYOND = """
import numpy as np
from sase.engine.kernels.example import Pair, frozen, total
numbers = np.arange(3)
try:
    total(Pair(frozen(numbers), frozen(numbers)), numbers, np.zeros(4, np.int64))
except IndexError as error:
    print(error)
"""

AT = """
import numpy as np
from sase.engine.kernels.example import at
try:
    print(at(np.arange(4)[1:], {place}))
except IndexError as error:
    print(error)
"""


def test_a_kernel_is_compiled_once(package: Path) -> None:
    """And read-only arrays take the same signature as others."""
    assert run(package) == ("[0, 4, 8] 1\n", COMPILING)
    assert all("__pycache__" in path.parts for path in kept(package))
    assert run(package) == ("[0, 4, 8] 1\n", "")


COLLECTING = """
import gc
from numba.core import event
from sase.engine.kernels.example import half

class Told(event.Listener):
    def on_start(self, event):
        print(gc.isenabled())
    def on_end(self, event):
        pass

with event.install_listener("numba:compile", Told()):
    half(3)
print(gc.isenabled())
"""


@pytest.mark.heavy
def test_no_garbage_is_collected_meanwhile(package: Path) -> None:
    """Neither for a kernel nor for its part; and afterwards it is again."""
    assert run(package, COLLECTING) == ("False\nFalse\nTrue\n", COMPILING)


PREPARED = """
import sys
print("numba.np.linalg" in sys.modules)
"""


@pytest.mark.heavy
def test_what_was_kept_is_loaded_without_what_compiling_needs(package: Path) -> None:
    """Which takes ten times as long; it is there for a kernel that is compiled then."""
    assert run(package, PROGRAM + PREPARED)[0].endswith("True\n")
    assert run(package, PROGRAM + PREPARED)[0].endswith("False\n")
    assert run(package, PROGRAM + HALF) == ("[0, 4, 8] 1\n1.5\n", COMPILING)
    assert run(package, HALF + PROGRAM) == ("1.5\n[0, 4, 8] 1\n", "")


def test_a_change_of_any_kernel_compiles_anew(package: Path) -> None:
    run(package)
    with (package / "sase/engine/kernels/expressions/operations.py").open("a") as source:
        source.write("\n# changed\n")
    assert run(package)[1] == COMPILING


@pytest.mark.heavy
def test_bounds_checks_are_kept_apart(package: Path) -> None:
    run(package)
    assert run(package, NUMBA_BOUNDSCHECK="1")[1] == COMPILING
    assert run(package) == ("[0, 4, 8] 1\n", "")


@pytest.mark.heavy
def test_bounds_are_checked_on_demand(package: Path) -> None:
    for _ in ("compiled", "loaded"):
        assert run(package, BEYOND, NUMBA_BOUNDSCHECK="1")[0] == "index is out of bounds\n"


@pytest.mark.heavy
def test_an_index_counts_from_the_beginning(package: Path) -> None:
    """A negative one is none, whatever it is to Numba by itself."""
    assert run(package, AT.format(place=2))[0] == "3\n"
    assert run(package, AT.format(place=-1))[0] == "0\n"
    assert run(package, AT.format(place=-1), NUMBA_BOUNDSCHECK="1")[0] == "index is out of bounds\n"


def test_without_compilation(package: Path) -> None:
    assert run(package, NUMBA_DISABLE_JIT="1") == ("[0, 4, 8] 0\n", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "profile"),
    [
        pytest.param("NUMBA_DISABLE_JIT", "quick", marks=pytest.mark.heavy),
        pytest.param("NUMBA_BOUNDSCHECK", "repeatable", marks=pytest.mark.heavy),
    ],
)
def test_expressions_in_other_modes(variable: str, profile: str) -> None:
    """Their tests without compilation, and with every index checked."""
    files = ["test_meaning.py", "test_operations.py", "test_lowering.py"]
    options = ["-q", "-x", "-p", "no:cacheprovider", f"--hypothesis-profile={profile}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(str(EXPRESSIONS / name) for name in files)],
        env={**os.environ, variable: "1"}, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("then", [None, "no compiled object yet"])
def test_an_interrupt_in_a_callback_is_passed_on(then: str | None) -> None:
    """LLVM calls back while it compiles, and an exception of such a call stops there."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    before = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt), passing_interrupts():
        ctypes.CFUNCTYPE(None)(interrupted)()
        if then is not None:
            raise RuntimeError(then)
    assert sys.unraisablehook is before


def test_what_else_goes_wrong_while_compiling_is_told() -> None:
    with pytest.raises(RuntimeError, match="no more registers"), passing_interrupts():
        raise RuntimeError("no more registers")
