"""Walk through the values of a plan, and the attributes that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache

from sase.binding.bound import Aggregate, EquivalenceTest, Reference
from sase.heed import heed


def within(value: object) -> Iterator[object]:
    """Yield a value and all values inside it, each before its parts."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        yield each
        if isinstance(each, tuple):
            heed()
            waiting += reversed(each)
        else:
            kind: type = type(each)
            waiting += [getattr(each, name) for name in _members(kind)]


@cache
def _members(kind: type) -> tuple[str, ...]:
    """The compared fields of a dataclass, the last one first."""
    found = fields(kind) if is_dataclass(kind) else ()
    return tuple(field.name for field in reversed(found) if field.compare)


def attributes_read(*values: object) -> tuple[str, ...]:
    """Every attribute that a plan or a part of it reads."""
    names: list[str | None] = []
    for each in within(values):
        if isinstance(each, EquivalenceTest):
            names += each.attributes or (each.attribute,)
        elif isinstance(each, Reference | Aggregate):
            names.append(each.attribute)
    return tuple(dict.fromkeys(name for name in names if name is not None))
