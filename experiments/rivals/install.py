"""Each system in a virtual environment of its own, from the package index."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from experiments.rivals.catalogue import Rival

FOLDER = Path("~/.cache/sase-rivals")
DONE = "installed.txt"  # the packages that an environment was made with


class CannotInstall(Exception):
    """The missing parts of this machine."""


def environment(folder: Path, rival: Rival) -> Path:
    """Where its environment is."""
    return folder / "environments" / rival.name


def interpreter(folder: Path, rival: Rival) -> Path | None:
    """The Python of its environment, if that holds the versions that the catalogue names now."""
    done = environment(folder, rival) / DONE
    if not done.exists() or done.read_text(encoding="utf-8").split() != list(rival.packages):
        return None
    return environment(folder, rival) / "bin" / "python"


def install(folder: Path, rival: Rival) -> None:
    """Make the environment, anew if it is another."""
    if interpreter(folder, rival):
        return
    if rival.needs and shutil.which(rival.needs) is None:
        raise CannotInstall(f"it needs {rival.needs}, which is not on the PATH")
    place = environment(folder, rival)
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([python(rival.python), "-m", "venv", place], check=True)
    pip = [place / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-input"]
    subprocess.run([*pip, *rival.packages], check=True)
    (place / DONE).write_text("\n".join(rival.packages), encoding="utf-8")


def python(version: str | None) -> str:
    """A Python of the requested version: this one, one on the PATH, or one of pyenv."""
    if version in (None, f"{sys.version_info.major}.{sys.version_info.minor}"):
        return sys.executable
    root = os.environ.get("PYENV_ROOT")
    of_pyenv = sorted(Path(root).glob(f"versions/{version}.*/bin/python")) if root else []
    on_path = shutil.which(f"python{version}")
    for candidate in [*map(str, of_pyenv), *([on_path] if on_path else [])]:
        asked = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        told = subprocess.run(asked, capture_output=True, text=True, check=False)
        if told.stdout.strip() == version:
            return candidate
    raise CannotInstall(f"Python {version} is needed, and there is no python{version} on the PATH")
