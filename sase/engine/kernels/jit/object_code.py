"""Compiled kernels as bytes, by which another process has them without compiling.

Numba keeps the code as LLVM sees it, too, for functions that call others, and the types of all
variables as text. Kernels call each other by address, so of theirs the machine code is enough,
which is a quarter of it and faster to load.
"""

from __future__ import annotations

import pickle
from typing import Any

from llvmlite.binding import parse_assembly
from numba.core.caching import CompileResultCacheImpl
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps


class KernelForm(CompileResultCacheImpl):  # type: ignore[misc]
    """What Numba's cache takes of a kernel, and makes of that."""

    def reduce(self, compiled: Any) -> Any:
        """Take what is needed."""
        return _PortableKernel(*compiled).reduced()

    def rebuild(self, context: Any, reduced: Any) -> Any:
        """Make a kernel of it."""
        return _PortableKernel.rebuilt(context, reduced)


def packed(compiled: Any, machine_code: bytes) -> bytes:
    """Return a kernel as bytes, by other machine code of the same."""
    return bytes(dumps(_PortableKernel(*compiled).reduced(machine_code)))


def unpacked(context: Any, content: bytes) -> Any:
    """Return the kernel that bytes stand for."""
    return _PortableKernel.rebuilt(context, pickle.loads(content))


class _PortableKernel(CompileResult):  # type: ignore[misc]
    """A compiled kernel that goes to other processes, and comes from others."""

    __slots__ = ()

    def reduced(self, machine_code: bytes | None = None) -> Any:
        """What a process needs: of LLVM's code the names that are defined, of types no text."""
        code, described, environment, signature, mode, lifted, _, *rest = self._reduce()
        name, kind, (own, _) = code
        names = (described.llvm_func_name, described.llvm_cpython_wrapper_name)
        empty = "".join(f'define void @"{each}"() {{ ret void }}\n' for each in names)
        code = (name, kind, (machine_code or own, parse_assembly(empty).as_bitcode()))
        return code, described, environment, signature, mode, lifted, "", *rest

    @classmethod
    def rebuilt(cls, context: Any, reduced: Any) -> Any:
        """Load a kernel, of which LLVM knows names alone: nothing can be linked with it."""
        return cls._rebuild(context, *reduced)
