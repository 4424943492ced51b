"""A value beyond int64 is reported once, whichever branches compute it, by their variables."""

from __future__ import annotations

import pyarrow as pa
import pytest

import sase

EVENTS = pa.table({
    "ts": range(40), "type": ["ABC"[n % 3] for n in range(40)], "big": [2**62] * 40,
})  # fmt: skip


def warned(condition: str, pattern: str = "SEQ(A a, (B b OR SEQ(C c, B d)))") -> list[str]:
    """The reported expressions, by all ways of running."""
    text = f"EVENT {pattern} WHERE {condition} WITHIN 5"
    script = sase.Script(f"{text}; EVENT A x", EVENTS.schema)
    matcher = script.open()
    matcher.push(None, EVENTS)
    reports = [
        sase.match(text, EVENTS).report,
        script.run(EVENTS)["query_1"].report,
        sase.compile(text, EVENTS.schema).open().push(EVENTS).report,
        matcher.reports["query_1"],
    ]
    told = {tuple(each.split("`")[1] for each in report.warnings) for report in reports}
    (only,) = told
    return list(only)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.big + a.big > 0", ["a.big + a.big"]),
        ("b.big + b.big > 1 AND d.big + d.big > 0", ["b.big + b.big", "d.big + d.big"]),
        ("a.big + b.big > 1 AND a.big + c.big > 0", ["a.big + b.big", "a.big + c.big"]),
    ],
)
def test_each_expression_is_told_once(condition: str, expected: list[str]) -> None:
    assert warned(condition) == expected


def test_branches_of_one_scan_tell_their_own_variables() -> None:
    found = warned("b.big + b.big > 1 AND c.big + c.big > 0", "SEQ(A a, (B b OR C c))")
    assert found == ["b.big + b.big", "c.big + c.big"]


def test_what_branches_count_is_added() -> None:
    def times(pattern: str) -> int:
        text = f"EVENT {pattern} WITHIN 5 RETURN a.big + a.big AS x"
        (warning,) = sase.match(text, EVENTS).report.warnings
        return int(warning.split("integers ")[1].split()[0])

    one, other = times("SEQ(A a, B b)"), times("SEQ(A a, C c, B d)")
    assert times("SEQ(A a, (B b OR SEQ(C c, B d)))") == one + other
