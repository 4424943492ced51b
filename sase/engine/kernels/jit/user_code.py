"""User functions: compiled in each process, and called by kernels by address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numba
from numba import types

from sase.cached_property import cached_property
from sase.engine.kernels.jit.compiler import by_address, uncached

_TYPES = {"integer": types.int64, "float": types.float64, "boolean": types.boolean}
# Functions by address minus one, where nothing is compiled; no address is 0.
_CALLED: list[Callable[..., Any]] = []


class UserCodeError(Exception):
    """A user function cannot be compiled, or returns a wrong type."""


class Form(NamedTuple):
    """A wrapper of a user function, and an example with the same annotations."""

    function: Callable[..., Any]
    form: Callable[..., Any]

    @property
    def address(self) -> Address:
        """The address of the compiled wrapper."""
        return Address(self.function)


class Address:
    """The address of a function, valid as long as this object lives."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @cached_property
    def value(self) -> int:
        """The address."""
        if numba.config.DISABLE_JIT:
            _CALLED.append(self._function)
            return len(_CALLED)
        self._compiled = uncached(self._function)
        return int(self._compiled.address)


def called_by_address(form: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls functions of a form by address, the first argument."""
    if numba.config.DISABLE_JIT:
        return lambda address, *arguments: _CALLED[address - 1](*arguments)
    return by_address(form)


def compiled(
    function: Callable[..., Any],
    arguments: Sequence[str | Sequence[str]],
    result: str | Sequence[str],
) -> Callable[..., Any]:
    """Compile a user function for arguments of some kinds, and check its result type.

    Division by zero and indexes out of range raise, as in Python.
    """
    if numba.config.DISABLE_JIT:
        return function
    plain = getattr(function, "py_func", function)
    signature = tuple(map(_type_of, arguments))
    try:
        made = numba.njit(error_model="python", boundscheck=True, nogil=True)(plain)
        made.compile(signature)
    except Exception as problem:  # Numba's errors have no common class
        raise UserCodeError(f"cannot be compiled: {_reason(problem)}") from problem
    (overload,) = made.overloads.values()
    found = types.unliteral(overload.signature.return_type)
    if not _fits(found, _type_of(result)):
        raise UserCodeError(
            f"gives {_described(found)}, and must give {_described(_type_of(result))}"
        )
    return made  # type: ignore[no-any-return]


def _type_of(kind: str | Sequence[str]) -> Any:
    if isinstance(kind, str):
        return _TYPES[kind]
    return types.BaseTuple.from_types([_TYPES[each] for each in kind])


def _fits(found: Any, wanted: Any) -> bool:
    """Whether a value of one type can be stored as another; integers can be stored as floats."""
    if isinstance(wanted, types.BaseTuple):
        if not isinstance(found, types.BaseTuple) or len(found) != len(wanted):
            return False
        return all(map(_fits, map(types.unliteral, found), wanted))
    if wanted == types.boolean:
        return bool(found == types.boolean)
    if wanted == types.int64:
        return isinstance(found, types.Integer)
    return isinstance(found, types.Integer | types.Float)


def _described(found: Any) -> str:
    match found:
        case types.BaseTuple():
            return f"({', '.join(_described(types.unliteral(each)) for each in found)})"
        case types.Boolean():
            return "a boolean"
        case types.Integer():
            return "an integer"
        case types.Float():
            return "a float"
        case types.NoneType():
            return "nothing"
        case types.Optional(type=inner):
            return f"{_described(inner)} or nothing"
        case types.UnicodeType():
            return "a text"
    return f"a value of type {found}"


def _reason(problem: Exception) -> str:
    """The first line of Numba's message that states the cause."""
    lines = [line.strip() for line in str(problem).splitlines()]
    said = [line for line in lines if line and not line.startswith(("Failed in nopython", "File "))]
    return said[0] if said else type(problem).__name__
