"""Find the references to events in a condition, and substitute them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from sase.binding.bound import (
    Aggregate,
    All,
    Any,
    Between,
    Comparison,
    Condition,
    ConditionValue,
    Expression,
    Like,
    Membership,
    NullTest,
    Operation,
    Part,
    Reference,
)


def references(node: Condition | Expression) -> Iterator[Reference | Aggregate]:
    """All references to events in a condition or expression, from left to right."""
    match node:
        case Reference():
            yield node
        case Aggregate(others=others):
            yield node
            yield from others
        case Operation(operands=operands) | All(operands=operands) | Any(operands=operands):
            for operand in operands:
                yield from references(operand)
        case ConditionValue(condition=condition):
            yield from references(condition)
        case Comparison(left=left, right=right):
            yield from references(left)
            yield from references(right)
        case Between(operand=operand, low=low, high=high):
            for value in (operand, low, high):
                yield from references(value)
        case Membership(operand=operand) | Like(operand=operand) | NullTest(operand=operand):
            yield from references(operand)


def values_read(node: Condition | Expression) -> Iterator[Reference | Aggregate]:
    """The values read from events; an aggregate over several attributes counts once."""
    return (r for r in references(node) if isinstance(r, Reference) or r.place == 0)


def ranged_over(found: Iterable[Reference | Aggregate]) -> dict[int, bool]:
    """The components that references range over, and whether the first event is exempt."""
    parts: dict[int, list[Part]] = {}
    for each in found:
        parts.setdefault(each.component, []).append(each.part)
    return {
        component: any(part.is_earlier for part in of)
        for component, of in parts.items()
        if any(part.rank == Part.CURRENT.rank for part in of)
    }


def conjoined(condition: Condition | None) -> tuple[Condition, ...]:
    """The operands of a conjunction; the condition itself if it is none; empty for None."""
    if condition is None:
        return ()
    return condition.operands if isinstance(condition, All) else (condition,)


def with_references(condition: Condition, change: Callable[[Reference], Reference]) -> Condition:
    """A condition with its references to single events replaced."""
    return with_values(
        condition, lambda each: change(each) if isinstance(each, Reference) else each
    )


def with_values(
    condition: Condition, change: Callable[[Reference | Aggregate], Expression]
) -> Condition:
    """A condition with its references and aggregates replaced."""

    def new(value: Expression) -> Expression:
        match value:
            case Reference() | Aggregate():
                return change(value)
            case Operation(operands=operands):
                return replace(value, operands=tuple(map(new, operands)))
            case ConditionValue(condition=inner):
                return replace(value, condition=with_values(inner, change))
        return value

    match condition:
        case All(operands=operands) | Any(operands=operands):
            parts = tuple(with_values(each, change) for each in operands)
            return replace(condition, operands=parts)
        case Comparison(left=left, right=right):
            return replace(condition, left=new(left), right=new(right))
        case Between(operand=operand, low=low, high=high):
            return replace(condition, operand=new(operand), low=new(low), high=new(high))
        case Membership(operand=operand) | Like(operand=operand) | NullTest(operand=operand):
            return replace(condition, operand=new(operand))
    return condition
