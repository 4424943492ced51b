"""The decorators of kernels and of their parts; messages and counters of compilation."""

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

from sase.base.limits import heed
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

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

COMPILING = (
    "while kernels are compiled, once per installation: those that are ready are kept, so that the"
    " next try comes further; or give it more time"
)
if hasattr(os, "register_at_fork"):  # not on Windows
    # A fork waits until no other thread compiles or loads a kernel: the child would inherit half a
    # kernel.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
Function = TypeVar("Function", bound=Callable[..., Any])
Shared = TypeVar("Shared")


# ---------------------------------------------------------------- the decorators


def kernel(function: Function, *, absent: Sequence[str] = ()) -> Function:
    """Compile on the first call, or load the code that an earlier process compiled.

    The signature follows the annotations if all are exact; otherwise inexact types come from the
    arguments. A function with parameters that may be None can become several kernels: the machine
    code leaves out the branches of `absent` parameters, and takes all others to be present.
    """
    if numba.config.DISABLE_JIT:
        return np.errstate(over="ignore")(function)  # integers wrap around, as compiled ones do
    _announce_compilation()
    return KernelDispatcher(function, absent)


def linked(function: Function) -> Function:
    """Mark a function as a part of kernels: compiled and cached with its callers."""
    if numba.config.DISABLE_JIT:
        return function
    return _LinkedDispatcher(function)


def inlined(function: Function) -> Function:
    """Mark a function as a part of kernels that is inlined into its callers."""
    if numba.config.DISABLE_JIT:
        return function
    return _LinkedDispatcher(function, forceinline=True)


def uncached(function: Callable[..., Any]) -> Any:
    """Compile a function in each process; kernels call it by address."""
    return _UncachedDispatcher(function)


def by_address(
    function: Callable[..., Any],
    *,
    absent: Sequence[str] = (),
    interpreted: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Return a function that calls a separately compiled kernel by address, the first argument.

    Several kernels may have the signature of `function`. Without compilation there are no
    addresses, and `interpreted` is called.
    """
    if numba.config.DISABLE_JIT:
        called = interpreted or function
        return lambda address, *arguments: called(*arguments)
    arguments, result = signature(function, absent), get_type_hints(function)["return"]
    assert arguments is not None, "a kernel called by address has exact annotations"
    return call_by_address(arguments, numba_type(result))


def address_of(function: Any) -> int:
    """Return the address of a kernel; 0 without compilation."""
    return 0 if numba.config.DISABLE_JIT else function.address


def tuple_at(kind: Callable[..., Shared]) -> Callable[[int], Shared]:
    """Return a function that loads, in a kernel, a tuple from the address of a `SharedTuple`."""
    if numba.config.DISABLE_JIT:
        return lambda address: address  # type: ignore[return-value]
    return load_at(numba_type(kind))


class SharedTuple(Generic[Shared]):
    """Memory for a tuple that kernels take by address; `store` is the kernel that writes it."""

    def __init__(self, store: Callable[[int, Shared], None]) -> None:
        self._words, self._store = np.zeros(SHARED_WORDS, np.int64), store
        self._address = self._words.ctypes.data

    def of(self, value: Shared) -> int:
        """Store a tuple and return its address; this object keeps the tuple's arrays alive."""
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
        """Compile for some types without registering the result, and return it."""
        return self._compiler.compile(arguments, None)


class _LinkedDispatcher(_Dispatcher):
    """A part of kernels. It is compiled for integers, not again for every literal."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, PartCompiler, no_cpython_wrapper=True, **options)

    def get_call_template(self, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        """Compile for these arguments."""
        return super().get_call_template(tuple(map(types.unliteral, arguments)), named)


class _UncachedDispatcher(_Dispatcher):
    """A caller of user functions, compiled for its annotations in each process."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, KernelCompiler)

    @cached_property
    def address(self) -> int:
        """The address of the machine code."""
        self.compile(signature(self.py_func))
        (found,) = self.overloads.values()
        return address_in(found)


class KernelDispatcher(_Dispatcher):
    """A kernel, compiled for its annotations on the first call in any process."""

    def __init__(self, function: Callable[..., Any], absent: Sequence[str]) -> None:
        super().__init__(function, KernelCompiler)
        self.absent, self._was_cached = absent, False
        self._cache = KernelCode(function)

    def prepare(self) -> None:
        """Compile or load the kernel, if that is not done."""
        if not self.overloads:
            self._compile_for_args()

    def compiled_for(self, arguments: Any, compiler: type) -> Any:
        """Compile for some types by another compiler, and return the result."""
        kernel = _Dispatcher(self.py_func, compiler)
        with global_compiler_lock, _without_garbage_collection():
            return kernel.compile_apart(arguments)

    def get_call_template(self, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        """Refuse to be a part: a loaded kernel is machine code, and cannot be linked."""
        raise TypeError(f"{self.py_func.__qualname__} is a kernel: others call it by its address")

    @cached_property
    def address(self) -> int:
        """The address of the machine code; the first call takes a tenth of a millisecond."""
        self.prepare()
        (compiled,) = self.overloads.values()
        return address_in(compiled)

    @property
    def is_cached(self) -> bool:
        """Whether machine code exists or existed in this installation, or cannot be cached."""
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
                # From now on arguments are converted (writable arrays to read-only ones) or
                # refused.
                self.disable_compile()
        # Numba passes no writable array for a read-only one if it may compile a new version.
        return self if exact else self.overloads[arguments].entry_point

    @contextmanager
    def _only_here(self) -> Iterator[None]:
        """Let one process compile; the others wait and load the code that it cached.

        The tasks of a Spark job and the workers of a test suite need the same kernels at the same
        time. The lock ends with its process; where there are no locks, each process compiles.
        """
        folder = kernel_folder()
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}.lock"
        with ExitStack() as held:
            if fcntl is not None and folder is not None:
                # A full disk, a deleted folder, or a file system without locks.
                with suppress(OSError):
                    file = held.enter_context((folder / name).open("w"))
                    fcntl.flock(file, fcntl.LOCK_EX)
            yield


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Turn garbage collection off during compilation, which saves a twelfth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def passing_interrupts() -> Iterator[None]:
    """Raise again an interrupt that came in a callback of LLVM, which ignores all exceptions.

    It replaces any exception that follows from the unfinished callback.
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
    """Counts compilations and announces the first one. Loading from the cache makes no event."""

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
    """Ends a run that has reached its limits before the next compiler pass."""

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
    """Neither count nor announce compilations: those of user functions recur in each process."""
    listener = _announce_compilation()
    with global_compiler_lock:
        before, listener.counts = listener.counts, False
        try:
            yield
        finally:
            listener.counts = before


def announce_compiling() -> None:
    """Announce that another process compiles kernels, unless a message was printed."""
    _announce_compilation().say()


def compilations() -> int:
    """The number of functions that this process compiled instead of loading."""
    return 0 if numba.config.DISABLE_JIT else _announce_compilation().count
