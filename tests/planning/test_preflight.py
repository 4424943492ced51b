"""The warning before a run that may find too much: how much, why, and a remedy."""

from __future__ import annotations

import pytest

from sase.planning.cost.cost import cost_of
from sase.planning.cost.preflight import foreseen
from sase.planning.statistics import Statistics
from tests.planning.plans import known, made

MANY = known(span=100_000, A=1_000, B=2_000, C=30, values={"many": 100})
MEMORY = 1 << 30


def said(
    query: str, most: int | None = 10, memory: int = MEMORY, statistics: Statistics = MANY
) -> str | None:
    return foreseen(made(query, statistics).plan, statistics, most, memory)


def test_a_whole_message() -> None:
    assert said("EVENT SEQ(A a, B b) WITHIN 1000") == (
        "about 19,900 matches are expected, more than max_matches=10: there are about 9.95 a for"
        " each event that may follow; half the window would leave about 9,980, an equivalence test"
        " [attribute] keeps apart events that do not belong together, set LIMIT, allow more, or"
        " count"
        ' and sample them without a list with output="compressed"'
    )


def test_without_a_budget_it_is_what_memory_can_hold() -> None:
    query = "EVENT SEQ(A a, B b)"
    assert said(query, None) is None
    message = said(query, None, 1 << 20)
    assert message is not None
    assert "more than 1 MiB can hold" in message
    assert "read them batch after batch with to_reader()" in message
    assert "to_reader" not in (said(query) or "to_reader"), "max_matches holds for it, too"


def test_what_is_returned_takes_memory_too() -> None:
    """16 bytes for two events, and 32 more for two columns; a million matches are expected."""
    query, memory = "EVENT SEQ(A a, B b)", 20_000_000
    assert said(query, None, memory) is None
    assert said(f"{query} RETURN a.v, b.v", None, memory) is not None


@pytest.mark.parametrize(("most", "is_warned"), [(999_999, True), (1_000_000, False)])
def test_only_more_than_the_budget_is_too_much(most: int, is_warned: bool) -> None:
    query = "EVENT SEQ(A a, B b)"
    assert cost_of(made(query, MANY).plan, MANY).results == 1_000_000
    assert (said(query, most) is not None) is is_warned


def test_a_limit_keeps_within_the_budget() -> None:
    assert said("EVENT SEQ(A a, B b) LIMIT 10") is None
    assert said("EVENT SEQ(A a, B b) LIMIT 11") is not None


def test_the_part_that_causes_it_is_named() -> None:
    """Each C may follow on many pairs of A and B; of one type it is that type."""
    message = said("EVENT SEQ(C c, A a, B b)")
    assert message is not None
    assert "there are about 500 a and about 10 c for each event that may follow" in message
    assert "every a is a match;" in (said("EVENT A a") or "")


@pytest.mark.parametrize(
    ("query", "helps", "not_helping"),
    [
        ("EVENT SEQ(A a, B b)", ["give it a window", "equivalence test"], ["half the window"]),
        (
            "EVENT SEQ(A a, B b) WHERE [many]",
            ["give it a window"],
            ["half the window", "equivalence test"],
        ),
        (
            "EVENT SEQ(A a, B b) WHERE a.many = b.many",
            ["give it a window"],
            ["equivalence test"],
        ),
        ("EVENT SEQ(A a, B b) WITHIN 500", ["half the window"], ["give it a window"]),
        # Half of it is as long as the stream all the same.
        ("EVENT SEQ(A a, B b) WITHIN 400000", ["equivalence test"], ["half the window"]),
        ("EVENT A a WITHIN 5", [], ["window", "equivalence test"]),
        ("EVENT A a", [], ["window", "equivalence test"]),
    ],
)
def test_what_would_help(query: str, helps: list[str], not_helping: list[str]) -> None:
    message = said(query)
    assert message is not None
    assert "set LIMIT, allow more, or count and sample them" in message
    for each in helps:
        assert each in message
    for each in not_helping:
        assert each not in message.split(";")[1]


def test_half_the_window_leaves_what_it_says() -> None:
    message = said("EVENT SEQ(A a, B b) WITHIN 5000") or ""
    half = cost_of(made("EVENT SEQ(A a, B b) WITHIN 2500", MANY).plan, MANY).results
    assert f"would leave about {float(f'{half:.3g}'):,.0f}," in message
