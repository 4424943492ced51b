"""Compile all kernels ahead of time, in several processes, for CPU levels or for this CPU.

`.ci/machine-code` writes the files of machine code: for the wheel, and before the tests for this
CPU alone. The slow steps, type inference and the generation of LLVM IR, run once for all levels.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from multiprocessing import get_context
from pkgutil import walk_packages
from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock

from sase.engine.kernels.jit import machine_code
from sase.engine.kernels.jit.compiler import KernelDispatcher, compiling_for_users
from sase.engine.kernels.jit.linking import UnoptimizedCompiler
from sase.engine.kernels.jit.machine_code import FOLDER, KERNELS, PACKAGE, Level
from sase.engine.kernels.jit.messages import say
from sase.engine.kernels.jit.object_code import packed
from sase.engine.kernels.jit.signatures import signatures
from sase.engine.resources import cores

# The folders of modules that take long.
_LONG = {"groups", "kleene", "runs", "sets"}
# Vector functions of Intel's library, which need not be where the machine code is loaded.
_SETTINGS = {"NUMBA_DISABLE_INTEL_SVML": "1"}


def write_all(levels: Sequence[Level]) -> None:
    """Write the machine code of all kernels for each level, unless it is up to date."""
    paths = {level.name: FOLDER / machine_code.file_name(level) for level in levels}
    if all(map(machine_code.fits, paths.values())):
        return
    say(f"compiling all kernels for {', '.join(paths)}, once for these sources …")
    found: dict[str, dict[str, bytes]] = {name: {} for name in paths}
    with _processes() as pool:
        for made in pool.map(partial(compiled, levels=levels), _modules()):
            for name, kernels in made.items():
                found[name] |= kernels
    FOLDER.mkdir(exist_ok=True)
    for name, path in paths.items():
        machine_code.write(path, found[name])


@contextmanager
def _processes() -> Iterator[ProcessPoolExecutor]:
    before = dict(os.environ)
    os.environ.update(_SETTINGS)
    try:
        with ProcessPoolExecutor(cores(), get_context("spawn")) as pool:
            yield pool
    finally:
        os.environ.clear()
        os.environ.update(before)


def _modules() -> list[str]:
    """The modules of kernels, slow ones first."""
    names = [each.name for each in walk_packages([str(KERNELS)], f"{PACKAGE}.")]
    return sorted(
        names, key=lambda name: name.removeprefix(f"{PACKAGE}.").split(".")[0] not in _LONG
    )


def kernels_of(module: str) -> list[KernelDispatcher]:
    """The kernels of a module."""
    values = vars(import_module(module)).values()
    found = {id(each): each for each in values if isinstance(each, KernelDispatcher)}
    return [each for each in found.values() if each.py_func.__module__ == module]


def compiled(module: str, levels: Sequence[Level]) -> dict[str, dict[str, bytes]]:
    """Compile the kernels of a module for each level."""
    found: dict[str, dict[str, bytes]] = {level.name: {} for level in levels}
    with compiling_for_users():  # without announcements
        for kernel in kernels_of(module):
            for arguments in signatures(kernel.py_func, kernel.absent):
                name = machine_code.kernel_name(kernel.py_func, arguments)
                assert all(name not in kernels for kernels in found.values()), f"{name} twice"
                made = kernel.compiled_for(arguments, UnoptimizedCompiler)
                for level in levels:
                    code = _machine_code(made.library.linked, level)
                    found[level.name][name] = packed(made, code)
    return found


def _machine_code(linked: bytes, level: Level) -> bytes:
    with global_compiler_lock:
        return bytes(_generator(level).create_library("kernel").optimized(linked))


class _LevelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A library of code that was linked elsewhere."""

    def optimized(self, linked: bytes) -> bytes:
        """Optimize the code and return the machine code."""
        self._final_module = binding.parse_bitcode(linked)
        self._optimize_final_module()
        return bytes(self.codegen.emitted(self._final_module))


@cache
def _generator(level: Level) -> Any:
    class Generator(JITCPUCodegen):  # type: ignore[misc]
        """Numba's code generator, for a level."""

        _library_class = _LevelLibrary

        def emitted(self, module: binding.ModuleRef) -> bytes:
            """Return the machine code of an optimized module."""
            return bytes(self._tm.emit_object(module))

        def _get_host_cpu_name(self) -> str:
            return level.cpu

        def _get_host_cpu_features(self) -> str:
            return level.features

    return Generator(f"sase.{level.name}")
