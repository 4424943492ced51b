"""Check for PySpark and Java, and say how to install what is missing or too old."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from sase.errors import SparkError, SparkMissingError

# The first versions with all that is used.
PYSPARK, JAVA = (4, 1), 17
INSTALL = "pip install 'sase[spark]'"
ADVICE = (
    "install one, such as a JRE from adoptium.net or a package like openjdk-17-jre-headless, and"
    " put it on PATH or set JAVA_HOME to its folder"
)


def check_pyspark() -> None:
    """Refuse to go on without PySpark, or with one that is too old."""
    try:
        import pyspark
    except ModuleNotFoundError as problem:
        raise SparkMissingError(
            f"{problem.name} is not installed, which is needed for Spark: {INSTALL}"
        ) from problem
    found = tuple(map(int, re.findall(r"\d+", pyspark.__version__)[:2]))
    if found < PYSPARK:
        needed = ".".join(map(str, PYSPARK))
        raise SparkMissingError(
            f"PySpark {needed} or later is needed, and {pyspark.__version__} is installed:"
            f" {INSTALL}"
        )


def check_java() -> None:
    """Refuse to start Spark without Java, or with one that is too old."""
    program = _java()
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        raise SparkError(f"{program} does not run, and Spark needs it: {problem}") from problem
    version = java_version(done.stderr + done.stdout)
    if version is not None and version < JAVA:
        raise SparkError(
            f"Spark needs Java {JAVA} or later, and {program} is Java {version}: {ADVICE}"
        )


def _java() -> str:
    """The program that Spark starts: that of JAVA_HOME, else the one on the path."""
    home = os.environ.get("JAVA_HOME")
    if home:
        program = os.path.join(home, "bin", "java")
        if shutil.which(program) is None:
            raise SparkError(
                f"Spark needs Java {JAVA} or later, and JAVA_HOME is {home}, where there is no"
                f" bin/java: {ADVICE}"
            )
        return program
    found = shutil.which("java")
    if found is None:
        raise SparkError(f"Spark needs Java {JAVA} or later, and there is none: {ADVICE}")
    return found


def java_version(text: str) -> int | None:
    """The version in what `java -version` says, such as 17 in "17.0.2", or 8 in "1.8.0"."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    first, second = int(found[1]), int(found[2] or 0)
    return second if first == 1 else first
