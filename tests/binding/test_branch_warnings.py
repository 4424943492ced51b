"""Warnings of a pattern with choices: conditions never true of all branches, or of some."""

from __future__ import annotations

import pytest

from sase.binding import bind_text

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
