"""Queries over few keys, and events of which many are equal in time and `seq`."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.drawing.examples import Example
from tests.drawing.patterns import Part
from tests.drawing.queries import Query
from tests.drawing.streams import CLOCKS, INTEGER, WIDE, Row, Setting
from tests.spark.cases import Case, Manner

SETTING = Setting(
    WIDE,
    CLOCKS["raw"],
    {"id": INTEGER},
    dict.fromkeys("ABC", ("id",)),
    {"time": "ts", "type": "type", "seq": "sq", "types": None, "time_unit": None},
)
FIRST, A, B = Part("A", ("A",), "f"), Part("A", ("A",), "a"), Part("B", ("B",), "b")
ABSENT = Part("C", ("C",), "c", negated=True)
few_rows: st.SearchStrategy[list[Row]] = st.lists(
    st.builds(
        lambda ts, kind, key, seq: {"ts": ts, "type": kind, "id": key, "sq": seq},
        st.integers(0, 2),
        st.sampled_from("AABBC"),
        st.integers(1, 3),
        st.integers(0, 2),
    ),
    max_size=24,
)
patterns = st.sampled_from([(B,), (A, B), (A, B, ABSENT), (A, ABSENT, B), (FIRST, A, B)])


def rows_of_keys(*known: tuple[int, str, int, int]) -> list[Row]:
    """Rows by time, type, key and number."""
    return [{"ts": ts, "type": kind, "id": key, "sq": seq} for ts, kind, key, seq in known]


def both_ways(query: Query, rows: list[Row], manner: Manner) -> tuple[Case, Case]:
    """The rows with smaller keys first, and with greater ones."""

    def ordered(sign: int) -> Case:
        placed = sorted(rows, key=lambda row: sign * int(row["id"]))
        return Case(Example(query, SETTING, placed), manner)

    return ordered(1), ordered(-1)
