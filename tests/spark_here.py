"""Whether tests can start Spark here, and if not, the missing parts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

JAVA = 17  # the first that Spark 4 runs on


@cache
def missing() -> str:
    """The parts that Spark needs and that are missing; empty if there are none."""
    for package in ("pyspark", "pandas"):
        if find_spec(package) is None:
            return f"{package} is not installed"
    java = _java()
    if java is None:
        return f"there is no Java in JAVA_HOME or on the PATH, and Spark needs {JAVA} or later"
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = version_in(told)
    if version is None:
        return f"{java} -version  says no version"
    return "" if version >= JAVA else f"Java is {version}, and Spark needs {JAVA} or later"


def _java() -> str | None:
    """The program that Spark would run."""
    home = os.environ.get("JAVA_HOME")
    if not home:
        return shutil.which("java")
    java = Path(home) / "bin" / "java"
    return str(java) if os.access(java, os.X_OK) else None


def version_in(told: str) -> int | None:
    """The version in Java's own output: 8 calls itself 1.8."""
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(found[1]) if found else None
