"""Resolve references into repeated groups: `g[i].b.p`, `g.len`, and `b.p` in an iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sase.binding.bound import Aggregate, BoundComponent, Expression, Inner, Part, Reference
from sase.binding.names.references import (
    PARTS,
    RANGES,
    WHILE_TAKING,
    bind_attribute,
    bind_indexed,
    declared,
    find_component,
    find_series,
    forbids,
    is_forbidding,
    is_of_any_iteration,
    refuse_absent,
    some_attribute,
)
from sase.binding.names.scope import Clause, Scope, unknown
from sase.binding.types import INTEGER
from sase.lang import ast
from sase.lang.ast import IndexKind
from sase.lang.printer import spelled_field, to_text

Referring: TypeAlias = ast.Attribute | ast.Indexed | ast.InGroup


@dataclass(frozen=True, slots=True)
class Range:
    """The events that an aggregate ranges over: a series, or a variable in iterations of a group.

    `declares` is the component with the attributes; None for iterations, which can only be counted.
    """

    component: int
    part: Part
    declares: BoundComponent | None
    inner: Inner | None = None


def is_of_group(node: ast.Expression, scope: Scope) -> bool:
    """Whether a reference is to a repeated group, or into one."""
    match node:
        case ast.InGroup():
            return True
        case ast.Attribute(variable=ast.Name(text)) | ast.Indexed(variable=ast.Name(text)):
            is_choice = any(text in each.group.choices for each in scope.groups if each.group)
            is_over = scope.clause is not Clause.WHERE
            return (
                _group(text, scope) is not None
                or scope.inside(text) is not None
                or (is_choice and is_over)
            )
    return False


def bind_of_group(node: Referring, scope: Scope) -> Expression:
    """A value of an iteration, or the number of iterations; ranges are valid only in aggregates."""
    match node:
        case ast.InGroup(reference=ast.Attribute() as reference) if is_forbidding(node, scope):
            return bind_attribute(reference, scope)
        case ast.InGroup(reference=ast.Indexed() as reference) if is_forbidding(node, scope):
            return bind_indexed(reference, scope)
        case ast.InGroup():
            return _in_group(node, scope)
        case ast.Attribute(variable=ast.Name(text)) if group := _group(text, scope):
            if node.name.text.lower() == "len":
                return Aggregate(INTEGER, "count", group.index, Part.ALL, span=node.span)
            _refuse_attribute(node, group, f"`{text}`", scope)
            return unknown(node)
        case ast.Indexed(variable=ast.Name(text)) if group := _group(text, scope):
            _refuse_iteration(node, group, scope)
            return unknown(node)
        case ast.Attribute() | ast.Indexed():
            return _at_hand(node, node, scope)


def find_range(argument: ast.Indexed | ast.InGroup, scope: Scope) -> Range | None:
    """The range of an aggregate's argument, or None after an error."""
    if isinstance(argument, ast.InGroup) and is_forbidding(argument, scope):
        assert isinstance(argument.reference, ast.Indexed), "of several events, so indexed"
        argument = argument.reference
    if isinstance(argument, ast.Indexed) and not is_of_group(argument, scope):
        component = find_series(argument, scope)
        if component is None:
            return None
        return Range(component.index, RANGES[argument.index.kind], component)
    if isinstance(argument, ast.Indexed):
        group = _group(argument.variable.text, scope)
        if group is None:
            return _range_at_hand(argument, argument, scope)
        if argument.attribute is not None:
            _refuse_iteration(argument, group, scope)
            return None
        is_known = _is_index(argument.index, argument, group, scope)
        return Range(group.index, RANGES[argument.index.kind], None) if is_known else None
    found = _found_in(argument, scope)
    if found is None:
        return None
    if argument.index.kind is IndexKind.CURRENT and isinstance(argument.reference, ast.Indexed):
        return _range_at_hand(argument.reference, argument, scope)
    group, variable = found
    if not is_of_any_iteration(argument, variable, scope):
        return None
    inner = _of_any(variable)
    return Range(group.index, RANGES[argument.index.kind], variable, inner)


def has_range(argument: ast.Expression) -> bool:
    """Whether a reference means several events."""
    match argument:
        case ast.Indexed(index=index):
            return index.kind in RANGES
        case ast.InGroup(index=index, reference=reference):
            return index.kind in RANGES or has_range(reference)
    return False


def attributes_of(argument: ast.Indexed | ast.InGroup) -> tuple[ast.Name, ...]:
    """The attributes in the argument of an aggregate."""
    match argument:
        case ast.InGroup(reference=ast.Attribute(name=name)):
            return (name,)
        case ast.InGroup(reference=ast.Indexed() as reference):
            return reference.attributes
    assert isinstance(argument, ast.Indexed)
    return argument.attributes


def variables_of(argument: ast.Indexed | ast.InGroup) -> tuple[ast.Name, ...]:
    """The variables in the argument, with the group of an iteration."""
    if isinstance(argument, ast.Indexed):
        return (argument.variable,)
    inner = argument.reference.variable
    return (argument.group, inner) if inner is not None else (argument.group,)


# ---------------------------------------------------------------- single values


def _of_any(variable: BoundComponent) -> Inner:
    """The event of a variable that an iteration may lack."""
    part = Part.LAST if variable.is_optional else Part.EVENT
    return Inner(variable.index, part, variable.variable)


def _group(name: str, scope: Scope) -> BoundComponent | None:
    found = scope.component(name)
    return found if found is not None and found.group is not None else None


def _in_group(node: ast.InGroup, scope: Scope) -> Expression:
    found = _found_in(node, scope)
    if found is None:
        return unknown(node)
    if node.index.kind is IndexKind.CURRENT:
        return _at_hand(node.reference, node, scope)
    group, variable = found
    if not is_of_any_iteration(node, variable, scope):
        return unknown(node)
    if node.index.kind in RANGES:
        return scope.refuse(
            "range-without-aggregate",
            f"`{to_text(node)}` is of several iterations, and a single value is needed here",
            node.span,
            f"put it into an aggregate, such as  avg({to_text(node)}) , or name one iteration:"
            f"  {_iterations(group, to_text(node.reference), scope)}",
        )
    assert isinstance(node.reference, ast.Attribute)
    inner = _of_any(variable)
    part, name = PARTS[node.index.kind], node.reference.name
    return _reference(group, part, inner, variable, name, node, scope)


def _at_hand(node: ast.Attribute | ast.Indexed, whole: Referring, scope: Scope) -> Expression:
    """A value of the current iteration."""
    found = _found_at_hand(node, whole, scope)
    if found is None:
        return unknown(whole)
    group, variable = found
    if isinstance(node, ast.Indexed):
        return _of_series(node, whole, group, variable, scope)
    is_many = variable.is_series or variable.is_optional
    if node.name.text.lower() == "len" and is_many:
        inner = Inner(variable.index, Part.ALL, variable.variable)
        return Aggregate(INTEGER, "count", group.index, Part.CURRENT, inner=inner, span=whole.span)
    if variable.is_series:
        return scope.refuse(
            "series-without-index",
            f"`{variable.variable}` is a series of events: `{node.name.text}` of which of them is"
            " meant?",
            whole.span,
            f"write one of  {_series_forms(variable, node.name.text)}",
        )
    part = Part.CURRENT if variable.is_optional else Part.EVENT
    inner = Inner(variable.index, part, variable.variable)
    return _reference(group, Part.CURRENT, inner, variable, node.name, whole, scope)


def _of_series(
    node: ast.Indexed,
    whole: Referring,
    group: BoundComponent,
    variable: BoundComponent,
    scope: Scope,
) -> Expression:
    if not _has_index(node, variable, scope):
        return unknown(whole)
    if node.index.kind in RANGES or node.attribute is None or node.others:
        name = node.attribute.text if node.attribute else some_attribute(variable, scope)
        return scope.refuse(
            "range-without-aggregate" if node.index.kind in RANGES else "event-as-value",
            f"`{to_text(node)}` is not a single value, which is needed here",
            whole.span,
            f"write one of  {_series_forms(variable, name)}",
        )
    inner = Inner(variable.index, PARTS[node.index.kind], variable.variable)
    return _reference(group, Part.CURRENT, inner, variable, node.attribute, whole, scope)


def _reference(
    group: BoundComponent,
    part: Part,
    inner: Inner,
    variable: BoundComponent,
    name: ast.Name,
    node: Referring,
    scope: Scope,
) -> Expression:
    data_type, undeclared_by = declared(variable, name, scope)
    return Reference(data_type, group.index, part, name.text, undeclared_by, inner, span=node.span)


def _range_at_hand(node: ast.Indexed, whole: Referring, scope: Scope) -> Range | None:
    """A range of a series of the current iteration."""
    found = _found_at_hand(node, whole, scope)
    if found is None or not _has_index(node, found[1], scope):
        return None
    group, variable = found
    inner = Inner(variable.index, RANGES[node.index.kind], variable.variable)
    return Range(group.index, Part.CURRENT, variable, inner)


# ---------------------------------------------------------------- lookup and errors


def _found_in(node: ast.InGroup, scope: Scope) -> tuple[BoundComponent, BoundComponent] | None:
    """The group of `g[…].b.p` and the variable in it, or None after an error."""
    inside = scope.inside(node.group.text)
    group = find_component(node.group, scope) if inside is None else inside[1]
    if group is None or node.reference.variable is None:
        return None
    if group.group is None:
        scope.problems.error(
            "not-a-group",
            f"`{group.variable}` is no repeated group: it has no iterations",
            node.span,
            f"an event of a series is written with one dot:  {group.variable}[1].p",
        )
        return None
    name = node.reference.variable.text
    variable = group.group.variable(name)
    if variable is None and forbids(group, name):
        refuse_absent(node, name, scope)
        return None
    if variable is None:
        names = ", ".join(sorted(each.variable for each in group.group.variables if each.named))
        scope.problems.error(
            "unknown-variable",
            f"the group `{group.variable}` has no component called `{name}`",
            node.reference.variable.span,
            f"in it are {names}" if names else "give its components variables",
        )
        return None
    return (group, variable) if _is_index(node.index, node, group, scope) else None


def _is_index(index: ast.Index, node: ast.Node, group: BoundComponent, scope: Scope) -> bool:
    """Whether an index is valid for a group in this clause, else an error."""
    name = some_inner(group, scope)
    if index.kind is IndexKind.OTHER:
        scope.problems.error(
            "unknown-index",
            f"a group has no index `{index.text}`",
            index.span,
            f"the forms are  {_iterations(group, name, scope)} , avg({group.variable}[].{name})",
        )
        return False
    if index.kind in WHILE_TAKING and scope.clause is not Clause.WHERE:
        scope.problems.error(
            "index-after-match",
            f"{scope.clause.value} sees finished matches, in which no iteration is at hand:"
            f" `[{index.kind.value}]` has no meaning there",
            node.span,
            f"use  {_iterations(group, name, scope)} , avg({group.variable}[].{name})",
        )
        return False
    return True


def _found_at_hand(
    node: ast.Attribute | ast.Indexed, whole: Referring, scope: Scope
) -> tuple[BoundComponent, BoundComponent] | None:
    assert node.variable is not None
    name = node.variable.text
    if scope.clause is not Clause.WHERE:
        group = next(each for each in scope.groups if each.group and name in each.group.names)
        inner, hint = to_text(node), "only a condition of WHERE can ask that of an iteration"
        if scope.inside(name) is not None:
            ways = f"{_iterations(group, inner, scope)} , avg({group.variable}[].{inner})"
            hint = f"say of which:  {ways}"
        scope.problems.error(
            "no-iteration-at-hand",
            f"`{to_text(whole)}` is of the iteration at hand, and {scope.clause.value} sees"
            " finished matches, in which there is none",
            whole.span,
            hint,
        )
        return None
    found = scope.inside(name)
    assert found is not None
    return found


def _has_index(node: ast.Indexed, variable: BoundComponent, scope: Scope) -> bool:
    """Whether an index is valid for a variable inside a group, else an error."""
    name = node.attribute.text if node.attribute else some_attribute(variable, scope)
    if not variable.is_series and not variable.is_optional:
        scope.problems.error(
            "index-on-single",
            f"`{variable.variable}` is a single event of an iteration and takes no index",
            node.span,
            f"write  {variable.variable}.{spelled_field(name)} , or name the iteration before it",
        )
        return False
    if node.index.kind is IndexKind.OTHER:
        scope.problems.error(
            "unknown-index",
            f"a series has no index `{node.index.text}`",
            node.index.span,
            f"the forms are  {_series_forms(variable, name)}",
        )
        return False
    return True


def _refuse_attribute(node: ast.Node, group: BoundComponent, what: str, scope: Scope) -> None:
    inner = some_inner(group, scope)
    scope.problems.error(
        "group-without-attributes",
        f"{what} has no attributes: they are those of the events in it",
        node.span,
        f"name a component inside:  {_iterations(group, inner, scope)} ; the number of"
        f" iterations is  {group.variable}.len",
    )


def _refuse_iteration(node: ast.Indexed, group: BoundComponent, scope: Scope) -> None:
    """Refuse `g[1].v`, `g[1]` or `g[]` in place of a value."""
    if _is_index(node.index, node, group, scope):
        which = f"{group.variable}[{node.index.kind.value}]"
        _refuse_attribute(node, group, f"an iteration `{which}`", scope)


def some_inner(group: BoundComponent, scope: Scope) -> str:
    """An attribute inside a group, for an example."""
    assert group.group is not None
    positive = [each for each in group.group.variables if not each.negated and each.named]
    single = next((each for each in positive if not each.is_series), None)
    return f"{single.variable}.{some_attribute(single, scope)}" if single else "b.p"


def _iterations(group: BoundComponent, inner: str, scope: Scope) -> str:
    """The valid indexes of an iteration, as a hint."""
    name = group.variable
    indexes = ["1", "i", "i-1", f"{name}.len"]
    if scope.clause is not Clause.WHERE:
        indexes[1:3] = []
    return " , ".join(f"{name}[{index}].{inner}" for index in indexes)


def _series_forms(variable: BoundComponent, attribute: str) -> str:
    name = variable.variable
    indexes = ("1", "i", "i-1", f"{name}.len")
    return " , ".join(f"{name}[{index}].{spelled_field(attribute)}" for index in indexes)
