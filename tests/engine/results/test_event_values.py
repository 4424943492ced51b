"""Columns of RETURN with values as the events have them, beside the events of the same matches."""

from __future__ import annotations

import math
import statistics
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.errors import BindingError
from tests.drawing.draw import Draw
from tests.seeds import draw_numbers


@pytest.mark.random
def test_the_median_is_that_of_python() -> None:
    kinds = {
        pa.int64(): [1, 2, 3, -5, None], pa.float64(): [0.5, 1.5, -0.0, math.nan, math.inf, None],
        pa.decimal128(9, 2): [Decimal("1.25"), Decimal("2.00"), None],
    }  # fmt: skip
    query = "EVENT SEQ(A a, B* b[], C c) WHERE skip_till_next_match RETURN median(b[].v) AS m"
    for number in draw_numbers(40):
        draw = Draw(number)
        kind = draw.one_of(*kinds)
        types, values, wanted, own = list[str](), list[Any](), list[Any](), list[Any]()
        for _ in range(6):
            own = [draw.one_of(*kinds[kind]) for _ in range(draw.randrange(6))]
            types += ["A", *"B" * len(own), "C"]
            values += [None, *own, None]
            known = [float(v) for v in own if v is not None and v == v]
            wanted.append(statistics.median(known) if known else None)
        ts, key = range(len(types)), [types[: at + 1].count("A") for at in range(len(types))]
        events = {"ts": ts, "type": types, "v": pa.array(values, kind), "k": key}
        text = query.replace("match RETURN", "match {[k]} RETURN")
        found = sase.match(text, pa.table(events)).to_arrow()["m"]
        assert found.type == pa.float64() and repr(found.to_pylist()) == repr(wanted), number


# ---------------------------------------------------------------- by hand

ROWS = [
    {"ts": 1, "type": "A", "u": {"i": 1}, "l": ["x", "y"], "p": 5},
    {"ts": 2, "type": "B", "u": {"i": 2}, "l": [], "p": 7},
    {"ts": 3, "type": "B", "u": None, "l": None, "p": None},
    {"ts": 4, "type": "C", "u": {"i": 4}, "l": ["z"], "p": 9},
]
SEQUENCE = "EVENT SEQ(A a, B+ b[], C c) WHERE skip_till_next_match RETURN "


@pytest.mark.parametrize(
    ("items", "row"),
    [
        ("a.u, c.l", {"a_u": {"i": 1}, "c_l": ["z"]}),
        ("a.u.i, c.l[1], c.l[2] AS no", {"a_u_i": 1, "c_l_1": "z", "no": None}),
        ("b[].u", {"b_u": [{"i": 2}, None]}),
        ("b[1].l, b[2].u.i, b[2].l", {"b_1_l": [], "b_2_u_i": None, "b_2_l": None}),
        ("b[].(p, ts)", {"b_p": [7, None], "b_ts": [2, 3]}),
        ("b[].p, b[2].p AS q, b[3].p AS r", {"b_p": [7, None], "q": None, "r": None}),
        ("median(b[].p)", {"median_b_p": 7.0}),
        ("c.*", {"c_ts": 4, "c_type": "C", "c_u": {"i": 4}, "c_l": ["z"], "c_p": 9}),
        ("b.*", {
            "b_ts": [2, 3], "b_type": ["B", "B"], "b_u": [{"i": 2}, None], "b_l": [[], None],
            "b_p": [7, None],
        }),
    ],
)  # fmt: skip
def test_items(items: str, row: dict[str, Any]) -> None:
    for events in (ROWS, pa.Table.from_pylist(ROWS)):
        for plan in ("optimized", "basic"):
            (found,) = sase.match(SEQUENCE + items, events, plan=plan).to_arrow().to_pylist()
            assert {name: found[name] for name in row} == row
            assert len(found) == len(row) + 3


def test_a_statement_reads_the_lists_of_another() -> None:
    script = f"CREATE STREAM S AS {SEQUENCE} S(b[].p AS ps, a.u AS u);"
    reader = "FROM S EVENT S s WHERE list_contains(s.ps, 7) AND s.u.i = 1 RETURN s.ps[1] AS p"
    (found,) = sase.match(script + reader, ROWS).to_arrow().to_pylist()
    assert found["p"] == 7


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ("median(b[].l)", "median does not take `l`: it is a list"),
        ("median(b[].p) + 1", "by itself"),
        ("median(a.p)", "there is no function `median`"),
        ("b[2].p + 1", "in RETURN `b\\[2\\].p` is an item by itself"),
        ("b[].(p, u) AS x", "is several events, and a single value is needed"),
        ("b[1].l, b[1].l", "cannot have a column `b_1_l`"),
        ("b[0].p", "a series has no index `0`"),
        ("b[].nothing", "no column `nothing`"),
    ],
)
def test_other_items_are_refused(items: str, said: str) -> None:
    with pytest.raises(BindingError, match=said):
        sase.match(SEQUENCE + items, ROWS)
