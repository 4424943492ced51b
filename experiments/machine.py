"""The machine, the versions and the commit of a measurement."""

from __future__ import annotations

import os
import platform
import re
import resource
import subprocess
import sys
from importlib import metadata
from pathlib import Path

PACKAGES = ("sase", "numba", "numpy", "pyarrow", "duckdb", "polars", "pyspark")
RESULTS = "experiments/results"
STATUS, PROCESSORS = Path("/proc/self/status"), Path("/proc/stat")
ROOT = Path(__file__).parents[1]
MACHINE_CODE = ROOT / ".ci" / "machine-code"


def compile_kernels() -> None:
    """Compile all kernels before: a run that is broken off spoils the one that it compiles."""
    subprocess.run([sys.executable, str(MACHINE_CODE)], check=True)


def processor() -> str:
    """The model of the processor, or its architecture where the system does not tell."""
    told = Path("/proc/cpuinfo")
    text = told.read_text(encoding="utf-8") if told.exists() else ""
    found = re.search(r"model name\s*:\s*(.+)", text)
    return found[1].strip() if found else platform.machine()


def versions() -> str:
    """Python and those of the packages that are installed."""
    named = [f"python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            named.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            named.append(f"no {package}")
    return ", ".join(named)


def commit() -> str:
    """The commit of the working tree, with a mark where that has changes (other than results)."""
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", ".", f":!{RESULTS}")
    known = _git("rev-parse", "--short=10", "HEAD")
    return (known or "unknown") + ("-dirty" if changes else "")


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def described() -> str:
    """All of it in three lines of Markdown."""
    return "\n".join(
        [
            f"- machine: {processor()}, {os.cpu_count()} cores, {platform.machine()}",
            f"- versions: {versions()}",
            f"- commit: {commit()}",
        ]
    )


def busy_seconds() -> float | None:
    """CPU seconds of all processes since the start of the machine, those of its host included.

    None where the system does not tell (it is not Linux).
    """
    if not PROCESSORS.exists():
        return None
    user, nice, system, _, _, *more = map(int, PROCESSORS.read_text().split("\n")[0].split()[1:9])
    return (user + nice + system + sum(more)) / os.sysconf("SC_CLK_TCK")


def forget_peak() -> None:
    """Begin the peak of memory anew from the present value, where the system can (Linux)."""
    if STATUS.exists():
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_bytes() -> int:
    """The most memory that the process has held since `forget_peak`, or since its start.

    Not `ru_maxrss` where the system has a better figure: that counts the memory of the parent, too.
    """
    if STATUS.exists():
        return int(re.findall(r"VmHWM:\s+(\d+) kB", STATUS.read_text(encoding="ascii"))[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
