"""The tree with the additions of a page: worked examples are built without changes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.repo.source import ROOT

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of code of a page that are in a language."""
    return [code for name, code in _BLOCK.findall(page.read_text("utf-8")) if name == language]


def copied(folder: Path) -> Path:
    """The package and its shipped files in another folder, without compiled code."""
    for name in ("sase", "grammar", "plans"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    # In the wheel they are packages of this one.
    for name in ("grammar", "plans"):
        shutil.copytree(folder / name, folder / "sase" / name)
    return folder


def apply(diff: str, tree: Path) -> None:
    """Apply a diff of one file, with hunks at the places where their old lines occur once."""
    head, _, body = diff.partition("\n")
    path = tree / head.removeprefix("--- ")
    text = path.read_text("utf-8")
    for hunk in body.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] != "+")
        new = "".join(line[1:] for line in lines if line[0] != "-")
        assert text.count(old) == 1, f"{path.name} has these lines {text.count(old)} times:\n{old}"
        text = text.replace(old, new)
    path.write_text(text, "utf-8")


def run(tree: Path, program: str, *arguments: str) -> str:
    """The output of a program that imports the package of a tree; kernels are not compiled."""
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**settings, "NUMBA_DISABLE_JIT": "1"},
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
