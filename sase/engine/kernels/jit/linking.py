"""Compiler passes: parts linked into kernels, calls by address, and non-negative indexes.

By default Numba optimizes a called function, generates its machine code, and does both again in
each kernel that links it. Here parts are only lowered. A large and rarely used function is not a
part: kernels call it by an address argument, and it is compiled only if needed. Arrays that only
such a function reads are passed by address, too, since an array argument costs seven words per
call.

Numba tests each index for being negative, to count it from the end. Without that test loops take up
to a quarter less time.
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
    """Code that is only linked into kernels."""

    # Libraries of Numba 0.61 lack this attribute; those of later versions set it.
    _reload_init: Collection[Callable[[], None]] = ()

    @property
    def on_loading(self) -> Collection[Callable[[], None]]:
        """The functions that a process must run when it loads the code from a cache."""
        return self._reload_init

    def _optimize_final_module(self) -> None:
        """Do nothing: the kernel is optimized as a whole."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, since there is no wrapper."""
        return 0


class _UnoptimizedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel with all parts linked into it, to be optimized elsewhere."""

    linked: bytes

    def _optimize_final_module(self) -> None:
        self.linked = self._final_module.as_bitcode()


def _from_the_beginning(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """Cast an index; replaces Numba's function that counts negative ones from the end."""
    return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)


@contextmanager
def _counted_from_the_beginning() -> Iterator[None]:
    """Use indexes unchanged; only one thread of a process compiles at a time."""
    from numba.np import arrayobj  # which is not loaded where all kernels are cached

    usual = arrayobj.fix_integer_index
    arrayobj.fix_integer_index = _from_the_beginning
    try:
        yield
    finally:
        arrayobj.fix_integer_index = usual


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(NativeLowering):  # type: ignore[misc]
    """Lowering with non-negative indexes."""

    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        with _counted_from_the_beginning():
            return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(_KernelLowering):
    """Lowering without an address: callers find the function by a placeholder object."""

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
    """Lowering of a kernel without optimization."""

    _name = "unoptimized_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _UnoptimizedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's passes with another lowering."""

    lowering: type[NativeLowering] = _KernelLowering

    def define_pipelines(self) -> list[Any]:
        """Return one pipeline, without a fallback to object mode."""
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
    """The compiler of kernels that are optimized for other CPUs."""

    lowering = _UnoptimizedLowering


def call_by_address(arguments: tuple[Any, ...], result: Any) -> Callable[..., Any]:
    """Return a function that calls, in a kernel, another one by address, the first argument."""

    @intrinsic  # type: ignore[untyped-decorator]
    def call(context: Any, address: Any, *values: Any) -> tuple[Signature, Callable[..., Any]]:
        return result(types.int64, types.BaseTuple.from_types(arguments)), _calling

    return call  # type: ignore[no-any-return]


def _calling(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
    """Generate a call by address. It raises if the callee raises, or if the address is 0."""
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


# Words of memory for a tuple that is passed by address.
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
    """Return a function that loads, in a kernel, a tuple of a kind from an address."""

    @intrinsic  # type: ignore[untyped-decorator]
    def load(context: Any, address: Any) -> tuple[Signature, Callable[..., Any]]:
        return kind(types.int64), loading

    def loading(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
        pointer = context.get_value_type(kind).as_pointer()
        return builder.load(builder.inttoptr(values[0], pointer))

    return load  # type: ignore[no-any-return]


def address_in(compiled: Any) -> int:
    """Return the address of compiled machine code, for callers in machine code."""
    found: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    assert found, f"{compiled.fndesc.qualname} has no address"
    return found
