"""What is too wide to run is refused by binding, by name; what is just narrow enough binds."""

from __future__ import annotations

import pytest

from sase.binding import bind_text
from sase.binding.conditions import LONGEST_PATTERN
from sase.binding.pattern import MOST_COMPONENTS
from sase.binding.schema_file import schema_from
from sase.errors import BindingError

SCHEMA = schema_from({"types": {"A": {"v": "integer", "name": "string"}}})


def codes(query: str, **parameters: object) -> list[str]:
    """The codes of what is wrong with a query."""
    try:
        bind_text(query, SCHEMA, parameters=parameters)
    except BindingError as problem:
        return [each.code for each in problem.diagnostics]
    return []


@pytest.mark.parametrize(("length", "wrong"), [(0, []), (1, ["pattern-too-long"])])
def test_patterns(length: int, wrong: list[str]) -> None:
    pattern = "%" + "a" * (LONGEST_PATTERN - 1 + length)
    assert codes(f"EVENT A x WHERE x.name LIKE '{pattern}'") == wrong
    assert codes("EVENT A x WHERE x.name LIKE :p", p=pattern) == wrong


@pytest.mark.parametrize(("more", "wrong"), [(0, []), (1, ["too-many-components"])])
@pytest.mark.parametrize("form", ["A x{}", "A+ x{}[]", "!(A x{})"])
def test_components(form: str, more: int, wrong: list[str]) -> None:
    others = ", ".join(form.format(n) for n in range(MOST_COMPONENTS - 2 + more))
    assert codes(f"EVENT SEQ(A first, {others}, A last) WITHIN 5 events") == wrong
