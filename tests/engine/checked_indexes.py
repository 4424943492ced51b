"""A plugin for runs without compilation: kernels that refuse a negative index into an array.

Compiled ones take it without a check, and read memory before the array; arrays of NumPy by
themselves count it from the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from sase.engine.kernels.jit import compiler


class Checked(np.ndarray[Any, Any]):
    """An array with indexes that count from the beginning."""

    def __getitem__(self, key: Any) -> Any:
        _check(key)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _check(key)
        super().__setitem__(key, value)


def _check(key: Any) -> None:
    for each in key if isinstance(key, tuple) else (key,):
        if isinstance(each, int | np.integer) and each < 0:
            raise IndexError(f"index {each} is negative")


def checked(value: Any) -> Any:
    """The arguments of a kernel, with checked arrays."""
    if type(value) is np.ndarray:
        return value.view(Checked)
    if isinstance(value, tuple):
        members = map(checked, value)
        return type(value)(*members) if hasattr(value, "_fields") else tuple(members)
    return value


def kernel(function: Callable[..., Any], *, absent: Sequence[str] = ()) -> Callable[..., Any]:
    """A kernel that is not compiled."""

    @wraps(function)
    def called(*arguments: Any) -> Any:
        return function(*map(checked, arguments))

    return called


assert compiler.numba.config.DISABLE_JIT, "compiled kernels are checked by NUMBA_BOUNDSCHECK"
compiler.kernel = kernel
