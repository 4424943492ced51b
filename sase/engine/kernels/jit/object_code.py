"""Compiled kernels as bytes, by which another process has them without compiling.

Numba keeps the code as LLVM sees it, too, for functions that call others, and the types of all
variables as text. Kernels call each other by address, so of theirs the machine code is enough,
which is a quarter of it and faster to load.
"""
# ruff: noqa: SLF001 - Numba has no other way.

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
        return _reduced(compiled)

    def rebuild(self, context: Any, reduced: Any) -> Any:
        """Make a kernel of it."""
        return _rebuilt(context, reduced)


def packed(compiled: Any, machine_code: bytes) -> bytes:
    """Return a kernel as bytes, by other machine code of the same."""
    return bytes(dumps(_reduced(compiled, machine_code)))


def unpacked(context: Any, content: bytes) -> Any:
    """Return the kernel that bytes stand for."""
    return _rebuilt(context, pickle.loads(content))


def _reduced(compiled: Any, machine_code: bytes | None = None) -> Any:
    """What a process needs: of LLVM's code the names that are defined, of types no text."""
    code, described, environment, signature, mode, lifted, _, *rest = compiled._reduce()
    name, kind, (own, _) = code
    names = (described.llvm_func_name, described.llvm_cpython_wrapper_name)
    defined = parse_assembly("".join(f'define void @"{each}"() {{ ret void }}\n' for each in names))
    code = (name, kind, (machine_code or own, defined.as_bitcode()))
    return code, described, environment, signature, mode, lifted, "", *rest


def _rebuilt(context: Any, reduced: Any) -> Any:
    compiled = CompileResult._rebuild(context, *reduced)
    # It has names alone: without it, linking the kernel into another function is an error.
    compiled.library._shared_module = None
    return compiled
