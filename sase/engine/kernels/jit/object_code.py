"""Compiled kernels as bytes, which another process loads without compiling.

Numba also keeps LLVM's code, for callers, and the types of all variables as text. Kernels call each
other by address, so their machine code is enough: a quarter of the size, and faster to load.
"""

from __future__ import annotations

import pickle
from typing import Any

from llvmlite.binding import parse_assembly
from numba.core.caching import CompileResultCacheImpl
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps


class KernelForm(CompileResultCacheImpl):  # type: ignore[misc]
    """The conversion of kernels for Numba's cache."""

    def reduce(self, compiled: Any) -> Any:
        """Return the parts to store."""
        return _PortableKernel(*compiled).reduced()

    def rebuild(self, context: Any, reduced: Any) -> Any:
        """Make a kernel of stored parts."""
        return _PortableKernel.rebuilt(context, reduced)


def packed(compiled: Any, machine_code: bytes) -> bytes:
    """Return a kernel as bytes, with the given machine code."""
    return bytes(dumps(_PortableKernel(*compiled).reduced(machine_code)))


def unpacked(context: Any, content: bytes) -> Any:
    """Load a kernel from bytes."""
    return _PortableKernel.rebuilt(context, pickle.loads(content))


class _PortableKernel(CompileResult):  # type: ignore[misc]
    """A compiled kernel that can be moved between processes."""

    __slots__ = ()

    def reduced(self, machine_code: bytes | None = None) -> Any:
        """The parts that a process needs: of LLVM's code only defined names, of types no text."""
        code, described, environment, signature, mode, lifted, _, *rest = self._reduce()
        name, kind, (own, _) = code
        names = (described.llvm_func_name, described.llvm_cpython_wrapper_name)
        empty = "".join(f'define void @"{each}"() {{ ret void }}\n' for each in names)
        code = (name, kind, (machine_code or own, parse_assembly(empty).as_bitcode()))
        return code, described, environment, signature, mode, lifted, "", *rest

    @classmethod
    def rebuilt(cls, context: Any, reduced: Any) -> Any:
        """Load a kernel. LLVM only knows its names, so nothing can be linked with it."""
        return cls._rebuild(context, *reduced)
