"""Values within nested columns: in every layout of Arrow, and in queries as if in own columns."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import sase
from sase.base.paths import Path as Nested
from sase.base.paths import columns_of, path_of
from sase.engine.columns.arrow.nested import nested_type, nested_values
from tests import naive
from tests.drawing.draw import Draw
from tests.drawing.examples import Example, first_example
from tests.drawing.queries import Query
from tests.drawing.streams import TABLES
from tests.drawing.ways import MANNERS, drawn_way, in_order, run
from tests.seeds import TRIES, draw_numbers, share, tries

# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("user", None),
        ("user.id", Nested("user", ("id",))),
        ("tags[1]", Nested("tags", (1,))),
        ("items[2].price", Nested("items", (2, "price"))),
        ("`a b`.c", Nested("a b", ("c",))),
        ("a.`b``c`", Nested("a", ("b`c",))),
        ('list_contains(tags, "a, \\"b")', Nested("tags", (), '"a, \\"b"')),
        ("list_contains(a.tags, 3)", Nested("a", ("tags",), "3")),
        ("`a`.b", None),  # written without need: this is a name that has a quote
        ("tags[x]", None),
        ("a..b", None),
        (".b", None),
        ("list_contains(tags, a)", None),
    ],
)
def test_a_name_is_a_path_if_it_is_written_as_one(name: str, path: Nested | None) -> None:
    assert path_of(name) == path
    assert path is None or str(path) == name


def test_a_known_name_may_be_a_column_or_a_path() -> None:
    assert columns_of(["user.id", "a.b", "c"], ["user.id"]) == {"user.id", "user", "a", "c"}


# ---------------------------------------------------------------- layouts

LISTS = {
    "list": pa.list_, "large": pa.large_list, "view": pa.list_view,
    "large view": pa.large_list_view, "fixed": lambda kind: pa.list_(kind, 3),
}  # fmt: skip
KINDS: dict[pa.DataType, list[Any]] = {
    pa.int64(): [1, 2, -3, 2**53 + 1], pa.int8(): [1, 2, -3],
    pa.float64(): [0.5, 2.0, -1.5], pa.float32(): [0.5, 2.0],
    pa.string(): ["a", "", "é\U0001f600"], pa.string_view(): ["a", "a text that is longer", ""],
    pa.large_string(): ["a", "b"], pa.bool_(): [True, False], pa.null(): [None],
    pa.decimal128(9, 2): [Decimal("1.25"), Decimal("2.00")],
    pa.dictionary(pa.int8(), pa.string()): ["a", "b"],
    pa.struct([("p", pa.int64())]): [{"p": 1}, {"p": None}, {"p": 2}],
}  # fmt: skip
MEMBERS = ["a", "", "b", 1, 2, 2**53 + 1, 2**53, 2.0, 0.5, 1.25, True, False, 10**30]


def _lists(draw: Draw, layout: str, kind: pa.DataType, count: int) -> list[Any]:
    sizes = [3] if layout == "fixed" else [0, 1, 2, 3, 4]
    some = [*KINDS[kind], None]
    return [
        None if draw.chance(20) else [draw.one_of(*some) for _ in range(draw.one_of(*sizes))]
        for _ in range(count)
    ]


def _sliced(draw: Draw, values: list[Any], kind: pa.DataType) -> tuple[pa.Array, list[Any]]:
    begin, end = sorted((draw.randrange(len(values) + 1), draw.randrange(len(values) + 1)))
    return pa.array(values, kind)[begin:end], values[begin:end]


@pytest.mark.random
@pytest.mark.parametrize("layout", LISTS)
def test_elements_and_members_of_lists_are_those_of_python(layout: str) -> None:
    for number in draw_numbers(30):
        draw = Draw(number)
        kind = draw.one_of(*KINDS)
        array, values = _sliced(draw, _lists(draw, layout, kind, 12), LISTS[layout](kind))
        for place in (0, 1, 2, 3, 5):
            wanted = [
                None if v is None or not 0 < place <= len(v) else v[place - 1] for v in values
            ]
            read = nested_values(array, f"x[{place}]")
            assert read.to_pylist() == wanted, (number, place)
            if "view" not in str(kind):  # Arrow takes no values from these
                assert read.type == nested_type(array.type, Nested("x", (place,)))
        if pa.types.is_struct(kind):
            continue
        for member in MEMBERS:
            # To Python a truth value is a number.
            wanted = [
                None if v is None else any(_is_same(each, member) for each in v) for v in values
            ]
            name = f"list_contains(x, {json.dumps(member)})"
            assert nested_values(array, name).to_pylist() == wanted, (number, kind, member)


def _is_same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and one == other


@pytest.mark.random
def test_fields_are_null_where_any_part_above_them_is() -> None:
    inner = pa.struct([("p", pa.int64()), ("l", pa.list_(pa.struct([("q", pa.string())])))])
    kind = pa.struct([("a", inner), ("b", pa.int64())])
    for number in draw_numbers(50):
        draw = Draw(number)

        def maybe(value: Any) -> Any:
            return None if draw.chance(25) else value  # noqa: B023

        values = [
            maybe({
                "a": maybe({"p": maybe(draw.randrange(9)), "l": maybe([maybe({"q": maybe("t")})])}),
                "b": maybe(1),
            })
            for _ in range(9)
        ]  # fmt: skip
        array, shown = _sliced(draw, values, kind)
        wanted = [v and v["a"] and v["a"]["p"] for v in shown]
        assert nested_values(array, "x.a.p").to_pylist() == wanted
        lists = [v and v["a"] and v["a"]["l"] for v in shown]
        read = nested_values(array, "x.a.l[1].q").to_pylist()
        assert read == [v and v[0] and v[0]["q"] for v in lists]


# ---------------------------------------------------------------- odd values

FIRST = {"ts": 1, "type": "A", "u": {"i": 1, "n": "x"}}
QUERY = "EVENT SEQ(A a, B b) WHERE a.u.i = b.u.i RETURN b.ts AS v"


@pytest.mark.parametrize("on_bad_row", ["error", "quarantine"])
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"i": 1}, {"i": 1, "n": 5}, {"i": 1, "n": "t"}], "does not go with the values before"),
        ([{"i": 1}, {"i": "s"}], "does not go with the values before"),
        ([7], "`u` has the type int64, which has no `u.i`"),
        ([{"i": 2}, None], None),
        ([{"n": "x"}], None),
        ([None], None),
    ],
)
def test_a_nested_value_that_is_no_such_value_is_an_error_and_never_null(
    rows: list[Any], said: str | None, on_bad_row: str
) -> None:
    matcher = sase.compile(QUERY, [FIRST], on_bad_row=on_bad_row).open()
    matcher.push([FIRST])
    pushed = [{"ts": 2, "type": "B", "u": each} for each in rows]
    if said is None:
        assert matcher.push(pushed).to_pylist() == []
        assert len(matcher.push([{"ts": 3, "type": "B", "u": {"i": 1}}])) == 1
        return
    with pytest.raises(sase.SaseError, match=said):
        matcher.push(pushed)


@pytest.mark.parametrize("literal", ["1.10", "1.1", "2.50", "1e5", "0.0000001", "100000.00"])
def test_a_number_has_many_texts(literal: str) -> None:
    table = pa.table({"ts": [1], "type": ["A"], "f": [[1.1, 2.5, 1e5, 1e-7]]})
    assert len(sase.match(f"EVENT A a WHERE list_contains(a.f, {literal})", table)) == 1
    params = {"v": Decimal(literal)}
    assert len(sase.match("EVENT A a WHERE list_contains(a.f, :v)", table, params=params)) == 1


def test_other_layouts_of_lists() -> None:
    runs = pa.RunEndEncodedArray.from_arrays([2], ["x"])
    lists = {
        "runs": pa.ListArray.from_arrays([0, 2], runs),
        "half": pa.array([[np.float16(0.1)]], pa.list_(pa.float16())),
        "kinds": pl.Series([["x"]], dtype=pl.List(pl.Categorical)).to_arrow(),
    }
    table = pa.table({"ts": [1], "type": ["A"], **lists})
    for name, literal in (("runs", "'x'"), ("half", "0.1"), ("kinds", "'x'")):
        assert len(sase.match(f"EVENT A a WHERE list_contains(a.{name}, {literal})", table)) == 1
        other = literal.replace("x", "y").replace("0.1", "0.2")
        assert not len(sase.match(f"EVENT A a WHERE list_contains(a.{name}, {other})", table))


def test_columns_with_dots_have_their_names() -> None:
    table = pa.table({"ts": [1], "type": ["A"], "a.b": [1], "a_b": [2]})
    (row,) = sase.match("EVENT A v RETURN v.*", table).to_pylist()
    assert (row["v_a.b"], row["v_a_b"]) == (1, 2)


# ---------------------------------------------------------------- queries

FORMS = ("sequences", "series", "choices", "sets", "negative groups", "groups")
TEST = re.compile(r"(?<![\w\]])\[([^\]]*)\]")


@dataclass(frozen=True)
class Nesting:
    """A place within a nested column for each attribute, and queries that name these."""

    at: Mapping[str, str]

    @classmethod
    def of(cls, draw: Draw, example: Example) -> Nesting:
        setting = example.setting
        roles = (setting.time, setting.type, setting.seq)
        names = [name for name in setting.schema().names if name not in roles]
        return cls({n: draw.one_of(f"n.{n}", f"o.m.{n}", f"l_{n}[2]") for n in names})

    def table(self, flat: pa.Table) -> pa.Table:
        """The rows with the values in nested columns."""
        inner, outer = self._within(flat, "n."), self._within(flat, "o.m.")
        found = {name: flat[name].combine_chunks() for name in flat.schema.names}
        columns = {name: found[name] for name in found if name not in self.at}
        if inner:
            columns["n"] = pa.StructArray.from_arrays([found[n] for n in inner], inner)
        if outer:
            middle = pa.StructArray.from_arrays([found[n] for n in outer], outer)
            columns["o"] = pa.StructArray.from_arrays([middle], ["m"])
        for name in self._within(flat, "l_"):
            values = [
                [None, value] if value is not None else [] for value in found[name].to_pylist()
            ]
            columns[f"l_{name}"] = pa.array(values, pa.list_(found[name].type))
        return pa.table(columns)

    def _within(self, flat: pa.Table, prefix: str) -> list[str]:
        return [n for n in flat.schema.names if self.at.get(n, "").startswith(prefix)]

    def text(self, query: str) -> str:
        """The query with the nested names."""
        whole = "|".join(map(re.escape, sorted(self.at, key=len, reverse=True)))
        query = re.sub(rf"\.({whole})(?![\w(.\[])", lambda found: f".{self.at[found[1]]}", query)
        return TEST.sub(lambda test: f"[{self.bare(test[1])}]", query)

    def bare(self, text: str) -> str:
        """A text with names that have no variable."""
        return re.sub(r"'[^']*'|(?<![\w.])\w+", lambda found: self.at.get(found[0], found[0]), text)


@dataclass(frozen=True)
class NestedQuery(Query):
    nesting: Nesting | None = None

    @property
    def text(self) -> str:
        assert self.nesting is not None
        return self.nesting.text(super().text)


@dataclass(frozen=True, repr=False)
class NestedExample(Example):
    """The example with its attributes in nested columns."""

    flat: Any = None

    @classmethod
    def of_flat(cls, draw: Draw, flat: Example) -> NestedExample:
        nesting = Nesting.of(draw, flat)
        query = NestedQuery(**vars(flat.query), nesting=nesting)
        return cls(query, flat.setting, flat.rows, flat.output, flat=flat)

    @property
    def nesting(self) -> Nesting:
        assert isinstance(self.query, NestedQuery) and self.query.nesting is not None
        return self.query.nesting

    @property
    def keywords(self) -> dict[str, Any]:
        keywords, at = super().keywords, self.nesting.at
        if isinstance(types := keywords.get("types"), Mapping):
            keywords["types"] = {
                name: self.nesting.bare(each)
                if isinstance(each, str)
                else each and [at.get(name, name) for name in each]
                for name, each in types.items()
            }
        return keywords

    @cached_property
    def expected(self) -> list[naive.Match]:
        return self.flat.expected  # type: ignore[no-any-return]

    @property
    def table(self) -> Any:
        if self.setting.layout != TABLES:
            return self.nesting.table(self.flat.table)
        return {name: self.nesting.table(table) for name, table in self.flat.table.items()}

    @property
    def records(self) -> Any:
        if self.setting.layout != TABLES:
            return self.table.to_pylist()
        return {name: table.to_pylist() for name, table in self.table.items()}


def _fits(example: Example) -> bool:
    named = all(part.variable for part in example.query.components)
    return named and ".(" not in example.query.text and not example.is_refused


@pytest.mark.random
@pytest.mark.parametrize("form", FORMS)
def test_nested_values_are_compared_as_those_of_own_columns(form: str) -> None:
    matched, some = 0, draw_numbers(max(4, share(25)))
    for place, number in enumerate([*some[:-1], *islice(tries(some[-1]), TRIES)]):
        if place >= len(some) and matched:
            break
        draw = Draw(number)
        flat, way = first_example(draw, form, _fits), drawn_way(draw, form)
        if way.manner not in MANNERS:
            continue
        flat = in_order(flat, way)
        example = NestedExample.of_flat(draw, flat)
        got, alike = run(example, way), run(flat, way)
        assert got.rows == alike.rows, (number, way, example)
        matched += len(got.rows)
        if flat.query.returned:
            values = [[list(each.values()) for each in found.results] for found in (got, alike)]
            assert repr(values[0]) == repr(values[1]), number
    assert matched
