"""What is inside a plan, and which attributes it reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from sase.binding.bound import Aggregate, EquivalenceTest, Reference


def within(value: object) -> Iterator[object]:
    """A value and all values inside it."""
    yield value
    if isinstance(value, tuple):
        for each in value:
            yield from within(each)
    elif is_dataclass(value):
        for field in fields(value):
            if field.compare:
                yield from within(getattr(value, field.name))


def attributes_read(*values: object) -> tuple[str, ...]:
    """Every attribute that a plan, or another part of it, reads."""
    names: list[str | None] = []
    for each in within(values):
        if isinstance(each, EquivalenceTest):
            names += each.attributes or (each.attribute,)
        elif isinstance(each, Reference | Aggregate):
            names.append(each.attribute)
    return tuple(dict.fromkeys(name for name in names if name is not None))
