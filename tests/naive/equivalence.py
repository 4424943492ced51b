"""docs/semantics.md, Equivalence tests, and the partitions that they define."""

from __future__ import annotations

from dataclasses import dataclass

from sase.lang import ast
from tests.naive.expressions import Event, Scope, Series, equal
from tests.naive.values import Value, literal


@dataclass(frozen=True)
class Test:
    """`[a]`, or with a value `[a = 'v']`."""

    __test__ = False  # not one of pytest's

    attribute: str
    fixed: ast.Expression | None


def is_declared(test: Test, event: Event) -> bool:
    """Whether the type of the event declares the attribute."""
    return event.declares(test.attribute)


def fits(test: Test, event: Event, null_is_out: bool, scope: Scope) -> bool:
    """Whether the event by itself may be in a match."""
    if not is_declared(test, event):
        return True
    if test.fixed is not None:
        return equal(event[test.attribute], literal(test.fixed, scope.parameters), scope)
    return event[test.attribute] is not None or not null_is_out


def fits_all(test: Test, event: Event, others: Series, scope: Scope) -> bool:
    """Pairwise agreement; a pair in which one type does not declare the attribute agrees."""
    return not is_declared(test, event) or all(
        not is_declared(test, other) or equal(event[test.attribute], other[test.attribute], scope)
        for other in others
    )


def differs_alone(test: Test, event: Event) -> bool:
    """docs/semantics.md, Strategies: NULL or no such attribute differs from every run."""
    return event[test.attribute] is None


def partition(tests: tuple[Test, ...], event: Event) -> tuple[Value, ...] | None:
    """The values of an event on all equivalence attributes; None if one is NULL or undeclared."""
    values = tuple(event[test.attribute] for test in tests)
    return None if None in values else values


def partition_of_match(tests: tuple[Test, ...], events: Series) -> tuple[Value, ...]:
    """The values that the events of a match agree on, whichever of them declares each."""
    return tuple(
        next((event[test.attribute] for event in events if is_declared(test, event)), None)
        for test in tests
    )
