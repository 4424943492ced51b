"""A plan as an indented list, with what each operator checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from enum import Enum

from sase.binding.bound import (
    BoundComponent,
    BoundWindow,
    Column,
    Condition,
    Conjunct,
    Constant,
    EquivalenceTest,
    Placeholder,
)
from sase.binding.text import Names, condition_text, test_text, value_text, window_text
from sase.planning.negatives import NegativeComponent, NegativeSequence, SequenceSearch
from sase.planning.nodes import EdgeCondition, Operator, chain, variables_of


def outline(root: Operator) -> str:
    """The plan as an indented list from the top down, with what each operator checks."""
    return "\n".join(_outlined(root, 0))


def _outlined(root: Operator, depth: int) -> Iterator[str]:
    names = variables_of(root)
    for operator in chain(root):
        details = [
            f"{field.name}={_brief(getattr(operator, field.name), names)}"
            for field in fields(operator)
            if field.name not in ("input", "branches")
            and _says_something(getattr(operator, field.name))
        ]
        yield "  " * depth + f"{type(operator).__name__} {' '.join(details)}".rstrip()
        depth += 1
        for branch in getattr(operator, "branches", ()):
            yield from _outlined(branch, depth)


def _says_something(value: object) -> bool:
    return value not in ((), None) and value is not False


def _brief(value: object, names: Names) -> str:
    match value:
        case tuple():
            return f"[{', '.join(_brief(each, names) for each in value)}]"
        case BoundComponent(variable=name):
            return name
        case Column(name=name, value=returned):
            text = value_text(returned, names)
            return name if text.replace(".", "_") == name else f"{text} AS {name}"
        case EquivalenceTest():
            return test_text(value)
        case NegativeComponent(component=component, conditions=conditions):
            checked = "".join(f" where {_brief(each, names)}" for each in conditions)
            return f"!{component.variable}{checked}"
        case NegativeSequence(conditions=conditions):
            checked = "".join(f" where {_brief(each, names)}" for each in conditions)
            found = "" if value.search is SequenceSearch.IN_GAPS else f" by {value.search.value}"
            return f"!({value.name}{found}){checked}"
        case BoundWindow():
            return window_text(value)
        case Conjunct(condition=condition) | EdgeCondition(conjunct=Conjunct(condition=condition)):
            return condition_text(condition, names)
        case Constant() | Placeholder():
            return value_text(value, names)
        case Enum():
            return str(value.name)
    return condition_text(value, names) if isinstance(value, Condition) else str(value)
