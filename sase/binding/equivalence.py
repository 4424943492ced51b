"""Bind equivalence tests: `[a]`, `[a, b]`, `[a = 'v']`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sase.binding.bound import (
    BoundComponent,
    Conjunct,
    ConjunctClass,
    Constant,
    EquivalenceTest,
    NullTest,
    Part,
    Placeholder,
    Reference,
    When,
)
from sase.binding.literals import beside
from sase.binding.references import declared
from sase.binding.scope import Scope
from sase.binding.time_zones import warn_of_zones
from sase.binding.types import UNKNOWN, DataType, Kind, merged
from sase.binding.values import bind_operand, on_raw_time
from sase.lang import ast


def bind_equivalences(nodes: list[ast.Equivalence], scope: Scope) -> tuple[EquivalenceTest, ...]:
    """The tests in order, one for each attribute."""
    return tuple(_bound(test, scope) for node in nodes for test in node.tests)


def known_keys(
    tests: Sequence[EquivalenceTest], component: BoundComponent, scope: Scope
) -> Iterator[Conjunct]:
    """For a branch of one component: conjuncts that the tested attributes are not NULL.

    A single event agrees with itself, but in longer patterns an event without a key is in no match.
    """
    if component.is_series or component.negated:
        return
    for test in tests:
        found = scope.declarations(component, test.attribute).values()
        if all(data_type is None for data_type in found):
            continue
        name = ast.Name(test.attribute, span=test.span)
        data_type, undeclared_by = declared(component, name, scope)
        read = Reference(
            data_type, component.index, Part.EVENT, test.attribute, undeclared_by, span=test.span
        )
        condition = NullTest(read, True, span=test.span)
        yield Conjunct(
            condition,
            ConjunctClass.SINGLE,
            (component.index,),
            component.index,
            When.EVENT,
            span=test.span,
        )


def _bound(test: ast.EqualAttribute, scope: Scope) -> EquivalenceTest:
    types: list[DataType] = []
    declared: list[bool | None] = []
    for component in scope.components:
        found = scope.declarations(component, test.attribute.text).values()
        types += [data_type for data_type in found if data_type is not None]
        is_known = UNKNOWN not in found and not (
            component.types is None and scope.schema.admits_unknown_types(test.attribute.text)
        )
        declared.append(None not in found if is_known else None)
    if not types and scope.whole is not None:
        return replace(_bound(test, scope.whole), declared=tuple(declared))
    if not types:
        _refuse_undeclared(test, scope)
    data_type = _common(test, types, scope)
    value = bind_operand(test.value, scope) if test.value is not None else None
    if value is not None:
        value = beside(value, data_type)
        value = on_raw_time(Placeholder(data_type, test.attribute.text), value, scope)[1]
    if value is not None and not value.type.compares_with(data_type):
        scope.problems.error(
            "incompatible-types",
            f"`{test.attribute.text}` is {data_type.described()},"
            f" and this is {value.type.described()}",
            value.span,
            "fix it to a value of its own kind",
        )
    if isinstance(value, Constant):
        warn_of_zones((Placeholder(data_type, test.attribute.text), value), scope)
    constant = value if isinstance(value, Constant | Placeholder) else None
    return EquivalenceTest(
        test.attribute.text, constant, data_type, tuple(declared), span=test.span
    )


def _refuse_undeclared(test: ast.EqualAttribute, scope: Scope) -> None:
    names = list(dict.fromkeys(n for c in scope.components for n in scope.attribute_names(c)))
    scope.problems.error(
        "unknown-attribute",
        f"no component of the pattern has an attribute `{test.attribute.text}`",
        test.attribute.span,
        *scope.attribute_hints(test.attribute.text, names),
    )


def _common(test: ast.EqualAttribute, types: list[DataType], scope: Scope) -> DataType:
    first = merged(types[:1])
    kinds = list(dict.fromkeys(str(data_type) for data_type in types))
    unusable = [data_type for data_type in types if data_type.kind is Kind.OTHER]
    if unusable or not all(first.compares_with(data_type) for data_type in types):
        scope.problems.error(
            "incompatible-types",
            f"the values of `{test.attribute.text}` cannot all be compared:"
            f" the types have it as {' and as '.join(kinds)}",
            test.attribute.span,
            "compare what is comparable, attribute by attribute:  x.a = y.b",
        )
        return UNKNOWN
    return merged(types)
