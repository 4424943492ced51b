"""How kernels are put together: of parts that are linked in, and of others that are called.

By itself Numba optimizes a function that only others call, and makes machine code of it, although
all of that is done again in each kernel that it becomes part of. Here parts are compiled as far as
they are linked, and no further. What is large and seldom needed is no part at all: kernels call it
by its address, which they are handed, and it is compiled by those who need it. The arrays that only
it reads are told to it in the same way, since one that is handed on costs seven words at each call.

An index counts from the beginning. Numba asks of each whether it is negative, as those that count
from the end are; without that loops take up to a quarter less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import _dynfunc, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering
from numba.core.typing.templates import Signature
from numba.extending import intrinsic


class _Linked(JITCodeLibrary):  # type: ignore[misc]
    """Code that waits to be linked into that of a kernel."""

    def _optimize_final_module(self) -> None:
        """Nothing: the kernel is optimized as a whole."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None, as of a wrapper that there is not."""
        return 0


def _from_the_beginning(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """An index into an array, in the place of what counts negative ones from the end."""
    return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)


@contextmanager
def _counted_from_the_beginning() -> Iterator[None]:
    """Have indexes taken as they are; only one thread of a process compiles at a time."""
    from numba.np import arrayobj  # which is not loaded where all kernels are kept

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
        state.library = library = _Linked(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        library.finalize()
        lowered = state.cr
        function, name = lowered.fndesc, lowered.fndesc.qualname.split(".")[-1]
        stands = _dynfunc.make_function(
            function.lookup_module(), name, "", 0, lowered.env, (library,)
        )
        state.targetctx.insert_user_function(stands, function, [library])
        # What a process must run that loads it; libraries of Numba 0.61 have nothing of the kind.
        state.reload_init.extend(getattr(library, "_reload_init", ()))
        state.cr = lowered._replace(cfunc=stands)
        return True


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's own passes, but for the last."""

    lowering: type[NativeLowering] = _KernelLowering

    def define_pipelines(self) -> list[Any]:
        """The one there is: there is no object mode to fall back to."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (self.lowering if each is NativeLowering else each, told)
            for each, told in passes.passes
        ]
        passes.finalize()
        return [passes]


class PartCompiler(KernelCompiler):
    """The same for what is linked into kernels."""

    lowering = _LinkedLowering


def called_at(arguments: tuple[Any, ...], result: Any) -> Callable[..., Any]:
    """What calls, in a kernel, the function of this signature whose address is handed in first."""

    @intrinsic  # type: ignore[untyped-decorator]
    def call(context: Any, address: Any, *given: Any) -> tuple[Signature, Callable[..., Any]]:
        return result(types.int64, types.BaseTuple.from_types(arguments)), _calling

    return call  # type: ignore[no-any-return]


def _calling(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
    """The code of such a call, which goes wrong where what it calls does, or is not there."""
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


# The words there are for a tuple that is told by its address.
ROOM = 128


@intrinsic  # type: ignore[untyped-decorator]
def put_at(context: Any, address: Any, told: Any) -> tuple[Signature, Callable[..., Any]]:
    """Put a tuple where there is room for it."""

    def putting(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
        if context.get_abi_sizeof(values[1].type) > 8 * ROOM:
            raise NotImplementedError(f"{told} needs more than {ROOM} words")
        builder.store(values[1], builder.inttoptr(values[0], values[1].type.as_pointer()))
        return context.get_dummy_value()

    return types.none(address, told), putting


def told_at(kind: Any) -> Callable[[int], Any]:
    """What finds, in a kernel, a tuple of a kind that was put at an address."""

    @intrinsic  # type: ignore[untyped-decorator]
    def find(context: Any, address: Any) -> tuple[Signature, Callable[..., Any]]:
        return kind(types.int64), finding

    def finding(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
        pointer = context.get_value_type(kind).as_pointer()
        return builder.load(builder.inttoptr(values[0], pointer))

    return find  # type: ignore[no-any-return]


def address_in(compiled: Any) -> int:
    """Where the machine code of something compiled begins, for callers in machine code."""
    found: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    assert found, f"{compiled.fndesc.qualname} has no address"
    return found
