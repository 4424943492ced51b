"""A query too wide to run is refused by name; conditions that are never true give a warning."""

from __future__ import annotations

import pyarrow as pa
import pytest

import sase
from sase.binding import Schema, bind_text
from sase.binding.conditions.conditions import LONGEST_PATTERN
from sase.binding.pattern.components import MOST_COMPONENTS, MOST_TYPES
from sase.binding.schema_file import schema_from
from sase.errors import BindingError
from tests.faults.processes import Programs

SCHEMA = schema_from({"types": {"A": {"v": "integer", "name": "string"}}})


def codes(query: str, schema: Schema = SCHEMA, **parameters: object) -> list[str]:
    """The codes of the mistakes of a query."""
    try:
        bind_text(query, schema, parameters=parameters)
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


def test_types() -> None:
    names = ", ".join(f"T{n}" for n in range(MOST_TYPES + 1))
    assert codes(f"EVENT ANY({names}) x", Schema()) == ["too-many-types"]


def test_a_query_at_the_limit_of_types_runs() -> None:
    last = MOST_TYPES - 1
    names = ", ".join(f"T{n}" for n in range(MOST_TYPES))
    events = {"ts": [1, 2, 3], "type": [f"T{last}", "other", "T0"]}
    found = sase.match(f"EVENT SEQ(ANY({names}) x, T0 y) WITHIN 9", pa.table(events))
    assert found.rows.to_pylist() == [{"x": 0, "y": 2}]


@pytest.mark.parametrize("recipe", ["basic", "optimized", "postponed", "nfab", "nfab_merged"])
@pytest.mark.parametrize("series", [False, True])
@pytest.mark.parametrize("strategy", ["", "strict_contiguity"])
def test_a_pattern_at_the_limit_of_components_runs(
    recipe: str, series: bool, strategy: str
) -> None:
    """Also where events of other types count, which takes a bit of its own."""
    parts = [f"T{n} x{n}" for n in range(MOST_COMPONENTS)]
    if series:
        parts[7] = "T7+ x7[]"
    clause = f"WHERE {strategy} {{ x0.v >= 0 }}" if strategy else ""
    query = f"EVENT SEQ({', '.join(parts)}) {clause} WITHIN 1000"
    types = [f"T{n}" for n in range(MOST_COMPONENTS)]
    right = pa.table({"ts": range(62), "type": types, "v": [1] * 62})
    broken = pa.table({"ts": range(63), "type": [*types[:-1], "other", types[-1]], "v": [1] * 63})
    assert len(sase.match(query, right, plan=recipe)) == 1
    assert len(sase.match(query, broken, plan=recipe)) == (0 if strategy else 1)


# By form one of many conditions; early conditions are moved out of runs, too.
FORMS = {
    "a value": "EVENT SEQ(A a, B+ b[], C c) WHERE {}|a.v >= -{n}",
    "single events": "EVENT SEQ(A a, B b) WHERE {}|a.v >= -{n}",
    "two events": "EVENT SEQ(A a, B b) WHERE {}|a.v + {n} >= b.v - {n}",
    "a series": "EVENT SEQ(A a, B+ b[], C c) WHERE {}|a.v + {n} >= b[i].v - {n}",
}
MORE = [each for each in FORMS if each != "single events"]


@pytest.mark.parametrize(
    "form", ["single events", *(pytest.param(f, marks=pytest.mark.heavy) for f in MORE)]
)
def test_thousands_of_conditions_are_compiled_and_run(form: str, forked: Programs) -> None:
    """In a process of its own: in quadratic time this took minutes."""
    query, condition = FORMS[form].split("|")
    where = " AND ".join(condition.replace("{n}", str(n)) for n in range(4_000))
    ask = (
        "import sys, sase, pyarrow as pa;"
        "events = pa.table({'ts': [1, 2, 3], 'type': ['A', 'B', 'C'], 'v': [1, 1, 1]});"
        "print(len(sase.match(sys.argv[1], events)))"
    )
    assert forked.printed(ask, query.format(where) + " WITHIN 9") == "1\n"


# ---------------------------------------------------------------- branch warnings

# Warnings of a pattern with choices: conditions never true of all branches, or of some.


NOTHING = "this condition is never true: nothing can match"
IN = "this condition is never true in"


@pytest.mark.parametrize(
    ("where", "place", "message"),
    [
        ("g.len = 1", "g.len = 1", f"{IN} branch 3 of 3, which cannot match"),
        ("a.v < d.v AND g.len = 0", "g.len = 0", f"{IN} branches 1, 2 of 3, which cannot match"),
        ("g.len = 2", "g.len = 2", NOTHING),
        ("b.v < 1 AND 1 > 2", "1 > 2", NOTHING),
        ("g.len = 1 AND g.len = 0", "g.len = 0", NOTHING),  # in branch 1
    ],
)
def test_a_condition_that_is_never_true(where: str, place: str, message: str) -> None:
    """If each branch has such a condition, that of the first one is reported."""
    text = f"EVENT SEQ(A a, (B b OR C c)? g, D d) WHERE {where}"
    query = bind_text(text)
    (warning,) = query.warnings
    shown = [warning.code, warning.message, text[warning.span.start : warning.span.end]]
    assert shown == ["never-true", message, place]


@pytest.mark.parametrize("where", ["b.v < 1", "g.len >= 0", "g.len < 2 OR b.v < c.v"])
def test_other_conditions_are_fine(where: str) -> None:
    assert bind_text(f"EVENT SEQ(A a, (B b OR C c)? g, D d) WHERE {where}").warnings == ()


def test_two_conditions_are_told_by_their_branches() -> None:
    text = "EVENT SEQ(A a, (B b)? g, (C c)? h, D d) WHERE g.len = 1 AND h.len = 1"
    assert [each.message for each in bind_text(text).warnings] == [
        f"{IN} branches 3, 4 of 4, which cannot match",
        f"{IN} branch 2 of 4, which cannot match",
    ]
