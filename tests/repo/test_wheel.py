"""The wheel holds the whole package, also the two folders that live outside of it in the tree."""

import csv
import hashlib
import platform
import shutil
import subprocess
import sys
from base64 import urlsafe_b64decode
from configparser import ConfigParser
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from zipfile import ZipFile

import pytest

from sase.engine.kernels.jit.all_kernels import compiled
from sase.engine.kernels.jit.machine_code import levels
from tests.repo.source import ROOT

# Package of the wheel → folder of the tree.
OUTSIDE = {"sase.grammar": "grammar", "sase.plans": "plans"}
# The files that a build reads; copied first, because a build leaves files in the tree, and reads
# old ones.
INPUTS = [".ci", "setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "sase"]
INPUTS += OUTSIDE.values()


def folders_with_code() -> set[str]:
    """The packages that the folders of the tree make."""
    inside = {".".join(path.relative_to(ROOT).parts[:-1]) for path in (ROOT / "sase").rglob("*.py")}
    return inside | OUTSIDE.keys()


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with a source distribution and the wheel that was built from it."""
    tree = tmp_path_factory.mktemp("tree")
    for name in INPUTS:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tree / name)
    command = [sys.executable, "-m", "build", "--no-isolation", "-C", "kernels=none"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tree)
    assert done.returncode == 0, done.stdout + done.stderr
    return tree / "dist"


def test_setup_cfg_lists_every_folder_with_code():
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    assert set(setup["options"]["packages"].split()) == folders_with_code()


@pytest.mark.heavy
def test_the_wheel_holds_every_file(built):
    (wheel,) = built.glob("*.whl")
    held = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    inside = {
        path.relative_to(ROOT)
        for path in (ROOT / "sase").rglob("*")
        if path.is_file() and not {"__pycache__", "machine_code"} & set(path.parts)
    }
    outside = {
        Path("sase", path.relative_to(ROOT))
        for folder in OUTSIDE.values()
        for path in (ROOT / folder).iterdir()
        if path.is_file()
    }
    assert held == {path.as_posix() for path in inside | outside}


@pytest.mark.heavy
def test_the_wheel_says_what_it_is(built):
    (wheel,) = built.glob("*.whl")
    with ZipFile(wheel) as archive:
        (folder,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
        metadata = archive.read(f"{folder}/METADATA").decode()
        assert "License-Expression: Apache-2.0" in metadata
        assert "Requires-Python: >=3.11" in metadata
        assert archive.read(f"{folder}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
        assert "sase = sase.cli.main:main" in archive.read(f"{folder}/entry_points.txt").decode()


# ---------------------------------------------------------------- machine code


@pytest.fixture
def machine_code():
    loader = SourceFileLoader("machine_code", str(ROOT / ".ci" / "machine-code"))
    spec = spec_from_loader("machine_code", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_for_the_tests_the_best_level_of_this_cpu_is_compiled(machine_code, monkeypatch):
    monkeypatch.setattr(machine_code, "levels", lambda: ("best", "better", "good"))
    monkeypatch.setattr(machine_code, "lacking", lambda level: ["avx2"] * (level == "best"))
    assert machine_code.best() == ["better"]
    monkeypatch.setattr(machine_code, "levels", lambda: ())
    assert machine_code.best() == []


@pytest.fixture
def wheel(tmp_path) -> Path:
    """A wheel of one module."""
    path = tmp_path / "a-1-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        archive.writestr("a/b.py", "1")
        archive.writestr("a-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n\n")
        archive.writestr("a-1.dist-info/RECORD", "a/b.py,,\na-1.dist-info/RECORD,,\n")
    return path


def test_machine_code_is_put_into_the_wheel_and_its_record(machine_code, wheel):
    files = {"a/code/new.kernels": b"machine code", "a/grammar.pickle": b"tables"}
    made = machine_code.written(wheel, files, "linux_x86_64")
    python = f"cp3{sys.version_info[1]}"
    tag = f"{python}-{python}{sys.abiflags}-linux_x86_64"
    assert [path.name for path in wheel.parent.iterdir()] == [made.name] == [f"a-1-{tag}.whl"]
    with ZipFile(made) as archive:
        assert archive.testzip() is None
        held = {name: archive.read(name) for name in archive.namelist()}
    rows = list(csv.reader(held["a-1.dist-info/RECORD"].decode().splitlines()))
    assert rows.pop() == ["a-1.dist-info/RECORD", "", ""]
    assert [name for name, *_ in rows] == ["a/b.py", "a-1.dist-info/WHEEL", *files]
    assert files.items() <= held.items()
    assert held["a-1.dist-info/WHEEL"].decode() == f"Wheel-Version: 1.0\nTag: {tag}\n\n"
    for name, digest, size in rows:
        found = urlsafe_b64decode(digest.removeprefix("sha256=") + "=")
        assert found == hashlib.sha256(held[name]).digest()
        assert int(size) == len(held[name])


def test_without_machine_code_it_stays_a_wheel_for_all(machine_code, wheel):
    made = machine_code.written(wheel, {"a/grammar.pickle": b"tables"}, "any")
    assert made == wheel


@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not levels(), reason="there are no object files of ELF"
)
def test_the_tag_of_manylinux_is_for_functions_that_every_glibc_has(machine_code, monkeypatch):
    (level,) = machine_code.best()
    kernels = compiled("sase.engine.kernels.scan.text_hash", [level])[level.name]
    monkeypatch.setattr(machine_code, "contents", lambda path: kernels)
    # Python and Numba have the others.
    assert set(machine_code.called(Path("file"))) <= machine_code.GLIBC
    here = machine_code.system_tag([Path("file")], is_released=False)
    assert here == f"linux_{platform.machine()}"
    released = machine_code.system_tag([Path("file")], is_released=True)
    assert released == here.replace("linux", "manylinux_2_17")
    monkeypatch.setattr(machine_code, "GLIBC", set())
    monkeypatch.setattr(machine_code, "OF_PROCESS", ("Py", "_Py"))
    with pytest.raises(SystemExit, match="it calls memset, numba_adapt_ndarray"):
        machine_code.system_tag([Path("file")], is_released=True)


# ---------------------------------------------------------------- the build backend


@pytest.fixture
def backend(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return import_module("build_backend")


def test_a_build_needs_the_versions_that_are_there(backend, monkeypatch):
    needed = backend.get_requires_for_build_wheel({})
    assert f"numba=={version('numba')}" in needed
    assert not any(each.startswith("numba") for each in backend.get_requires_for_build_editable({}))
    monkeypatch.setattr(backend, "distributions", lambda path: [])
    assert "sortedcontainers>=2.4,<3" in backend.get_requires_for_build_wheel(None)
    assert backend.get_requires_for_build_wheel({"kernels": "none"}) == []


def test_a_wrong_setting_of_the_build_is_refused(backend):
    with pytest.raises(
        SystemExit, match=r"kernels=non is unknown; the setting is  -C kernels=none"
    ):
        backend.get_requires_for_build_wheel({"kernels": "non"})


def test_kernels_are_compiled_while_a_wheel_is_built(backend, monkeypatch, tmp_path, capsys):
    def plain(folder, *_):
        Path(folder, "a-1-py3-none-any.whl").write_text("plain")
        return "a-1-py3-none-any.whl"

    def compiling(command, **_):
        commands.append(command[1:-1])
        Path(command[-1]).rename(Path(command[-1]).with_name("a-1-cp399-cp399-other.whl"))
        return subprocess.CompletedProcess(command, statuses.pop())

    commands, statuses = [], [1, 0]
    monkeypatch.setattr(backend.build_meta, "build_wheel", plain)
    monkeypatch.setattr(backend.subprocess, "run", compiling)
    assert backend.build_wheel(str(tmp_path), {"kernels": "none"}) == "a-1-py3-none-any.whl"
    assert capsys.readouterr().out == "" and commands == []
    assert backend.build_wheel(str(tmp_path)) == "a-1-cp399-cp399-other.whl"
    assert commands == [[ROOT / ".ci" / "machine-code", "--this-cpu"]]
    assert capsys.readouterr().out.startswith("sase: compiling kernels for this CPU (a minute")
    assert {path.suffix for path in tmp_path.iterdir()} == {".whl"}
    with pytest.raises(SystemExit, match="install without them: -C kernels=none"):
        backend.build_wheel(str(tmp_path))
