"""The decorators of kernels and their parts, and what is said and counted of compiling."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from typing import Any, Generic, TypeVar, get_type_hints

import numba
import numpy as np
from numba import types
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from sase.cached_property import cached_property
from sase.engine.kernels.jit import machine_code
from sase.engine.kernels.jit.kernel_cache import KernelCode, kernel_folder
from sase.engine.kernels.jit.linking import (
    SHARED_WORDS,
    KernelCompiler,
    PartCompiler,
    address_in,
    call_by_address,
    load_at,
)
from sase.engine.kernels.jit.machine_code import PACKAGE
from sase.engine.kernels.jit.messages import say
from sase.engine.kernels.jit.signatures import numba_type, signature, signature_for
from sase.heed import heed

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

COMPILING = (
    "while kernels are compiled, once per installation: those that are ready are kept, so that the"
    " next try comes further; or give it more time"
)
if hasattr(os, "register_at_fork"):  # not on Windows
    # A fork waits until no other thread compiles or loads kernels: of half of one nothing goes on.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
Function = TypeVar("Function", bound=Callable[..., Any])
Shared = TypeVar("Shared")


# ---------------------------------------------------------------- the decorators


def kernel(function: Function, *, absent: Sequence[str] = ()) -> Function:
    """Compile on the first call, or load what an earlier process compiled.

    The signature is that of the annotations if they all are exact; otherwise the rest is taken from
    the arguments. Of parameters that may be None several kernels can be made: where one is `absent`
    its branches are not in the machine code, in the others they always are.
    """
    if numba.config.DISABLE_JIT:
        return np.errstate(over="ignore")(function)  # integers wrap around, as compiled ones do
    _announce_compilation()
    return KernelDispatcher(function, absent)


def linked(function: Function) -> Function:
    """Make a function part of kernels: compiled and cached with those that call it."""
    if numba.config.DISABLE_JIT:
        return function
    return _LinkedDispatcher(function)


def inlined(function: Function) -> Function:
    """Make a function part of kernels, inlined into its callers."""
    if numba.config.DISABLE_JIT:
        return function
    return _LinkedDispatcher(function, forceinline=True)


def uncached(function: Callable[..., Any]) -> Any:
    """Make a function one that kernels can call by its address, compiled in each process."""
    return _UncachedDispatcher(function)


def by_address(function: Callable[..., Any], *, absent: Sequence[str] = ()) -> Callable[..., Any]:
    """Return what calls a kernel that is compiled apart by the address before its arguments."""
    if numba.config.DISABLE_JIT:
        return lambda address, *arguments: function(*arguments)
    arguments, result = signature(function, absent), get_type_hints(function)["return"]
    assert arguments is not None, "a kernel called by address has exact annotations"
    return call_by_address(arguments, numba_type(result))


def address_of(function: Any) -> int:
    """Return the address of a kernel, for those that call it by that."""
    return 0 if numba.config.DISABLE_JIT else function.address


def tuple_at(kind: Callable[..., Shared]) -> Callable[[int], Shared]:
    """Return what loads, in a kernel, a tuple of a kind from the address of a `SharedTuple`."""
    if numba.config.DISABLE_JIT:
        return lambda address: address  # type: ignore[return-value]
    return load_at(numba_type(kind))


class SharedTuple(Generic[Shared]):
    """Memory for a tuple that kernels take by its address; `store` is a kernel that writes it."""

    def __init__(self, store: Callable[[int, Shared], None]) -> None:
        self._words, self._store = np.zeros(SHARED_WORDS, np.int64), store
        self._address = self._words.ctypes.data

    def of(self, value: Shared) -> int:
        """Store a tuple and return its address; its arrays live as long as this does."""
        self._held = value
        if numba.config.DISABLE_JIT:
            return value  # type: ignore[return-value]
        self._store(self._address, value)
        return self._address


# ---------------------------------------------------------------- dispatchers


class _Dispatcher(CPUDispatcher):  # type: ignore[misc]
    """A compiled function that releases the GIL and allocates nothing."""

    def __init__(self, function: Callable[..., Any], pipeline: type, **options: Any) -> None:
        options |= {
            "nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": None,
            "_nrt": False, "no_cfunc_wrapper": True,
        }  # fmt: skip
        super().__init__(py_func=function, targetoptions=options, pipeline_class=pipeline)

    def compile_apart(self, arguments: Any) -> Any:
        """Compile for some types, call it by none, and return what Numba knows of it."""
        return self._compiler.compile(arguments, None)


class _LinkedDispatcher(_Dispatcher):
    """A part of kernels, compiled for integers and not anew for every literal."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, PartCompiler, no_cpython_wrapper=True, **options)

    def get_call_template(self, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        """Compile for these arguments."""
        return super().get_call_template(tuple(map(types.unliteral, arguments)), named)


class _UncachedDispatcher(_Dispatcher):
    """What calls functions of users, which are compiled for its annotations when they are used."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, KernelCompiler)

    @cached_property
    def address(self) -> int:
        """Where the machine code begins."""
        self.compile(signature(self.py_func))
        (found,) = self.overloads.values()
        return address_in(found)


class KernelDispatcher(_Dispatcher):
    """A kernel, which is compiled once for its annotations, on the first call in any process."""

    def __init__(self, function: Callable[..., Any], absent: Sequence[str]) -> None:
        super().__init__(function, KernelCompiler)
        self.absent, self._was_cached = absent, False
        self._cache = KernelCode(function)

    def prepare(self) -> None:
        """Compile, or load, unless that was done."""
        if not self.overloads:
            self._compile_for_args()

    def compiled_for(self, arguments: Any, compiler: type) -> Any:
        """Compile for some types by another compiler, and return what Numba knows of that."""
        kernel = _Dispatcher(self.py_func, compiler)
        with global_compiler_lock, _without_garbage_collection():
            return kernel.compile_apart(arguments)

    def get_call_template(self, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        """Refuse to be a part: of what is loaded there is machine code, and nothing to link."""
        raise TypeError(f"{self.py_func.__qualname__} is a kernel: others call it by its address")

    @cached_property
    def address(self) -> int:
        """Where the machine code begins; it takes a tenth of a millisecond to find out."""
        self.prepare()
        (compiled,) = self.overloads.values()
        return address_in(compiled)

    @property
    def is_cached(self) -> bool:
        """Whether there is, or was, machine code of it in this installation, or can be none."""
        if not self._was_cached:
            types_of = signature(self.py_func, self.absent)
            self._was_cached = bool(self.overloads) or self._cache.is_filled(types_of)
        return self._was_cached

    def _compile_for_args(self, *values: Any) -> Any:
        with global_compiler_lock:
            exact = signature(self.py_func, self.absent)
            arguments = exact or signature_for(self.py_func, values)
            if arguments not in self.overloads:
                with ExitStack() as held:
                    if not self._cache.is_shipped(arguments):
                        held.enter_context(self._only_here())
                    held.enter_context(_without_garbage_collection())
                    held.enter_context(passing_interrupts())
                    self.compile(arguments)
            if exact:
                # From now on arguments are converted, as writable arrays to read-only, or refused.
                self.disable_compile()
        # Numba takes no writable array for a read-only one where it may compile anew.
        return self if exact else self.overloads[arguments].entry_point

    @contextmanager
    def _only_here(self) -> Iterator[None]:
        """Let one process compile: those that wait load what it cached.

        A Spark job's tasks and a suite's workers ask for the same kernels at the same time. The
        lock ends with its process; where there are no locks, each compiles for itself.
        """
        folder = kernel_folder()
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}.lock"
        with ExitStack() as held:
            if fcntl is not None and folder is not None:
                # A full disk, a folder that is gone meanwhile, or a file system without locks.
                with suppress(OSError):
                    file = held.enter_context((folder / name).open("w"))
                    fcntl.flock(file, fcntl.LOCK_EX)
            yield


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Turn garbage collection off while compiling, which takes a twelfth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def passing_interrupts() -> Iterator[None]:
    """Pass on an interrupt that came in a callback of LLVM, which ignores all exceptions.

    What fails for want of what the callback did not do is not what went wrong.
    """
    interrupts = list[BaseException]()

    def kept(ignored: sys.UnraisableHookArgs) -> None:
        if ignored.exc_value is None or isinstance(ignored.exc_value, Exception):
            before(ignored)
        else:
            interrupts.append(ignored.exc_value)

    with global_compiler_lock:
        before, sys.unraisablehook = sys.unraisablehook, kept
        try:
            yield
        except Exception:
            if interrupts:
                raise interrupts[0] from None
            raise
        finally:
            sys.unraisablehook = before
    if interrupts:
        raise interrupts[0]


# ---------------------------------------------------------------- messages


class _Announcement(event.Listener):  # type: ignore[misc]
    """Counts compilations and announces the first; loading from the cache makes no event."""

    said, count, counts = False, 0, True

    def on_start(self, event: Any) -> None:
        if not self.counts:
            return
        self.count += 1
        if event.data["dispatcher"].py_func.__module__.startswith(PACKAGE):
            self.say()

    def say(self) -> None:
        """Print the message, once."""
        if not self.said:
            reason = machine_code.why_not()
            unused = f"the machine code of the package is not used, as {reason}; " if reason else ""
            say(f"{unused}compiling kernels, once per installation …")
            self.said = True

    def on_end(self, event: Any) -> None:
        pass


class _Heed(event.Listener):  # type: ignore[misc]
    """Lets a run that has come to its limits end before the next step of compiling."""

    def on_start(self, event: Any) -> None:
        heed(COMPILING)

    def on_end(self, event: Any) -> None:
        pass


@cache
def _announce_compilation() -> _Announcement:
    announcement = _Announcement()
    event.register("numba:compile", announcement)
    event.register("numba:run_pass", _Heed())
    return announcement


@contextmanager
def compiling_for_users() -> Iterator[None]:
    """Count and announce no compilations, of what is compiled in each process by one thread."""
    listener = _announce_compilation()
    with global_compiler_lock:
        before, listener.counts = listener.counts, False
        try:
            yield
        finally:
            listener.counts = before


def announce_compiling() -> None:
    """Print that kernels are being compiled, by another process, unless that was printed."""
    _announce_compilation().say()


def compilations() -> int:
    """Count what this process has compiled, and not loaded."""
    return 0 if numba.config.DISABLE_JIT else _announce_compilation().count
