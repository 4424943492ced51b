"""Resolve references to events (`x.a`, `a[i].p`, `a.len`), and check where each form is valid."""

from __future__ import annotations

from collections.abc import Iterator

from sase.base.texts import did_you_mean, nearest
from sase.binding.bound import (
    Aggregate,
    BoundComponent,
    Constant,
    Expression,
    Part,
    Placeholder,
    Reference,
)
from sase.binding.names.scope import Clause, Scope, unknown
from sase.binding.types import INTEGER, UNKNOWN, DataType, Kind, merged
from sase.lang import ast
from sase.lang.ast import IndexKind
from sase.lang.printer import spelled_field
from sase.source import Span

# ---------------------------------------------------------------- references

PARTS = {
    IndexKind.FIRST: Part.FIRST,
    IndexKind.CURRENT: Part.CURRENT,
    IndexKind.PREVIOUS: Part.PREVIOUS,
    IndexKind.LAST: Part.LAST,
}
RANGES = {
    IndexKind.ALL: Part.ALL,
    IndexKind.BEFORE_CURRENT: Part.BEFORE_CURRENT,
    IndexKind.UP_TO_CURRENT: Part.UP_TO_CURRENT,
}
# Indexes that have a meaning only while a series is built.
WHILE_TAKING = frozenset(
    (IndexKind.CURRENT, IndexKind.PREVIOUS, IndexKind.BEFORE_CURRENT, IndexKind.UP_TO_CURRENT)
)


def bind_attribute(node: ast.Attribute, scope: Scope) -> Expression:
    """`x.a`, an unqualified `a`, or the length `a.len` of a series."""
    if node.variable is not None and node.variable.text in scope.choices:
        return _of_choice(node, node.variable.text, scope)
    if node.variable is None:
        component = _only_component(node, scope)
    else:
        component = find_component(node.variable, scope)
    if component is None:
        return unknown(node)
    is_length = node.name.text.lower() == "len" and node.variable is not None
    if is_length and (component.is_series or component.is_optional):
        return Aggregate(INTEGER, "count", component.index, Part.ALL, span=node.span)
    if component.is_series:
        _refuse_series_without_index(node, component, scope)
        return unknown(node)
    part = Part.CURRENT if component.is_optional else Part.EVENT
    return _reference(component, part, node.name, node.span, scope)


def _of_choice(node: ast.Attribute, variable: str, scope: Scope) -> Expression:
    """`g.len` of a group with `?`: 1 if it is present, else 0."""
    if node.name.text.lower() != "len":
        return scope.refuse(
            "choice-without-events",
            f"`{variable}` says whether its group is present, and is no event",
            node.span,
            f"write  {variable}.len , which is 1 or 0, or name a component inside of the group",
        )
    there = scope.choices[variable]
    if there is None:
        return Placeholder(INTEGER, f"{variable}.len", span=node.span)
    return Constant(INTEGER, there, span=node.span)


def bind_indexed(node: ast.Indexed, scope: Scope) -> Expression:
    """`a[1].p`, `a[i].p`, `a[i-1].p`, `a[a.len].p`; a range is valid only in an aggregate."""
    component = find_series(node, scope)
    if component is None:
        return unknown(node)
    kind, variable = node.index.kind, node.variable.text
    if kind in RANGES:
        attribute = node.attribute.text if node.attribute else "p"
        range_text = f"{variable}[{kind.value}]"
        return scope.refuse(
            "range-without-aggregate",
            f"`{range_text}` is several events, and a single value is needed here",
            node.span,
            f"put it into an aggregate, such as  avg({range_text}.{attribute}) ,"
            f" or name one event:  {_single_forms(variable, attribute, scope)}",
        )
    if node.others:
        names = ", ".join(name.text for name in node.attributes)
        return scope.refuse(
            "wrong-arguments",
            f"`({names})` are {len(node.attributes)} attributes, and a single value is needed here",
            node.span,
            f"name one of them:  {variable}[{kind.value}].{node.attributes[0].text}",
        )
    if node.attribute is None:
        example = some_attribute(component, scope)
        return scope.refuse(
            "event-as-value",
            f"`{variable}[{kind.value}]` is an event, and a value is needed here",
            node.span,
            f"name an attribute of it:  {variable}[{kind.value}].{example}",
        )
    return _reference(component, PARTS[kind], node.attribute, node.span, scope)


def find_series(node: ast.Indexed, scope: Scope) -> BoundComponent | None:
    """The component of an indexed reference, if the index is valid here."""
    component = find_component(node.variable, scope)
    if component is None:
        return None
    variable, kind = node.variable.text, node.index.kind
    attribute = node.attribute.text if node.attribute else some_attribute(component, scope)
    if component.is_single:
        scope.problems.error(
            "index-on-single",
            f"`{variable}` is a single event and takes no index",
            Span(node.variable.span.end, max(node.index.span.end + 1, node.variable.span.end + 2))
            if node.index.kind is not IndexKind.ALL
            else node.span,
            f"write  {variable}.{spelled_field(attribute)} , or make it a series with a + behind"
            " its type",
        )
        return None
    if kind is IndexKind.OTHER:
        scope.problems.error(
            "unknown-index",
            f"a series has no index `{node.index.text}`",
            node.index.span,
            f"the forms are  {forms(variable, attribute, scope)}",
            *_as_item(node, attribute),
        )
        return None
    if kind in WHILE_TAKING and scope.clause is not Clause.WHERE:
        scope.problems.error(
            "index-after-match",
            f"{scope.clause.value} sees finished matches, in which no event is being added:"
            f" `[{kind.value}]` has no meaning there",
            node.span,
            f"use  {forms(variable, attribute, scope)}",
        )
        return None
    return component


def _as_item(node: ast.Indexed, attribute: str) -> Iterator[str]:
    number = node.index.text
    if number.isdecimal() and int(number) > 0:
        yield f"in RETURN `{node.variable.text}[{number}].{attribute}` is an item by itself"


def forms(variable: str, attribute: str, scope: Scope) -> str:
    """The valid references to a series, as a hint."""
    average = f"avg({variable}[].{spelled_field(attribute)})"
    return f"{_single_forms(variable, attribute, scope)} , {average}"


def _single_forms(variable: str, attribute: str, scope: Scope) -> str:
    indexes = ["1", "i", "i-1", f"{variable}.len"]
    if scope.clause is not Clause.WHERE:
        indexes[1:3] = []
    return " , ".join(f"{variable}[{index}].{spelled_field(attribute)}" for index in indexes)


def find_component(variable: ast.Name, scope: Scope) -> BoundComponent | None:
    """The component of a variable; without one an error that suggests the nearest name."""
    component = scope.component(variable.text)
    if component is None and variable.text in scope.choices:
        scope.problems.error(
            "choice-without-events",
            f"`{variable.text}` says whether its group is present, and is no event",
            variable.span,
            f"write  {variable.text}.len , which is 1 or 0",
        )
        return None
    if component is None:
        hints = did_you_mean(variable.text, scope.names)
        of_type = [c for c in scope.components if c.types == (variable.text,)]
        if of_type and not of_type[0].named:
            hints = (f"give the component a variable:  {variable.text} x , then write  x.…",)
        elif of_type:
            hints = (f"`{variable.text}` is a type; its variable is `{of_type[0].variable}`",)
        elif not hints and scope.variables:
            hints = (f"the variables are {', '.join(scope.names)}",)
        scope.problems.error(
            "unknown-variable",
            f"no component of the pattern is called `{variable.text}`",
            variable.span,
            *hints,
        )
        return None
    if component.is_absent and scope.clause is not Clause.WHERE:
        where = (
            "is in a negative group" if component.inside is not None else "is a negative component"
        )
        scope.problems.error(
            "negative-in-result",
            f"`{component.variable}` {where}: in a match there is no such event",
            variable.span,
            f"{scope.clause.value} can use  {', '.join(scope.positives) or 'no variable'}",
        )
        return None
    return component


def _only_component(node: ast.Attribute, scope: Scope) -> BoundComponent | None:
    if len(scope.components) == 1 and not scope.groups:
        return scope.components[0]
    from sase.lang.scene import STRATEGY_WORDS

    name, error = node.name.text, scope.problems.error
    strategy = nearest(name, STRATEGY_WORDS) if "_" in name else None
    if name == "confidence" and scope.schema.is_imprecise:
        error(
            "confidence-in-where",
            "`confidence` is that of a whole match, and WHERE says which events make one",
            node.span,
            "write  WITH CONFIDENCE >= 0.9 , or ask for it in HAVING",
        )
    elif scope.component(name):
        message = f"`{name}` is an event, and a value is needed here"
        hint = f"name an attribute of it:  {_example(name, scope)}"
        error("event-as-value", message, node.span, hint)
    elif strategy is not None:
        error(
            "unknown-strategy",
            f"`{name}` is not a strategy",
            node.span,
            f"did you mean {strategy}?",
        )
    else:
        owners = [
            c.variable
            for c in scope.inner_components
            if c.named and not c.is_series and name in scope.attribute_names(c)
        ]
        named = (c.variable for c in scope.inner_components if c.named)
        owner = owners[0] if owners else next(named, "x")
        count = len(scope.inner_components)
        hint = f"write it with its variable:  {owner}.{name} ; a text needs quotes:  '{name}'"
        if scope.schema.is_imprecise and not owners and nearest(name, ["confidence"]):
            hint = "did you mean confidence, that of the match?"
        error(
            "unqualified-attribute",
            f"`{name}` could belong to any of {count} components"
            if count > 1
            else f"`{name}` is written without the component inside of the group",
            node.span,
            hint,
        )
    return None


def _example(variable: str, scope: Scope) -> str:
    component = scope.component(variable)
    attribute = some_attribute(component, scope)
    if component is not None and component.is_series:
        return forms(variable, attribute, scope)
    return f"{variable}.{spelled_field(attribute)}"


def some_attribute(component: BoundComponent | None, scope: Scope) -> str:
    """An attribute name for an example."""
    names = scope.attribute_names(component) if component else []
    return next((name for name in names if name not in scope.schema.roles), "p")


def _refuse_series_without_index(
    node: ast.Attribute, component: BoundComponent, scope: Scope
) -> None:
    variable, name = component.variable, node.name.text
    if not component.named:
        hint = "give the component a variable, then write one of  " + forms("a", name, scope)
    else:
        hint = f"write one of  {forms(variable, name, scope)}"
    scope.problems.error(
        "series-without-index",
        f"`{variable}` is a series of events: `{name}` of which of them is meant?",
        node.span,
        hint,
    )


def _reference(
    component: BoundComponent, part: Part, name: ast.Name, span: Span, scope: Scope
) -> Expression:
    data_type, undeclared_by = declared(component, name, scope)
    return Reference(data_type, component.index, part, name.text, undeclared_by, span=span)


def declared(
    component: BoundComponent, name: ast.Name, scope: Scope
) -> tuple[DataType, frozenset[str] | None]:
    """The type of an attribute, and the component's types that do not declare it."""
    schema, types = scope.schema, component.types or scope.schema.type_names
    if types is None and schema.attributes("") is None:
        common = schema.common.get(name.text)
        return (UNKNOWN, None) if common is None else (common, frozenset())
    known = {} if types == () else scope.declarations(component, name.text)
    found = [data_type for data_type in known.values() if data_type is not None]
    missing = frozenset(type_name for type_name, data_type in known.items() if data_type is None)
    if not found:
        _report_undeclared(component, name, scope)
        return UNKNOWN, missing
    first = merged(found[:1])
    if all(kind.parts for kind in found):
        return merged(found), missing
    if not all(first.compares_with(other) for other in found):
        return DataType(Kind.OTHER), missing  # a comparison reports it
    return merged(found), missing


def _report_undeclared(component: BoundComponent, name: ast.Name, scope: Scope) -> None:
    if scope.whole is not None:
        return  # reported for the whole pattern, or another branch has it
    names = scope.nested_names(component, name.text) or scope.attribute_names(component)
    hints = scope.attribute_hints(name.text, names)
    report, code = scope.problems.error, "unknown-attribute"
    if scope.schema.is_wide:
        report(code, f"the events have no column `{name.text}`", name.span, *hints)
    elif component.is_any or component.types is None:
        # The papers' rule for ANY makes such a condition true, which is rarely meant.
        report = scope.problems.warning
        message = f"no type of `{component.variable}` has an attribute `{name.text}`"
        follows = "it is NULL" if scope.clause is Clause.RETURN else "the condition is always true"
        report(code, f"{message}: {follows}", name.span, *hints)
    else:
        message = f"type {component.types[0]} has no attribute `{name.text}`"
        report(code, message, name.span, *hints)


# ---------------------------------------------------------------- iteration references


def is_forbidding(node: ast.InGroup, scope: Scope) -> bool:
    """Whether `g[i].b.p` reads a negative sequence in an iteration, where `g[i].` has no effect."""
    group, variable = scope.component(node.group.text), node.reference.variable
    return (
        group is not None
        and group.group is not None
        and node.index.kind is IndexKind.CURRENT
        and variable is not None
        and forbids(group, variable.text)
    )


def forbids(group: BoundComponent, name: str) -> bool:
    """Whether a variable belongs to a negative sequence in iterations of a group."""
    assert group.group is not None
    return any(each.key == (True, name) for each in group.group.forbidding)


def refuse_absent(node: ast.InGroup, name: str, scope: Scope) -> None:
    """Report a reference to a negative element of another iteration."""
    scope.problems.error(
        "negative-of-iteration",
        f"`{name}` must not occur in an iteration: it has no event in another",
        node.span,
        "compare it with variables of the current iteration",
    )


def is_of_any_iteration(node: ast.InGroup, variable: BoundComponent, scope: Scope) -> bool:
    """Whether a variable can be read in another iteration than the current one."""
    if variable.negated:
        refuse_absent(node, variable.variable, scope)
        return False
    if variable.is_series or isinstance(node.reference, ast.Indexed):
        scope.problems.error(
            "series-of-iteration",
            f"`{variable.variable}` is a series in an iteration, and is known within the iteration"
            " at hand alone"
            if variable.is_series
            else f"`{variable.variable}` is a single event in an iteration and takes no index",
            node.span,
            "compare iterations by their single events, or ask in two queries",
        )
        return False
    return True
