"""The build backend: setuptools, which here also compiles the kernels of a wheel for this CPU.

So a query compiles nothing after `pip install .` in a clone, or of a source distribution. This
takes a minute or two. With `-C kernels=none` (in pip and in build) no kernel is compiled, and the
wheel is for every Python and system: a query then compiles the kernels that it needs, once.

An editable installation has no kernels; `make machine-code` compiles them in the tree.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from configparser import ConfigParser
from contextlib import suppress
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403 - the other steps of a build

Settings = Mapping[str, str] | None
HERE = Path(__file__).parent
WITHOUT = "-C kernels=none"


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """The packages of a build; compiling needs those of a run."""
    return build_meta.get_requires_for_build_wheel(config_settings) + (
        of_a_run() if compiles(config_settings) else []
    )


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel, and compile kernels for it."""
    with TemporaryDirectory() as folder:
        name = build_meta.build_wheel(folder, config_settings, metadata_directory)
        if compiles(config_settings):
            say("sase: compiling kernels for this CPU (a minute or two), so that no query does …")
            command = [sys.executable, HERE / "machine-code", "--this-cpu", Path(folder, name)]
            if subprocess.run(command, check=False).returncode:
                sys.exit(f"sase: kernels cannot be compiled here; install without them: {WITHOUT}")
            (name,) = os.listdir(folder)
        shutil.move(Path(folder, name), Path(wheel_directory, name))
    return name


def compiles(settings: Settings) -> bool:
    """Whether the kernels of a wheel are compiled."""
    wanted = (settings or {}).get("kernels", "compiled")
    if wanted not in ("compiled", "none"):
        sys.exit(f"sase: kernels={wanted} is unknown; the setting is  {WITHOUT}")
    return wanted == "compiled"


def of_a_run() -> list[str]:
    """The packages of a run, in the versions of the environment into which pip installs.

    Machine code is loaded by the versions that it was compiled with. An environment of the build
    alone, as uv has one, does not show that other one: the newest versions are taken then.
    """
    paths = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    there = {each.name.lower(): each.version for each in distributions(path=paths)}
    setup = ConfigParser()
    setup.read(HERE.parent / "setup.cfg", encoding="utf-8")
    lines = setup["options"]["install_requires"].split()
    named = ((line, line.partition(">=")[0]) for line in lines)
    return [f"{name}=={there[name]}" if name in there else line for line, name in named]


def say(text: str) -> None:
    """Print a text; also on the terminal, from which pip hides the output of a build."""
    print(text, flush=True)
    if not sys.stdout.isatty():
        with suppress(OSError), open("/dev/tty", "w", encoding="utf-8") as terminal:
            terminal.write(f"\n{text}\n")
