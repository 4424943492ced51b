"""Walk through the values of a plan, and the attributes that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, TypeAlias

from sase.binding.bound import Aggregate, Constant, EquivalenceTest, Reference
from sase.heed import heed

_Values: TypeAlias = Callable[[Any], Iterable[object]]
_Names: TypeAlias = Callable[[Any], Iterable[str | None]]


def within(value: object) -> Iterator[object]:
    """Yield a value and all values inside it, each before its parts; constants have none."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        yield each
        kind: type = type(each)
        parts = _parts_of(kind)
        if parts is not None:
            waiting += parts(each)


@cache
def _parts_of(kind: type) -> _Values | None:
    """What gives the parts of values of a type, the last one first; None if they have none."""
    if issubclass(kind, tuple):
        return _reversed
    if issubclass(kind, Constant):  # of which there may be very many
        return None
    found = fields(kind) if is_dataclass(kind) else ()
    names = [field.name for field in reversed(found) if field.compare]
    if not names:
        return None
    values = attrgetter(*names)
    return values if len(names) > 1 else lambda each: (values(each),)


def _reversed(values: tuple[object, ...]) -> Iterable[object]:
    heed()
    return reversed(values)


def attributes_read(*values: object) -> tuple[str, ...]:
    """Every attribute that a plan or a part of it reads."""
    names: list[str | None] = []
    waiting: list[Any] = [values]
    while waiting:  # as `within` does, of which most values are asked for nothing
        each = waiting.pop()
        kind: type = type(each)
        named, parts = _read_of(kind)
        if named is not None:
            names += named(each)
        if parts is not None:
            waiting += parts(each)
    return tuple(dict.fromkeys(name for name in names if name is not None))


@cache
def _read_of(kind: type) -> tuple[_Names | None, _Values | None]:
    """What gives the attributes that values of a type read, if they do, and what their parts."""
    named: _Names | None = None
    if issubclass(kind, EquivalenceTest):
        named = _tested
    elif issubclass(kind, Reference | Aggregate):
        named = _attribute
    return named, _parts_of(kind)


def _tested(test: EquivalenceTest) -> tuple[str | None, ...]:
    return test.attributes or (test.attribute,)


def _attribute(value: Reference | Aggregate) -> tuple[str | None]:
    return (value.attribute,)
