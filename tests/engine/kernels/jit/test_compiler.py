"""Kernels are compiled once, kept where that is possible, and work without compilation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
EXPRESSIONS = ROOT / "tests/engine/expressions"
COMPILING = "sase: compiling kernels, once per installation …\n"

# A small kernel of its own, put beside the real ones, so that nothing else need be compiled.
KERNEL = """
from __future__ import annotations
from typing import NamedTuple
import numpy as np
from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import Ints, OutInts, frozen

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


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package with a kernel more, and without what was compiled."""
    copy = tmp_path / "code"
    shutil.copytree(ROOT / "sase", copy / "sase", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "sase/engine/kernels/example.py").write_text(KERNEL, encoding="utf-8")
    return copy


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


def run(package: Path, program: str = PROGRAM, **more: str) -> tuple[str, str]:
    """What a program prints, on standard output and on standard error."""
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
HALF = """
from sase.engine.kernels.example import half
print(half(3))
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


@pytest.mark.heavy
def test_a_package_that_cannot_be_written_is_kept_with_the_user(package: Path) -> None:
    block(package / "sase/engine/kernels/__pycache__")
    assert run(package)[1] == COMPILING
    assert all("home" in path.parts for path in kept(package))
    assert run(package)[1] == ""


def test_without_any_folder_it_works_and_says_so(package: Path, tmp_path: Path) -> None:
    block(package / "sase/engine/kernels/__pycache__")
    block(tmp_path / "home/.cache")
    (tmp_path / "temporary").mkdir()
    out, said = run(package, TMPDIR=str(tmp_path / "temporary"))
    assert out == "[0, 4, 8] 1\n"
    first, *rest = said.splitlines(keepends=True)
    assert first.startswith("sase: compiled kernels are not kept: ")
    assert rest == [COMPILING]
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_folder_can_be_named(package: Path, tmp_path: Path) -> None:
    run(package, NUMBA_CACHE_DIR=str(tmp_path / "named"))
    assert all("named" in path.parts for path in kept(package))


def cache_of(base: Path) -> Path:
    (folder,) = base.glob("kernels-*")
    return folder


REFUSED = "sase: compiled kernels are not kept: "
posix = pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX")


@posix
def test_the_cache_is_its_users_alone(package: Path) -> None:
    """Whatever the umask says, and the folder `sase` above it, too."""
    block(package / "sase/engine/kernels/__pycache__")
    run(package, "import os\nos.umask(0)" + PROGRAM)
    ours = package.parent / "home/.cache/sase"
    for folder in (ours, cache_of(ours)):
        assert folder.stat().st_mode & 0o777 == 0o700


@posix
@pytest.mark.slow
def test_a_cache_that_others_may_have_written_is_not_used(package: Path, tmp_path: Path) -> None:
    named = tmp_path / "named"
    run(package, NUMBA_CACHE_DIR=str(named))
    cache_of(named).chmod(0o770)
    out, said = run(package, NUMBA_CACHE_DIR=str(named))
    assert out == "[0, 4, 8] 1\n"
    assert said.startswith(REFUSED + str(cache_of(named)))
    assert said.endswith(COMPILING)


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


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0x40]) + content[middle + 1 :]


DAMAGES = {
    "a bit": flipped,
    "cut": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "zeros": lambda content: bytes(len(content)),
    "a long frame": lambda content: content[:40] + b"\x8e" + b"\x7f" * 8 + content[49:],
}


@pytest.mark.parametrize("kind", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_compiled_anew(package: Path, damage: str, kind: str) -> None:
    """And said, once; neither unpickled nor run."""
    run(package)
    (path,) = package.parent.rglob(f"example.total*{kind}")
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    out, said = run(package)
    assert out == "[0, 4, 8] 1\n"
    assert said.count(f"sase: {path} is damaged: the kernel is compiled anew\n") == 1
    assert said.endswith(COMPILING)
    assert run(package) == ("[0, 4, 8] 1\n", "")
