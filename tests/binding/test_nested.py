"""Names within nested columns: their types, the errors about them, and schemas that have them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import sase
from sase.binding import Schema, bind_text
from sase.binding.schema_file import read_schema, schema_from
from sase.binding.types import Kind
from sase.binding.values.text import condition_text
from sase.errors import BindingError
from sase.lang.parser import parse_query
from tests import naive

COLUMNS = {
    "user": {"id": "integer", "home": {"city": "string"}},
    "tags": ["string"],
    "items": [{"p": "float"}],
    "n": "integer",
}
SCHEMA = schema_from({"columns": COLUMNS})


def bound(condition: str, schema: Schema = SCHEMA, **params: object) -> str:
    query = bind_text(f"EVENT SEQ(A x, B y) WHERE {condition}", schema, parameters=params)
    return " AND ".join(
        condition_text(each.condition, {0: "x", 1: "y"}) for each in query.conjuncts
    )


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("x.user.id = y.n", "x.user.id = y.n"),
        ("x.items[2].p > 0.5", "x.items[2].p > 0.5"),
        ("list_contains(x.tags, 'it''s')", "list_contains(x.tags, 'it''s') = TRUE"),
        ("NOT list_contains(y.tags, :tag)", "list_contains(y.tags, 'q') != TRUE"),
        ("lower(x.user.home.city) = 'a'", "lower(x.user.home.city) = 'a'"),
    ],
)
def test_nested_values_have_the_types_of_the_schema(condition: str, text: str) -> None:
    assert bound(condition, tag="q") in (text, text.replace("!= TRUE", "= FALSE"))


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("x.user.idd = 1", "no column `user.idd`[^$]*did you mean `user.id`"),
        ("x.user = 1", "`x.user` is a group of fields[^$]*name a field of it:  x.user.id"),
        ("x.tags = 'a'", "`x.tags` is a list[^$]*list_contains\\(x.tags, 'a'\\)"),
        ("x.user.id = 'a'", "is an integer and `'a'` is a string"),
        ("x.n.p = 1", "no column `n.p`"),
        ("x.tags.p = 1", "no column `tags.p`[^$]*`tags\\[1\\]`"),
        ("x.tags = 1", "`x.tags` is a list[^$]*name an element:  x.tags\\[1\\] , or search it"),
        ("list_contains(x.tags, 1)", "an element of the list is a string, and this an integer"),
        ("list_contains(x.tags, DATE '2026-01-01')", "as a literal or a parameter"),
        ("list_contains(x.n, 1)", "takes a list of an event, and this is an integer"),
        ("list_contains(x.tags, y.n)", "as a literal or a parameter"),
        ("list_contains(x.tags, NULL)", "as a literal or a parameter"),
        ("list_contains(x.tags)", "list_contains takes two arguments, and here is one"),
        ("[user]", "the values of `user` cannot all be compared[^$]*\\[user.id\\]"),
        ("[tags]", "the values of `tags` cannot all be compared[^$]*\\[tags\\[1\\]\\]"),
    ],
)
def test_errors(condition: str, said: str) -> None:
    with pytest.raises(BindingError, match=f"(?s){said}"):
        bound(condition)


def test_a_column_with_the_whole_name_comes_first() -> None:
    both = schema_from({"columns": {"user.id": "string", "user": {"id": "integer"}}})
    assert bound("x.user.id = 'a'", both) == "x.user.id = 'a'"
    events = {
        "ts": [1, 2], "type": ["A", "A"], "user.id": ["a", "b"], "user": [{"id": 7}, {"id": 8}],
    }  # fmt: skip
    found = sase.match("EVENT A x WHERE x.user.id = 'b'", pa.table(events))
    assert found.rows["x"].to_pylist() == [1]


@pytest.mark.parametrize(
    "condition",
    [
        "list_contains(x.l, 1)", "NOT list_contains(x.l, 1)", "list_contains(x.u.l, 2.0)",
        "x.l[2] = 1", "x.u.i > 0", "x.u.i IS NULL", "x.u.l[1] = x.l[1]", "[u.i = 1]",
        "x.l[0] IS NULL",
    ],
)  # fmt: skip
def test_the_naive_matcher_reads_nested_values(condition: str) -> None:
    lists = [None, [], [1], [2, 1], [None, 1], [2, None]]
    rows = [
        {
            "ts": n,
            "type": "A",
            "l": lists[n % 6],
            "u": n % 5 and {"i": n % 3 or None, "l": lists[n % 4]} or None,
        }
        for n in range(30)
    ]
    query = f"EVENT A x WHERE {condition}"
    wanted = [each.events for each in naive.match(parse_query(query), rows)]
    found = sase.match(query, rows).rows["x"].to_pylist()
    assert (
        [((row,),) for row in found] == wanted
        and 0 < len(wanted) < 30
        or condition == "x.l[0] IS NULL"
    )


def test_types_by_conditions_read_nested_columns() -> None:
    rows = [{"ts": n, "user": {"id": n}, "tags": ["x"] * n} for n in range(3)]
    types = {"First": "user.id = 1", "Long": "tags[2] = 'x' AND list_contains(tags, 'x')"}
    found = sase.match("EVENT SEQ(First a, Long b)", rows, types=types, type=None)
    assert found.rows.to_pylist() == [{"a": 1, "b": 2}]


def test_a_series_and_a_group_are_told_apart() -> None:
    text = "EVENT SEQ(A+ a[], (SEQ(B b))+ g[]) WHERE a[i].user.id > 0 AND g[i].b.user.id = 2"
    rows = [{"ts": n, "type": "AAB"[n], "user": {"id": n}} for n in range(3)]
    assert len(sase.match(text, rows)) == 1
    with pytest.raises(BindingError, match="no component called `user`"):
        sase.match(text.replace("g[i].b.user", "g[i].user"), rows)


def test_a_schema_file_has_nested_columns(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text('[columns]\nuser.id = "integer"\ntags = ["string"]\n')
    columns = dict(read_schema(path).columns or ())
    assert columns["user"].parts[0][1].kind is Kind.INTEGER and columns["tags"].is_list
    path.write_text('[columns]\nuser.id = "integr"\n')
    with pytest.raises(sase.SchemaError, match="columns.user.id: `integr` is not a type"):
        read_schema(path)


def test_a_stored_plan_has_the_parts_of_columns() -> None:
    plan = sase.compile("EVENT SEQ(A x, B y) WHERE [user.id] AND x.items[1].p > 2", SCHEMA)
    assert sase.Plan.from_json(plan.to_json()) == plan
    kinds = dict(sase.Plan.from_json(plan.to_json()).schema.columns or ())
    assert kinds["items"].parts == dict(SCHEMA.columns or ())["items"].parts
    text = plan.to_json().replace('"OTHER"', '"INTEGER"', 1)
    assert json.loads(text)
    with pytest.raises(sase.PlanError):
        sase.Plan.from_json(text)
