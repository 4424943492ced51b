"""Where compiled kernels are kept, and that faults of that folder cost no more than time."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from tests.engine.kernels.jit.installation import (
    COMPILING,
    HALF,
    PROGRAM,
    block,
    cache_of,
    copy_package,
    kept,
    run,
)
from tests.seeds import has_turn

REFUSED = "sase: compiled kernels are not kept: "
posix = pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return copy_package(tmp_path)


@pytest.mark.heavy
def test_a_package_that_cannot_be_written_is_kept_with_the_user(package: Path) -> None:
    block(package / "sase/engine/kernels/__pycache__")
    assert run(package)[1] == COMPILING
    assert all("home" in path.parts for path in kept(package))
    assert run(package)[1] == ""


@pytest.mark.heavy
def test_without_any_folder_it_works_and_says_so(package: Path, tmp_path: Path) -> None:
    block(package / "sase/engine/kernels/__pycache__")
    block(tmp_path / "home/.cache")
    out, said = run(package, TMPDIR=str(tmp_path / "nowhere"))
    assert out == "[0, 4, 8] 1\n"
    first, *rest = said.splitlines(keepends=True)
    assert first.startswith(f"sase: compiled kernels are not kept: {package}")
    assert f" and {tmp_path}/home/.cache/sase/kernels-" in first
    assert rest == [COMPILING]


def test_a_folder_can_be_named(package: Path, tmp_path: Path) -> None:
    run(package, NUMBA_CACHE_DIR=str(tmp_path / "named"))
    assert all("named" in path.parts for path in kept(package))


@pytest.mark.heavy
@posix
def test_the_cache_is_its_users_alone(package: Path) -> None:
    """Whatever the umask says, and the folder `sase` above it, too."""
    block(package / "sase/engine/kernels/__pycache__")
    run(package, "import os\nos.umask(0)" + PROGRAM)
    ours = package.parent / "home/.cache/sase"
    for folder in (ours, cache_of(ours)):
        assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.heavy
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


# ---------------------------------------------------------------- faults of the folder


NOBODY = """
import pwd
def nobody(number):
    raise KeyError(number)
pwd.getpwuid = nobody
"""


@pytest.mark.heavy
@posix
def test_a_user_without_a_home(package: Path) -> None:
    """As in a container that runs under a number: the package's own folder is all there is."""
    command = [sys.executable, "-c", NOBODY + PROGRAM]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package)}

    def said() -> tuple[str, str]:
        done = subprocess.run(
            command, env=environment, cwd=package, capture_output=True, text=True, check=True
        )
        return done.stdout, done.stderr

    assert said() == ("[0, 4, 8] 1\n", COMPILING)
    assert said() == ("[0, 4, 8] 1\n", "")
    shutil.rmtree(package / "sase/engine/kernels/__pycache__")
    block(package / "sase/engine/kernels/__pycache__")
    out, err = said()
    assert out == "[0, 4, 8] 1\n"
    assert err.splitlines()[0].startswith(REFUSED)


SMALL = """
import resource, signal, sys
sys.dont_write_bytecode = True  # or Python's own files would be cut off
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
"""
DEADLY = SMALL + "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"


@pytest.mark.heavy
@posix
def test_a_disk_that_is_full(package: Path) -> None:
    """The kernel is compiled all the same, which is said once, and nothing half is left."""
    out, said = run(package, SMALL + PROGRAM + HALF)
    assert out == "[0, 4, 8] 1\n1.5\n"
    folder = cache_of(package / "sase/engine/kernels/__pycache__")
    assert said == COMPILING + f"{REFUSED[:-2]} in {folder}: File too large\n"
    assert {path.suffix for path in folder.rglob("*.*")} <= {".lock", ".nbi"}
    assert run(package) == ("[0, 4, 8] 1\n", COMPILING)
    assert run(package) == ("[0, 4, 8] 1\n", "")


@pytest.mark.heavy
@posix
def test_a_process_that_is_killed_while_it_writes(package: Path) -> None:
    """A part that it has begun to write is not looked at, and is written over."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package)}
    done = subprocess.run(
        [sys.executable, "-c", DEADLY + PROGRAM], env=environment, cwd=package,
        capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (-signal.SIGXFSZ, b"")
    folder = cache_of(package / "sase/engine/kernels/__pycache__")
    assert [path.suffix for path in folder.rglob("*.nbc*")] == [".partial"]
    assert run(package) == ("[0, 4, 8] 1\n", COMPILING)
    assert list(folder.rglob("*.partial")) == []
    assert run(package) == ("[0, 4, 8] 1\n", "")


REMOVED = """
import shutil
import sase.engine.kernels.example
from sase.engine.kernels.jit.kernel_cache import kernel_folder
shutil.rmtree(kernel_folder())
"""


@pytest.mark.heavy
def test_a_folder_that_is_removed_meanwhile(package: Path) -> None:
    assert run(package, REMOVED + PROGRAM) == ("[0, 4, 8] 1\n", COMPILING)
    assert run(package) == ("[0, 4, 8] 1\n", "")


@pytest.mark.heavy
@pytest.mark.parametrize("kind", [".nbi", ".nbc"])
def test_what_can_be_neither_read_nor_written(package: Path, kind: str) -> None:
    """Here a folder in the place of a file, which stops the superuser, too."""
    run(package)
    (path,) = package.parent.rglob(f"example.total*{kind}")
    path.unlink()
    (path / "in the way").mkdir(parents=True)
    out, said = run(package)
    assert out == "[0, 4, 8] 1\n"
    assert said == COMPILING + f"{REFUSED[:-2]} in {path.parents[1]}: Is a directory\n"


@pytest.mark.heavy
def test_eight_processes_at_once(package: Path) -> None:
    """One compiles, and the others load its kept code; so with a cache that is damaged."""
    command = [sys.executable, "-c", PROGRAM]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package)}
    for _ in ("a cache that is empty", "one that is damaged"):
        processes = [
            subprocess.Popen(
                command, env=environment, cwd=package, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True,
            )
            for _ in range(8)
        ]  # fmt: skip
        outputs = [process.communicate(timeout=300) for process in processes]
        assert {out for out, _ in outputs} == {"[0, 4, 8] 1\n"}
        said = [err for _, err in outputs]
        assert [COMPILING in err for err in said].count(True) == 1, said
        (path,) = package.parent.rglob("example.total*.nbc")
        path.write_bytes(flipped(path.read_bytes()))


# ---------------------------------------------------------------- damage


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


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("damage", "kind"),
    [each for number, each in enumerate(product(DAMAGES, (".nbi", ".nbc"))) if has_turn(number, 3)],
)
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
