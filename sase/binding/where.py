"""Bind a filter that chooses, beside a query, which events are looked at."""

from __future__ import annotations

from collections.abc import Mapping

from sase.binding.bound import BoundComponent, Condition
from sase.binding.conditions import bind_condition
from sase.binding.schema import Schema
from sase.binding.scope import Clause, Problems, Scope
from sase.errors import BindingError
from sase.lang.parser import parse_condition
from sase.source import Source

EVENT = BoundComponent(0, "event", named=False, types=None, is_any=True)


def bind_where(
    text: str, schema: Schema, *, name: str, parameters: Mapping[str, object] | None = None
) -> Condition:
    """The bound condition, or an error; `name` is how the text is called in messages."""
    problems = Problems(Source(text, name))
    scope = Scope(schema, problems, (EVENT,), parameters, Clause.TYPE)
    condition = bind_condition(parse_condition(text, name), scope)
    if errors := problems.in_order("error"):
        raise BindingError(errors)
    return condition
