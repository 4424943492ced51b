"""The wheel holds the whole package, also the two folders that live outside of it in the tree."""

import csv
import hashlib
import shutil
import subprocess
import sys
from base64 import urlsafe_b64decode
from configparser import ConfigParser
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.repo.source import ROOT

# Package of the wheel → folder of the tree.
OUTSIDE = {"sase.grammar": "grammar", "sase.plans": "plans"}
# The files that a build reads; copied first, because a build leaves files in the tree, and reads
# old ones.
INPUTS = ["setup.cfg", "pyproject.toml", "README.md", "LICENSE", "sase", *OUTSIDE.values()]


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
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist"]
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
    asked = []
    monkeypatch.setattr(machine_code, "write_all", asked.append)
    monkeypatch.setattr(machine_code, "levels", lambda: ("best", "better", "good"))
    monkeypatch.setattr(machine_code, "lacking", lambda level: ["avx2"] * (level == "best"))
    machine_code.for_this_cpu()
    monkeypatch.setattr(machine_code, "levels", lambda: ())
    machine_code.for_this_cpu()
    assert asked == [["better"], []]


def test_machine_code_is_put_into_the_wheel_and_its_record(machine_code, tmp_path, monkeypatch):
    wheel, name = tmp_path / "a-1-py3-none-any.whl", "a-1.dist-info/RECORD"
    with ZipFile(wheel, "w") as archive:
        archive.writestr("a/b.py", "1")
        archive.writestr(name, "a/b.py,,\na-1.dist-info/RECORD,,\n")
    kept = {"old.kernels": False, "new.kernels": True}
    for each in kept:
        (tmp_path / each).write_text("machine code")
    monkeypatch.setattr(machine_code, "FOLDER", tmp_path)
    monkeypatch.setattr(machine_code, "write_all", lambda levels: None)
    monkeypatch.setattr(machine_code, "file_of_tables", lambda: ("grammar.pickle", b"tables"))
    monkeypatch.setattr(machine_code, "is_of_these_sources", lambda path: kept[path.name])
    before = wheel.stat().st_size
    machine_code.for_a_wheel(wheel)
    inside = "sase/engine/kernels/machine_code/new.kernels"
    with ZipFile(wheel) as archive:
        assert archive.namelist() == ["a/b.py", name, "sase/grammar/grammar.pickle", inside]
        *given, tables, (path, digest, size) = csv.reader(archive.read(name).decode().splitlines())
        content = archive.read(inside)
    assert given == [["a/b.py", "", ""], [name, "", ""]]
    assert (tables[0], tables[2]) == ("sase/grammar/grammar.pickle", "6")
    assert (path, int(size), content) == (inside, len(content), b"machine code")
    found = urlsafe_b64decode(digest.removeprefix("sha256=") + "=")
    assert found == hashlib.sha256(content).digest()
    assert wheel.stat().st_size > before
