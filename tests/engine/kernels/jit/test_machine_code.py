"""Machine code that came with the package: used where it fits, and nowhere else."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from sase.engine.kernels.jit import machine_code
from sase.engine.kernels.jit.machine_code import Level, lacking, levels
from tests.engine.kernels.jit.installation import COMPILING, HALF, PROGRAM, copy_package, kept, run

WRITE = """
from sase.engine.kernels.jit import all_kernels
from sase.engine.kernels.jit.machine_code import levels
all_kernels._modules = lambda: ["sase.engine.kernels.example"]
all_kernels.write_all(levels())
"""
WRITTEN = (
    f"sase: compiling all kernels for {', '.join(level.name for level in levels())}, once for these"
    " sources …\n"
)
LOADED = """
from sase.engine.kernels.jit.machine_code import loaded
print(*(name.split()[0].split(".")[-1] for name in loaded))
"""
OUT = "[0, 4, 8] 1\n"
CONDITIONS = machine_code.conditions
UNUSED = "sase: the machine code of the package is not used, as "
pytestmark = pytest.mark.skipif(not levels(), reason="there is none for CPUs like this one")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A package with a kernel of its own that has machine code for each level."""
    package = copy_package(tmp_path_factory.mktemp("whole"))
    assert run(package, WRITE) == ("", WRITTEN)
    return package


@pytest.fixture
def package(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, without code that was compiled meanwhile."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(whole, tmp_path / "code", ignore=ignored))


def file_of(package: Path, level: Level) -> Path:
    return package / "sase/engine/kernels/machine_code" / machine_code.file_name(level)


def best(folder: Path) -> Path:
    return folder / machine_code.file_name(next(each for each in levels() if not lacking(each)))


@pytest.mark.heavy
def test_it_is_written_once(package: Path) -> None:
    assert run(package, WRITE) == ("", "")


def test_it_is_loaded_and_nothing_is_compiled_or_kept(package: Path) -> None:
    assert run(package, PROGRAM + LOADED) == (OUT + "total\n", "")
    assert list(package.rglob("kernels-*")) == []


@pytest.mark.parametrize(
    "level",
    [
        pytest.param(level, marks=[pytest.mark.heavy] if number else [], id=level.name)
        for number, level in enumerate(levels())
    ],
)
def test_each_level_that_the_cpu_has(package: Path, level: Level) -> None:
    if missing := lacking(level):
        pytest.skip(f"the CPU has no {missing[0]}")
    for other in levels():
        if other != level:
            file_of(package, other).unlink()
    assert run(package, PROGRAM + LOADED) == (OUT + "total\n", "")


FEW = """
import numpy as np
from sase.engine.kernels.example import most
from sase.engine.kernels.jit.compiler import compilations
for width in (np.int8, np.int16, np.int32):
    print(most(np.array([3, 7, 5], width), np.zeros(1, np.int64)), compilations() > 0)
"""


def test_a_kernel_for_each_of_some_widths_and_others_are_compiled(package: Path) -> None:
    assert run(package, FEW) == ("7 False\n7 False\n7 True\n", COMPILING)
    assert len(kept(package)) == 1


@pytest.mark.heavy
def test_where_it_lacks_a_kernel_that_is_compiled(package: Path) -> None:
    other = package / "sase/engine/kernels/other.py"
    shutil.copy(package / "sase/engine/kernels/example.py", other)
    shutil.rmtree(package / "sase/engine/kernels/machine_code")
    assert run(package, WRITE) == ("", WRITTEN)
    program = PROGRAM.replace("kernels.example", "kernels.other")
    assert run(package, program) == (OUT, COMPILING)


# ---------------------------------------------------------------- misfits


def test_why_it_is_not_used_is_said_and_kernels_are_compiled(package: Path) -> None:
    with (package / "sase/engine/kernels/example.py").open("a") as file:
        file.write("# more\n")
    again = COMPILING.removeprefix("sase: ")
    assert run(package) == (OUT, f"{UNUSED}it is of other sources; {again}")
    assert run(package) == (OUT, "")


@pytest.mark.heavy
@pytest.mark.parametrize("settings", [{"NUMBA_OPT": "1"}, {"NUMBA_CPU_NAME": "generic"}], ids=str)
@pytest.mark.slow
def test_other_settings(package: Path, settings: dict[str, str]) -> None:
    out, said = run(package, **settings)
    assert out == OUT
    assert said.startswith(f"{UNUSED}it is for settings of Numba ")


@pytest.fixture
def here(whole: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the machine code of the package, as this process sees it."""
    folder = whole / "sase/engine/kernels/machine_code"
    made_for = machine_code._head(next(folder.iterdir()))[0]["conditions"]
    monkeypatch.setattr(machine_code, "FOLDER", folder)
    monkeypatch.setattr(machine_code, "conditions", lambda: made_for)
    monkeypatch.delenv(machine_code.COMPILE, raising=False)
    return folder


def looked_for() -> tuple[Any, str | None]:
    return machine_code._looked_for.__wrapped__()


def test_the_best_level_is_taken(here: Path) -> None:
    code, reason = looked_for()
    assert (code.path, reason) == (best(here), None)


@pytest.mark.parametrize(
    "condition", ["Python", "Numba", "llvmlite", "NumPy", "system", "sources", "settings of Numba"]
)
def test_other_conditions(here: Path, monkeypatch: pytest.MonkeyPatch, condition: str) -> None:
    made_for = machine_code.conditions()
    assert set(made_for) == set(CONDITIONS())
    monkeypatch.setattr(machine_code, "conditions", lambda: made_for | {condition: "another"})
    code, reason = looked_for()
    if condition == "sources":
        assert (code, reason) == (None, "it is of other sources")
    else:
        words = f"it is for {condition} {made_for[condition]}, and this is another"
        assert (code, reason) == (None, words)


def test_the_release_of_macos_is_no_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    triple = "arm64-apple-darwin24.1.0"
    monkeypatch.setattr(machine_code.binding, "get_process_triple", lambda: triple)
    assert CONDITIONS.__wrapped__()["system"] == "arm64-apple-darwin"


def test_another_cpu(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "get_host_cpu_features", lambda: "+sse2,-neon")
    least = levels()[-1]
    assert looked_for() == (None, f"it is for CPUs with {', '.join(least.needs)}")
    some = ",".join(f"+{each}" for each in least.needs)
    monkeypatch.setattr(machine_code, "get_host_cpu_features", lambda: some)
    assert looked_for()[0].path == here / machine_code.file_name(least)


def test_another_python(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "_python", lambda: "cpython-30")
    code, reason = looked_for()
    assert code is None
    assert reason is not None and reason.startswith("there is none for Python cpython-30 and ")


@pytest.mark.heavy
def test_it_can_be_left_aside(package: Path) -> None:
    assert run(package, SASE_COMPILE_KERNELS="1") == (OUT, COMPILING)


# ---------------------------------------------------------------- damage


@pytest.mark.heavy
def test_contents_of_a_whole_file(here: Path) -> None:
    whole = machine_code.contents(best(here))
    assert any(".example.total " in name for name in whole) and all(whole.values())


def test_a_damaged_kernel(package: Path) -> None:
    path = best(package / "sase/engine/kernels/machine_code")
    content = path.read_bytes()
    path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    # The last one is another: a whole one is used.
    assert run(package, PROGRAM + HALF) == (OUT + "1.5\n", "")
    head = content.index(b"\n", content.index(b"\n") + 1) + 1
    path.write_bytes(content[:head] + bytes(len(content) - head))
    out, said = run(package, PROGRAM + HALF)
    assert out == OUT + "1.5\n"
    assert said == f"sase: {path} is damaged: the kernel is compiled anew\n{COMPILING}"


@pytest.mark.heavy
@pytest.mark.parametrize("damage", [b"", b"abc"])
def test_a_damaged_head(package: Path, damage: bytes) -> None:
    for level in levels():
        path = file_of(package, level)
        path.write_bytes(damage + path.read_bytes()[100:] if damage else b"")
    out, said = run(package)
    assert out == OUT
    assert said.startswith(f"{UNUSED}{path.parent}")
    assert said.endswith(" is damaged; " + COMPILING.removeprefix("sase: "))
