"""Aggregates that users define, as functions that kernels call by address.

The words of an aggregate are whether it has a value, and the bits of up to four parts of its state.
The user's `step` and `value` are compiled unchanged, except that indexes are checked. They are
called by functions of a fixed form, which read attributes and words, and note exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sase.engine.kernels.expressions import operations as do
from sase.engine.kernels.expressions.operations import Value
from sase.engine.kernels.jit.compiler import linked
from sase.engine.kernels.jit.signatures import ByteRows, IntRows, OutInts
from sase.engine.kernels.jit.user_code import Form, called_by_address

# The first word: no event has come, some events have come, or a step has raised.
EMPTY, KNOWN, RAISED = range(3)
STATE = 1


def step_form(
    words: OutInts, at: int, tables: IntRows, first: int, cells: IntRows, tags: ByteRows, place: int
) -> bool:
    """Change the state by an event, with its columns in a table; return whether that raises."""
    raise NotImplementedError


def value_form(words: OutInts, at: int) -> Value:
    """Return the value of a state, or `do.LEAVES` if that raises."""
    raise NotImplementedError


step_at, value_at = called_by_address(step_form), called_by_address(value_form)


class State(NamedTuple):
    """The initial parts of a state, their kinds, and whether it is one part by itself."""

    start: tuple[Any, ...]
    kinds: Sequence[str]
    is_single: bool

    @property
    def load(self) -> Callable[..., Any]:
        """The function that reads a state from words."""
        if self.is_single:
            return _LOADS[self.kinds[0]]
        found: Callable[..., Any] = _no_state
        for place, kind in enumerate(self.kinds):
            found = _loading(found, _LOADS[kind], place)
        return found

    @property
    def store(self) -> Callable[..., Any]:
        """The function that writes a state to words."""
        if self.is_single:
            return _storing_one(_BITS[self.kinds[0]])
        found: Callable[..., Any] = _nothing
        for place, kind in enumerate(self.kinds):
            found = _storing(found, _BITS[kind], place)
        return found


def step_of(step: Callable[..., Any], state: State, values: Sequence[str]) -> Form:
    """Return the function that changes a state by a step, over attributes of some kinds."""
    load, store, gather = state.load, state.store, _no_values
    start = state.start[0] if state.is_single else state.start
    for place, kind in enumerate(values):
        gather = _gathering(gather, _READS[kind], place)

    @linked
    def next_state(
        words: Any, at: int, tables: Any, first: int, cells: Any, tags: Any, place: int
    ) -> Any:
        arguments = (load(words, at),) + gather(tables, first, cells, tags, place)
        return step(*arguments)

    def advance(
        words: OutInts, at: int, tables: IntRows, first: int, cells: IntRows, tags: ByteRows,
        place: int,
    ) -> bool:  # fmt: skip
        if words[at] == RAISED:
            return False
        if words[at] == EMPTY:
            store(words, at + STATE, start)
        words[at] = RAISED
        try:
            found = next_state(words, at + STATE, tables, first, cells, tags, place)
            store(words, at + STATE, found)
            words[at] = KNOWN
        except Exception:  # after any exception, the aggregate is NULL
            words[at] = RAISED
        return bool(words[at] == RAISED)

    return Form(advance, step_form)


def value_of(value: Callable[..., Any] | None, state: State, kind: str) -> Form:
    """Return the function that makes the value of a state."""
    load, put = state.load, _PUTS[kind]

    @linked
    def made(words: Any, at: int) -> Any:
        return put(load(words, at) if value is None else value(load(words, at)))

    def evaluate(words: OutInts, at: int) -> Value:
        found = do.LEAVES
        try:
            found = made(words, at + STATE)
        except Exception:  # after any exception, the value is NULL
            found = do.LEAVES
        return found

    return Form(evaluate, value_form)


# ---------------------------------------------------------------- words of each kind


@linked
def _load_integer(words: OutInts, at: int) -> int:
    return int(words[at])


@linked
def _load_float(words: OutInts, at: int) -> float:
    return float(np.int64(words[at]).view(np.float64))


@linked
def _load_boolean(words: OutInts, at: int) -> bool:
    return bool(words[at] != 0)


@linked
def _bits_of_whole(value: Any) -> int:
    return int(value)


@linked
def _bits_of_float(value: Any) -> int:
    return int(np.float64(value).view(np.int64))


@linked
def _put_whole(value: Any) -> Value:
    return do.INTEGER, int(value)


@linked
def _put_float(value: Any) -> Value:
    return do.real(float(value))


@linked
def _read_integer(cells: IntRows, tags: ByteRows, column: int, place: int) -> int:
    return int(cells[column, place])


@linked
def _read_float(cells: IntRows, tags: ByteRows, column: int, place: int) -> float:
    return float(do.as_float((int(tags[column, place]), int(cells[column, place]))))


@linked
def _read_boolean(cells: IntRows, tags: ByteRows, column: int, place: int) -> bool:
    return bool(cells[column, place] != 0)


_LOADS = {"integer": _load_integer, "float": _load_float, "boolean": _load_boolean}
_BITS = {"integer": _bits_of_whole, "float": _bits_of_float, "boolean": _bits_of_whole}
_PUTS = {"integer": _put_whole, "float": _put_float, "boolean": _put_whole}
_READS = {"integer": _read_integer, "float": _read_float, "boolean": _read_boolean}


# ---------------------------------------------------------------- several parts, in order


@linked
def _no_state(words: OutInts, at: int) -> tuple[()]:
    return ()


@linked
def _nothing(words: OutInts, at: int, state: Any) -> None:
    pass


@linked
def _no_values(
    tables: IntRows, first: int, cells: IntRows, tags: ByteRows, place: int
) -> tuple[()]:
    return ()


def _loading(before: Any, load: Any, number: int) -> Callable[..., Any]:
    @linked
    def loading(words: Any, at: int) -> Any:
        return before(words, at) + (load(words, at + number),)

    return loading


def _storing(before: Any, bits: Any, number: int) -> Callable[..., Any]:
    @linked
    def storing(words: Any, at: int, state: Any) -> None:
        before(words, at, state)
        words[at + number] = bits(state[number])

    return storing


def _storing_one(bits: Any) -> Callable[..., Any]:
    @linked
    def storing(words: Any, at: int, state: Any) -> None:
        words[at] = bits(state)

    return storing


def _gathering(before: Any, read: Any, number: int) -> Callable[..., Any]:
    @linked
    def gathering(tables: Any, first: int, cells: Any, tags: Any, place: int) -> Any:
        found = read(cells, tags, tables[first + number, 0], place)
        return before(tables, first, cells, tags, place) + (found,)

    return gathering
