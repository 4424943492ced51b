"""Compile the largest kernel of a query in a second process, while this one compiles others.

Numba compiles in one thread. The first process that needs a kernel compiles it; the other one
waits, and loads it from the cache (see `compiler`).
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba

from sase.engine.kernels.jit.compiler import announce_compiling
from sase.engine.resources import cores

# The program of the other process; its arguments are module and name of a kernel.
_PROGRAM = """
import sys
from importlib import import_module
sys.path[:] = sys.argv[3].split(sys.argv[4])
getattr(import_module(sys.argv[1]), sys.argv[2]).prepare()
"""

# Processes started.
processes: list[subprocess.Popen[bytes]] = []


def compile_ahead(kernel: Any) -> None:
    """Let another process compile a kernel that is needed soon, if there is a second core."""
    if numba.config.DISABLE_JIT or kernel.is_cached or cores() < 2 or not _is_python():
        return
    if any(process.poll() is None for process in processes):
        return  # one is enough
    module = kernel.py_func.__module__
    name = next(name for name, value in vars(sys.modules[module]).items() if value is kernel)
    arguments = [module, name, os.pathsep.join(sys.path)]
    with suppress(OSError):  # this process then compiles all
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *arguments, os.pathsep],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if not processes:
            atexit.register(_end, os.getpid())
        processes.append(process)
        announce_compiling()


def _is_python() -> bool:
    """Whether `sys.executable` is an interpreter, not a program that embeds Python."""
    return Path(sys.executable or "").name.lower().startswith(("python", "pypy"))


def _end(owner: int) -> None:
    """End all processes. Kernels that they have not cached are compiled on demand."""
    if os.getpid() != owner:  # in a fork
        return
    for process in processes:
        process.terminate()
        process.wait()
