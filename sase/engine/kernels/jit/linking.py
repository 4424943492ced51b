"""Compiler passes: parts linked into kernels, calls by address, and indexes from the beginning.

By itself Numba optimizes a function that only others call and generates machine code of it, and
does both again in each kernel that it is linked into. Here parts are lowered and no further. What
is large and rarely needed is no part: kernels call it by an address that they take as an argument,
and it is compiled by those who need it. Arrays that only it reads come by address too, since each
array argument costs seven words at every call.

Numba checks each index for being negative, as those that count from the end are; without the check
loops take up to a quarter less.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from numba import _dynfunc, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering
from numba.core.typing.templates import Signature
from numba.extending import intrinsic


class _LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is only linked into that of kernels."""

    # Libraries of Numba 0.61 have nothing of the kind, others one each.
    _reload_init: Collection[Callable[[], None]] = ()

    @property
    def on_loading(self) -> Collection[Callable[[], None]]:
        """What a process must run that loads the code from a cache."""
        return self._reload_init

    def _optimize_final_module(self) -> None:
        """Do nothing: the kernel is optimized as a whole."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return none, as of a wrapper that there is not."""
        return 0


class _UnoptimizedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel with all parts linked into it, which is to be optimized elsewhere."""

    linked: bytes

    def _optimize_final_module(self) -> None:
        """Keep the code as it is."""
        self.linked = self._final_module.as_bitcode()


def _from_the_beginning(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """Cast an index, in the place of what counts negative ones from the end."""
    return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)


@contextmanager
def _counted_from_the_beginning() -> Iterator[None]:
    """Take indexes as they are; only one thread of a process compiles at a time."""
    from numba.np import arrayobj  # which is not loaded where all kernels are cached

    usual = arrayobj.fix_integer_index
    arrayobj.fix_integer_index = _from_the_beginning
    try:
        yield
    finally:
        arrayobj.fix_integer_index = usual


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(NativeLowering):  # type: ignore[misc]
    """Lowering with indexes that count from the beginning."""

    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        with _counted_from_the_beginning():
            return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(_KernelLowering):
    """Lowering without an address: callers find the function by an object that stands for it."""

    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = library = _LinkedLibrary(
            state.targetctx.codegen(), state.func_id.func_qualname
        )
        state.flags.no_compile = True
        super().run_pass(state)
        library.finalize()
        lowered = state.cr
        function, name = lowered.fndesc, lowered.fndesc.qualname.split(".")[-1]
        stands = _dynfunc.make_function(
            function.lookup_module(), name, "", 0, lowered.env, (library,)
        )
        state.targetctx.insert_user_function(stands, function, [library])
        state.reload_init.extend(library.on_loading)
        state.cr = lowered._replace(cfunc=stands)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _UnoptimizedLowering(_KernelLowering):
    """Lowering of a kernel that is not optimized here."""

    _name = "unoptimized_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _UnoptimizedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's passes with another lowering."""

    lowering: type[NativeLowering] = _KernelLowering

    def define_pipelines(self) -> list[Any]:
        """Return one pipeline: there is no object mode to fall back to."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (self.lowering if each is NativeLowering else each, message)
            for each, message in passes.passes
        ]
        passes.finalize()
        return [passes]


class PartCompiler(KernelCompiler):
    """The compiler of parts."""

    lowering = _LinkedLowering


class UnoptimizedCompiler(KernelCompiler):
    """The compiler of kernels whose code is optimized for other CPUs than this one."""

    lowering = _UnoptimizedLowering


def call_by_address(arguments: tuple[Any, ...], result: Any) -> Callable[..., Any]:
    """Return what calls, in a kernel, a function by the address before its arguments."""

    @intrinsic  # type: ignore[untyped-decorator]
    def call(context: Any, address: Any, *values: Any) -> tuple[Signature, Callable[..., Any]]:
        return result(types.int64, types.BaseTuple.from_types(arguments)), _calling

    return call  # type: ignore[no-any-return]


def _calling(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
    """Generate such a call, which raises where the callee does, or where there is none."""
    address, packed = values
    kinds, convention = tuple(wanted.args[1]), context.call_conv
    arguments = [builder.extract_value(packed, place) for place in range(len(kinds))]
    with builder.if_then(builder.icmp_signed("==", address, address.type(0)), likely=False):
        convention.return_user_exc(builder, RuntimeError, ("an operation was not linked",))
    function = convention.get_function_type(wanted.return_type, kinds)
    callee = builder.inttoptr(address, function.as_pointer())
    status, found = convention.call_function(builder, callee, wanted.return_type, kinds, arguments)
    with builder.if_then(status.is_error, likely=False):
        convention.return_status_propagate(builder, status)
    return found


# The words of memory for a tuple that is passed by address.
SHARED_WORDS = 128


@intrinsic  # type: ignore[untyped-decorator]
def store_at(context: Any, address: Any, shared: Any) -> tuple[Signature, Callable[..., Any]]:
    """Store a tuple at an address."""

    def storing(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
        if context.get_abi_sizeof(values[1].type) > 8 * SHARED_WORDS:
            raise NotImplementedError(f"{shared} needs more than {SHARED_WORDS} words")
        builder.store(values[1], builder.inttoptr(values[0], values[1].type.as_pointer()))
        return context.get_dummy_value()

    return types.none(address, shared), storing


def load_at(kind: Any) -> Callable[[int], Any]:
    """Return what loads, in a kernel, a tuple of a kind from an address."""

    @intrinsic  # type: ignore[untyped-decorator]
    def load(context: Any, address: Any) -> tuple[Signature, Callable[..., Any]]:
        return kind(types.int64), loading

    def loading(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
        pointer = context.get_value_type(kind).as_pointer()
        return builder.load(builder.inttoptr(values[0], pointer))

    return load  # type: ignore[no-any-return]


def address_in(compiled: Any) -> int:
    """Return where the machine code of something compiled begins, for callers in machine code."""
    found: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    assert found, f"{compiled.fndesc.qualname} has no address"
    return found
