"""A second process that compiles the largest kernel of a query while this one compiles others.

Numba compiles in one thread. Whichever process comes to a kernel first compiles it, and the other
one waits and loads it from the cache (see `compiler`).
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

# What the other process runs, with the module and the name of a kernel.
_PROGRAM = """
import sys
from importlib import import_module
sys.path[:] = sys.argv[3].split(sys.argv[4])
getattr(import_module(sys.argv[1]), sys.argv[2]).prepare()
"""

# The processes that were started.
processes: list[subprocess.Popen[bytes]] = []


def compile_ahead(kernel: Any) -> None:
    """Have another process compile a kernel that is needed soon, if there is a core for it."""
    if numba.config.DISABLE_JIT or kernel.is_cached or cores() < 2 or not _is_python():
        return
    if any(process.poll() is None for process in processes):
        return  # one is enough
    module = kernel.py_func.__module__
    name = next(name for name, value in vars(sys.modules[module]).items() if value is kernel)
    arguments = [module, name, os.pathsep.join(sys.path)]
    with suppress(OSError):  # then this process does it all
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
    """Whether there is an interpreter to run, and not a program that embeds Python."""
    return Path(sys.executable or "").name.lower().startswith(("python", "pypy"))


def _end(owner: int) -> None:
    """End all processes; what is not cached by then is compiled when it is needed."""
    if os.getpid() != owner:  # but forked from it
        return
    for process in processes:
        process.terminate()
        process.wait()
