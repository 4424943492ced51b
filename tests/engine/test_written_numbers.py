"""Numbers with a point are exact: beside decimals, integers and floats of any width, on every way.

The expected values are those of Python's `decimal` and `fractions`; `nearest_single` by NumPy's
float32."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sase
from sase.binding.values.folding import COMPARISONS
from sase.binding.values.literals import nearest_float
from sase.errors import SchemaError
from tests.naive.values import nearest_single

KINDS = {
    "money": pa.decimal128(10, 2),
    "exact": pa.decimal128(18, 17),
    "whole": pa.int64(),
    "double": pa.float64(),
    "single": pa.float32(),
}
FLOATS = {"double": float, "single": nearest_single}
# About numbers that floats have, and have not, at the ends of decimals, and of more digits.
NUMBERS = [
    *("0.0", "0.1", "0.10", "0.3", "0.5", "2.5", "7.0", "19.99", "-19.99", "99999999.99", "1.0e2"),
    *("0.30000000000000004", "0.1000000014901161193847656250", "0.10000000149011612", "1e-30"),
    *("3.14159265358979323846", "1.23456789012345678", "1.234567890123456785", "1e30", "-1e400"),
    *(
        "9007199254740993.0",
        "9007199254740992.5",
        "9223372036854775807.5",
        "-9223372036854775808.5",
    ),
    *("16777217.0", "1.00000005960464477539062500001", "9223372036854775807.0"),
]


def _cells(kind: str, literals: list[str], draw: random.Random) -> list[Any]:
    """Values of a column: NULL, some, and the nearest to the literals with their neighbours."""
    arrow, near = KINDS[kind], [Decimal(text) for text in literals]
    found: list[Any] = [None]
    for each in (*near, Decimal(draw.randrange(-(10**4), 10**4)).scaleb(-2)):
        if kind in FLOATS:
            found += [FLOATS[kind](each)] if abs(each) < 10**38 else []
        else:
            unit = Fraction(1, 10 ** getattr(arrow, "scale", 0))
            found += [round(Fraction(each) / unit) + step for step in (-1, 0, 1)]
    if kind == "whole":
        return [each for each in found if each is None or -(2**63) <= each < 2**63]
    if kind in FLOATS:
        return found
    most = 10**arrow.precision
    return [
        each if each is None else Decimal(each).scaleb(-arrow.scale)
        for each in found
        if each is None or abs(each) < most
    ]


def _as_compared(literal: Decimal, kind: str) -> Fraction | float:
    near: Any = FLOATS[kind](literal) if kind in FLOATS else literal
    return near if near in (float("inf"), float("-inf")) else Fraction(near)


def _condition(kind: str, draw: random.Random) -> tuple[str, list[str], Callable[[Any], bool]]:
    """A condition on `x.p`, its literals, and its truth for a value that is not NULL."""
    first, second = (draw.choice(NUMBERS) for _ in range(2))
    one, two = (_as_compared(Decimal(text), kind) for text in (first, second))
    sign = draw.choice(["=", "!=", "<", "<=", ">", ">="])
    turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
    is_one = COMPARISONS[sign]
    no = draw.choice(["", "NOT "])
    forms: list[tuple[str, Callable[[Any], bool]]] = [
        (f"x.p {sign} {first}", lambda v: is_one(v, one)),
        (f"{first} {turned} x.p", lambda v: is_one(v, one)),
        (f"x.p {no}BETWEEN {first} AND {second}", lambda v: (one <= v <= two) != bool(no)),
        (f"x.p {no}IN ({first}, {second})", lambda v: (v in (one, two)) != bool(no)),
        (f"x.p {no}IN ({first}{f', {second}' * 17})", lambda v: (v in (one, two)) != bool(no)),
        (f"coalesce(x.p, NULL) {sign} {first}", lambda v: is_one(v, one)),
        (f"{first} {no}BETWEEN x.p AND x.p", lambda v: (v == one) != bool(no)),
    ]
    if kind != "whole":  # which the least integer has no negative of, and choices make floats of
        forms += [
            (f"x.p IS NOT NULL AND greatest(x.p, {first}) = {first}", lambda v: v <= one),
            (f"x.p IS NOT NULL AND least({first}, x.p) = {first}", lambda v: v >= one),
        ]
    text, expected = draw.choice(forms)
    return text, [first, second], expected


def _where(condition: str, draw: random.Random) -> str:
    """A query that NumPy, programs over rows, programs over tuples, or HAVING decide."""
    return draw.choice(
        [
            f"EVENT A x WHERE {condition} RETURN x.n AS n",
            f"EVENT A x WHERE ({condition}) OR x.ts + 0.5 < 0 RETURN x.n AS n",
            f"EVENT SEQ(B y, A x) WHERE ({condition}) OR x.ts < y.ts RETURN x.n AS n",
            f"EVENT A x HAVING {condition} RETURN x.n AS n",
        ]
    )


def _found(query: str, events: pa.Table, draw: random.Random, *, is_open: bool) -> list[int]:
    plan = sase.compile(
        query,
        sase.Schema() if is_open else events,
        plan=draw.choice(["basic", "optimized"]),
    )
    if draw.random() < 0.3:
        plan = sase.Plan.from_json(plan.to_json())
    if draw.random() < 0.5:
        tables = [plan.run(events).to_arrow()]
    else:
        matcher, cut = plan.open(), draw.randrange(len(events))
        tables = [matcher.push(part).to_arrow() for part in (events[:cut], events[cut:])]
        tables.append(matcher.finish().to_arrow())
    return sorted(n for table in tables for n in table.column("n").to_pylist())


@given(st.integers(0, 2**40))
def test_a_number_is_compared_as_what_is_beside_it(seed: int) -> None:
    draw = random.Random(seed)
    kind = draw.choice([*KINDS])
    condition, literals, expected = _condition(kind, draw)
    cells = _cells(kind, literals, draw)
    wanted = [
        n for n, v in enumerate(cells)
        if v is not None and expected(v if abs(v) == float("inf") else Fraction(v))
    ]  # fmt: skip
    events = pa.table(
        {
            "ts": range(-1, len(cells)),
            "type": ["B"] + ["A"] * len(cells),
            "n": [-1, *range(len(cells))],
            "p": pa.array([None, *cells], KINDS[kind]),
        }
    )
    query = _where(condition, draw)
    is_open = kind != "single" and draw.random() < 0.4
    assert _found(query, events, draw, is_open=is_open) == wanted, query


@given(st.integers(0, 2**40))
def test_the_nearest_float_of_fewer_bits_is_rounded_once(seed: int) -> None:
    draw = random.Random(seed)
    halfway = Fraction(2 * draw.randrange(2**23, 2**24) + 1, 2) * Fraction(2) ** draw.randint(
        -60, 60
    )
    digits = Decimal(halfway.numerator) / Decimal(halfway.denominator)
    for number in (digits, digits.next_plus(), digits.next_minus(), Decimal(str(float(halfway)))):
        assert nearest_float(number, 32) == nearest_single(number)


def _prices(kind: pa.DataType) -> pa.Table:
    prices = [Decimal(text) for text in ("0.10", "0.20", "0.30", "19.99")]
    cells: Any = prices if pa.types.is_decimal(kind) else [float(each) for each in prices]
    column = pa.array(cells, kind if pa.types.is_decimal(kind) else pa.float64()).cast(kind)
    return pa.table({"ts": range(4), "type": ["A"] * 4, "price": column})


@pytest.mark.parametrize("kind", [KINDS["money"], KINDS["double"], KINDS["single"]], ids=str)
@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("price = 19.99", [3]),
        ("price = :p", [3]),
        ("price BETWEEN 0.10 AND 0.30", [0, 1, 2]),
        ("price IN (0.1, 0.3)", [0, 2]),
        ("price < 0.3", [0, 1]),
        ("price != 0.2", [0, 2, 3]),
        ("[price = 19.99]", [3]),
        ("-price = -19.99", [3]),
        ("abs(price) = 19.99", [3]),
        ("coalesce(price, 0.5) = 0.1", [0]),
    ],
)
def test_a_price_equals_the_number_as_it_is_written(
    kind: pa.DataType, where: str, rows: list[int]
) -> None:
    params = {"p": Decimal("19.99")} if ":p" in where else None
    found = sase.match(f"EVENT A WHERE {where} RETURN ts AS n", _prices(kind), params=params)
    assert found.to_arrow().column("n").to_pylist() == rows


def test_types_may_hold_an_attribute_as_decimals_and_as_floats() -> None:
    events = {"A": _prices(KINDS["money"]), "B": _prices(KINDS["double"])}
    tables = {name: table.drop_columns("type") for name, table in events.items()}
    found = sase.match("EVENT ANY(A, B) x WHERE x.price IN (0.1, 19.99)", tables, type=None)
    assert len(found) == 4


def test_a_float32_that_no_schema_told_of_is_refused_beside_a_number_with_a_point() -> None:
    plan = sase.compile("EVENT A x WHERE x.price = 19.99", sase.Schema())
    with pytest.raises(SchemaError, match=r"`x.price` is a float32, which a number with a point"):
        plan.run(_prices(KINDS["single"]))
    # A float32 has this one.
    plan = sase.compile("EVENT A x WHERE x.price < 0.25", sase.Schema())
    assert len(plan.run(_prices(KINDS["single"]))) == 2


def test_floats_are_rounded_where_the_schema_says_float32() -> None:
    plan = sase.compile("EVENT A x WHERE x.price = 19.99", _prices(KINDS["single"]))
    assert len(plan.run(_prices(KINDS["double"]))) == 1
    assert len(plan.open().push([{"ts": 9, "type": "A", "price": 19.99}])) == 1


def test_a_number_by_itself_is_a_float64_in_results_and_what_is_chosen_among_decimals_is_none() -> (
    None
):
    query = "EVENT A x WHERE x.ts = 0 RETURN 0.1 AS a, coalesce(x.price, 0.125) AS b"
    table = sase.match(query, _prices(KINDS["money"])).to_arrow()
    assert table.column("a").type == pa.float64()
    assert table.column("b").type == pa.decimal128(38, 3)
    assert table.select(["a", "b"]).to_pylist() == [{"a": 0.1, "b": Decimal("0.100")}]


def test_plans_show_numbers_as_they_are_written() -> None:
    for kind in ("money", "double", "single"):
        shown = str(sase.explain("EVENT A x WHERE x.price = 19.99", _prices(KINDS[kind])))
        assert "x.price = 19.99" in shown
