"""A second process, which compiles the largest kernel of a query while this one compiles others.

Numba compiles in one thread. Which of the two processes comes to a kernel first compiles it, and
the other one waits for it and loads what was kept (see `compiling`): whether the second comes in
time, or at all, makes no other difference.
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

from sase.engine.kernels.jit.compiler import is_kept, say_compiling
from sase.engine.resources import cores

# What the other process runs, with the module and the name of a kernel.
_PROGRAM = """
import sys
from importlib import import_module
sys.path[:] = sys.argv[3].split(sys.argv[4])
getattr(import_module(sys.argv[1]), sys.argv[2])._compile_for_args()
"""

# The processes that were begun.
others: list[subprocess.Popen[bytes]] = []


def compile_beside(kernel: Any) -> None:
    """Have another process compile a kernel that is needed soon, where there is a core for it."""
    if numba.config.DISABLE_JIT or is_kept(kernel) or cores() < 2 or not _is_python():
        return
    if any(other.poll() is None for other in others):
        return  # one is enough
    module = kernel.py_func.__module__
    name = next(name for name, value in vars(sys.modules[module]).items() if value is kernel)
    arguments = [module, name, os.pathsep.join(sys.path)]
    with suppress(OSError):  # then this process does it all
        other = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *arguments, os.pathsep],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if not others:
            atexit.register(_end, os.getpid())
        others.append(other)
        say_compiling()


def _is_python() -> bool:
    """Whether there is an interpreter to be run, and not a program that Python is a part of."""
    return Path(sys.executable or "").name.lower().startswith(("python", "pypy"))


def _end(owner: int) -> None:
    """No process stays behind; what is not kept by then is compiled when it is needed."""
    if os.getpid() != owner:  # but forked from it
        return
    for other in others:
        other.terminate()
        other.wait()
