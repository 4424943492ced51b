"""Machine code of kernels that is part of the package, compiled when its wheel was made.

A file has the kernels for one CPU level and one Python. Its head has the conditions under which
they were compiled; if any of these differs here, the file is not used.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba.core.codegen import get_host_cpu_features

from sase.engine.kernels.jit.messages import say_once
from sase.engine.kernels.jit.object_code import unpacked

# The folder of all kernels, and that of files with their machine code.
KERNELS = Path(__file__).parents[1]
FOLDER = KERNELS / "machine_code"
SUFFIX = ".kernels"
# Environment variable: ignore the files, and compile kernels for this CPU.
COMPILE = "SASE_COMPILE_KERNELS"
PACKAGE = __package__.rpartition(".")[0]

# The CPU features that each level of x86-64 adds, by LLVM's names.
_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
_V4 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")


class Level(NamedTuple):
    """The features that a CPU must have, and LLVM's options for all CPUs that have them."""

    name: str
    needs: tuple[str, ...]
    cpu: str
    features: str = ""


# By architecture, the best level first. Given the name of level 4, LLVM generates gathers, which
# take twice the time on CPUs where they are slow; so the name is that of level 3.
LEVELS = {
    "x86_64": (
        Level("x86-64-v4", _V2 + _V3 + _V4, "x86-64-v3", ",".join(f"+{each}" for each in _V4)),
        Level("x86-64-v3", _V2 + _V3, "x86-64-v3"),
        Level("x86-64-v2", _V2, "x86-64-v2"),
    ),
    "aarch64": (Level("aarch64", ("neon",), "generic"),),
}
LEVELS["AMD64"], LEVELS["arm64"] = LEVELS["x86_64"], LEVELS["aarch64"]


class _UnfitError(Exception):
    """The reason why a file is not used."""


class _MachineCode(NamedTuple):
    """An opened file: offset, length and hash of each kernel."""

    path: Path
    kernels: dict[str, tuple[int, int, str]]

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a kernel; None if it is missing or damaged."""
        if name not in self.kernels:
            return None
        begin, length, digest = self.kernels[name]
        try:
            with self.path.open("rb") as file:
                file.seek(begin)
                content = file.read(length)
        except OSError as problem:
            say_once(f"{self.path} cannot be read: {problem.strerror}")
            return None
        if sha256(content).hexdigest() == digest:
            return content
        say_once(f"{self.path} is damaged: the kernel is compiled anew")
        return None


def levels() -> tuple[Level, ...]:
    """The CPU levels of this architecture, best first."""
    return LEVELS.get(platform.machine(), ())


def file_name(level: Level) -> str:
    """The name of the file for a level, by this Python."""
    return f"{_python()}-{level.name}{SUFFIX}"


def _python() -> str:
    """The tag of Python's ABI, which differs for debug and free-threaded builds."""
    return f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"


def lacking(level: Level) -> list[str]:
    """The features of a level that this CPU lacks."""
    here = {each[1:] for each in get_host_cpu_features().split(",") if each.startswith("+")}
    return [each for each in level.needs if each not in here]


@cache
def conditions() -> dict[str, str]:
    """The conditions that machine code depends on besides the level, as texts."""
    config = numba.config
    flags = [config.BOUNDSCHECK, config.OPT, config.DEBUGINFO_DEFAULT]
    flags += [config.CPU_NAME, config.CPU_FEATURES]
    return {
        "Python": _python(),
        "Numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "NumPy": ".".join(np.__version__.split(".")[:2]),
        # Without the release of macOS, on which machine code does not depend.
        "system": re.sub(r"(darwin|macosx)[\d.]+", r"\1", binding.get_process_triple()),
        "sources": sources(),
        "settings of Numba": " ".join(map(str, flags)),
    }


@cache
def sources() -> str:
    """A hash of all files of kernels; Numba's own stamp covers only the file of each kernel."""
    found = sha256()
    for path in sorted(KERNELS.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


# Names of loaded kernels, for tests.
loaded: list[str] = []


def load(function: Any, arguments: Any, context: Any) -> Any:
    """Return a kernel from the package's machine code, or None."""
    code, _ = _looked_for()
    name = kernel_name(function, arguments)
    content = code and code.read(name)
    if content is None:
        return None
    loaded.append(name)
    return unpacked(context, content)


def is_there(function: Any, arguments: Any) -> bool:
    """Whether the package's machine code has a kernel."""
    code, _ = _looked_for()
    return code is not None and kernel_name(function, arguments) in code.kernels


def fits(path: Path) -> bool:
    """Whether a file matches the conditions here, for any level."""
    try:
        _opened(path)
    except _UnfitError:
        return False
    return True


def contents(path: Path) -> dict[str, bytes]:
    """The kernels of a whole file that fits here."""
    code = _opened(path)
    return {name: found for name in code.kernels if (found := code.read(name)) is not None}


def kernel_name(function: Any, arguments: Any) -> str:
    """The name of a kernel in files, unique for its argument types."""
    kinds = sha256(str(arguments).encode()).hexdigest()[:16]
    return f"{function.__module__}.{function.__qualname__} {kinds}"


def write(path: Path, kernels: dict[str, bytes]) -> None:
    """Write a file of kernels."""
    places, begin = {}, 0
    for name, content in kernels.items():
        places[name] = (begin, len(content), sha256(content).hexdigest())
        begin += len(content)
    head = json.dumps({"conditions": conditions(), "kernels": places}).encode()
    lines = sha256(head).hexdigest().encode() + b"\n" + head + b"\n"
    path.write_bytes(lines + b"".join(kernels.values()))


def why_not() -> str | None:
    """Why the package's machine code is not used; None if it is used, or there is none."""
    return _looked_for()[1]


@cache
def _looked_for() -> tuple[_MachineCode | None, str | None]:
    if not FOLDER.is_dir() or os.environ.get(COMPILE):
        return None, None
    reason = f"there is none for Python {_python()} and {platform.machine()}"
    for level in levels():
        path = FOLDER / file_name(level)
        if not path.is_file():
            continue
        if missing := lacking(level):
            reason = f"it is for CPUs with {', '.join(missing)}"
            continue
        try:
            return _opened(path), None
        except _UnfitError as problem:
            reason = str(problem)
    return None, reason


def _opened(path: Path) -> _MachineCode:
    head, begin = _head(path)
    for name, here in conditions().items():
        if (there := head["conditions"][name]) != here:
            if name == "sources":
                raise _UnfitError("it is of other sources")
            raise _UnfitError(f"it is for {name} {there}, and this is {here}")
    places = head["kernels"].items()
    return _MachineCode(path, {name: (begin + at, *rest) for name, (at, *rest) in places})


def _head(path: Path) -> tuple[Any, int]:
    try:
        with path.open("rb") as file:
            digest, head, begin = file.readline().strip(), file.readline()[:-1], file.tell()
    except OSError as problem:
        raise _UnfitError(f"{path} cannot be read: {problem.strerror}") from None
    if sha256(head).hexdigest().encode() != digest:
        raise _UnfitError(f"{path} is damaged")
    return json.loads(head), begin
