"""Machine code of kernels that came with the package, compiled where its wheel was made.

A file has the kernels for CPUs of one level by one Python. Its head says what they were compiled
for and with; where anything of that is not as it is here, none of it is used.
"""

from __future__ import annotations

import json
import os
import platform
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
# The variable by which all kernels are compiled, for the very CPU that there is.
COMPILE = "SASE_COMPILE_KERNELS"
PACKAGE = __package__.rpartition(".")[0]

# What the levels of x86-64 add, as LLVM calls it.
_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
_V4 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")


class Level(NamedTuple):
    """What a CPU must have, and the words by which LLVM compiles for all that have it."""

    name: str
    needs: tuple[str, ...]
    cpu: str
    features: str = ""


# By architecture, the best first. By its own name LLVM compiles the fourth level for gathers, which
# take twice the time on CPUs that do not have them fast.
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
    """Why a file is not used."""


class _MachineCode(NamedTuple):
    """The machine code of a file: where each kernel lies, and the hash of what is there."""

    path: Path
    kernels: dict[str, tuple[int, int, str]]

    def read(self, name: str) -> bytes | None:
        """Return a kernel, or None if there is none of the name, or no whole one."""
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
    """The levels of CPUs like this one."""
    return LEVELS.get(platform.machine(), ())


def file_name(level: Level) -> str:
    """The name of the file for a level, by this Python."""
    return f"{_python()}-{level.name}{SUFFIX}"


def _python() -> str:
    """Whose code calls that of Python: also of a build for debugging, or without a lock."""
    return f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"


def lacking(level: Level) -> list[str]:
    """What this CPU lacks of a level."""
    here = {each[1:] for each in get_host_cpu_features().split(",") if each.startswith("+")}
    return [each for each in level.needs if each not in here]


@cache
def conditions() -> dict[str, str]:
    """What machine code is compiled for and with, beside the level, in words."""
    config = numba.config
    flags = [config.BOUNDSCHECK, config.OPT, config.DEBUGINFO_DEFAULT]
    flags += [config.CPU_NAME, config.CPU_FEATURES]
    return {
        "Python": _python(),
        "Numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "NumPy": ".".join(np.__version__.split(".")[:2]),
        "system": binding.get_process_triple(),
        "sources": sources(),
        "settings of Numba": " ".join(map(str, flags)),
    }


@cache
def sources() -> str:
    """A hash of all files of kernels: Numba looks at the file of each kernel alone."""
    found = sha256()
    for path in sorted(KERNELS.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


# The kernels that were loaded, for tests.
loaded: list[str] = []


def load(function: Any, arguments: Any, context: Any) -> Any:
    """Return a kernel that came with the package, or None."""
    code, _ = _looked_for()
    name = kernel_name(function, arguments)
    content = code and code.read(name)
    if content is None:
        return None
    loaded.append(name)
    return unpacked(context, content)


def is_there(function: Any, arguments: Any) -> bool:
    """Whether a kernel came with the package."""
    code, _ = _looked_for()
    return code is not None and kernel_name(function, arguments) in code.kernels


def fits(path: Path) -> bool:
    """Whether a file was made of what is here, for whatever level."""
    try:
        _opened(path)
    except _UnfitError:
        return False
    return True


def is_of_these_sources(path: Path) -> bool:
    """Whether a file is of these kernels, by whatever Python and Numba."""
    try:
        head, _ = _head(path)
    except _UnfitError:
        return False
    return bool(head["conditions"]["sources"] == sources())


def kernel_name(function: Any, arguments: Any) -> str:
    """What a kernel is called in files, of which there may be some for different arguments."""
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
    """Why nothing of what came with the package is used; None if it is, or if nothing came."""
    return _looked_for()[1]


@cache
def _looked_for() -> tuple[_MachineCode | None, str | None]:
    """The best file that fits, or why none does."""
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
    """Read the places of kernels in a file that fits."""
    head, begin = _head(path)
    for name, here in conditions().items():
        if (there := head["conditions"][name]) != here:
            if name == "sources":
                raise _UnfitError("it is of other sources")
            raise _UnfitError(f"it is for {name} {there}, and this is {here}")
    places = head["kernels"].items()
    return _MachineCode(path, {name: (begin + at, *rest) for name, (at, *rest) in places})


def _head(path: Path) -> tuple[Any, int]:
    """Read the head of a file, and where it ends."""
    try:
        with path.open("rb") as file:
            digest, head, begin = file.readline().strip(), file.readline()[:-1], file.tell()
    except OSError as problem:
        raise _UnfitError(f"{path} cannot be read: {problem.strerror}") from None
    if sha256(head).hexdigest().encode() != digest:
        raise _UnfitError(f"{path} is damaged")
    return json.loads(head), begin
