"""More matches than are allowed: the warning before, and the state after the stop."""

from __future__ import annotations

import re
import signal
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.engine.results import matches as matches_module
from sase.errors import BudgetError, BudgetWarning
from sase.planning.statistics import Statistics, TypeStatistics

EVENTS = pa.table({"ts": range(400), "type": ["A", "B", "A", "C"] * 100})
PAIRS = "EVENT SEQ(A a, B b) WITHIN 30"
EXPECTED = Statistics(400, 0, 399, (TypeStatistics("A", 200), TypeStatistics("B", 100)))


def rows(query: str) -> list[dict[str, int]]:
    found: list[dict[str, int]] = sase.match(query, EVENTS).rows.to_pylist()
    return found


def stopped(matches: sase.Matches) -> tuple[list[dict[str, Any]], str]:
    """The output of a reader until it stops, and the reason why it does."""
    reader, found = matches.to_reader(), list[dict[str, Any]]()
    with pytest.raises(BudgetError) as caught:
        while True:
            found += reader.read_next_batch().to_pylist()
    return found, str(caught.value)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("most", [1, 7, 500])
def test_a_reader_gives_what_is_allowed_and_then_the_events_it_reached(
    most: int, threads: int
) -> None:
    found, message = stopped(sase.match(PAIRS, EVENTS, max_matches=most, threads=threads))
    assert found == sase.match(PAIRS, EVENTS, limit=most).to_pylist()
    last = rows(PAIRS)[most - 1]
    assert message == (
        f"there are more than {most} matches, which is max_matches; match {most} begins with input"
        f" row {last['a']} and ends with row {last['b']}: narrow the query, set LIMIT, read them"
        " one batch after the other with a greater max_matches, or count and sample them without a"
        ' list with output="compressed"'
    )


def test_as_many_as_are_allowed_are_no_error() -> None:
    count = len(rows(PAIRS))
    assert len(sase.match(PAIRS, EVENTS, max_matches=count)) == count
    with pytest.raises(BudgetError, match=f"match {count - 1:,} begins"):
        len(sase.match(PAIRS, EVENTS, max_matches=count - 1))


def test_one_event_and_none() -> None:
    _, message = stopped(sase.match("EVENT B b", EVENTS, max_matches=3))
    assert "; match 3 is input row 9: " in message
    found, message = stopped(sase.match("EVENT B b", EVENTS, max_matches=0))
    assert found == []
    assert "more than 0 matches, which is max_matches: narrow" in message


@pytest.mark.parametrize("asked", [len, list, sase.Matches.to_arrow, repr])
def test_however_they_are_asked_for(asked: Any) -> None:
    with pytest.raises(BudgetError, match="match 5 begins with input row"):
        asked(sase.match(PAIRS, EVENTS, max_matches=5))


def test_what_memory_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 bytes for each match, in half of the free memory; a reader holds none."""
    count = len(rows(PAIRS))
    monkeypatch.setattr(matches_module, "LEAST", 0)
    monkeypatch.setattr(matches_module, "available_memory", lambda: 320)
    with pytest.raises(BudgetError) as caught:
        len(sase.match(PAIRS, EVENTS))
    message = str(caught.value)
    assert message.startswith(
        "there are more than 10 matches, the most that memory can hold; match 10 begins with"
    )
    assert "read them one batch after the other with to_reader()" in message
    assert sase.match(PAIRS, EVENTS).to_reader().read_all().num_rows == count


def test_what_memory_can_hold_of_long_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event of a series counts, and few events are enough to foresee that it is too much."""
    monkeypatch.setattr(matches_module, "LEAST", 0)
    monkeypatch.setattr(matches_module, "available_memory", lambda: 8_000_000)
    events = [{"ts": n, "type": "A"} for n in range(60)]
    message = r'matches, the most that memory can hold.*output="compressed"'
    with pytest.warns(BudgetWarning, match='output="compressed"'):
        matches = sase.match("EVENT A+ a[]", events)
        with pytest.raises(BudgetError, match=message) as caught:
            len(matches)
    # 8 numbers and more for each of them.
    allowed = int(str(caught.value).split()[4].replace(",", ""))
    assert 4_000_000 / (8 * 20) < allowed < 4_000_000 / (8 * 4)


def test_a_search_that_finds_nothing_can_be_interrupted() -> None:
    """A walk back through 2 to the power of 60 candidates lets go now and then."""

    class Stop(Exception):
        pass

    def stop(*signal: object) -> None:
        raise Stop

    events = [{"ts": n, "type": "A", "v": n} for n in range(60)]
    query = "EVENT A+ a[] WHERE skip_till_any_match { max(a[].v) < 0 }"
    before = signal.signal(signal.SIGALRM, stop)
    plan = sase.compile(query, events, plan="postponed")
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(Stop):
            len(plan.run(events))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_run_is_warned_of_by_statistics_that_are_given() -> None:
    with pytest.warns(BudgetWarning, match=re.escape("more than max_matches=9: there are about")):
        matches = sase.match(PAIRS, EVENTS, max_matches=9, stats=EXPECTED)
        _, message = stopped(matches)
    assert "more than 9 matches" in message


def test_no_warning_where_all_is_well() -> None:
    """Warnings are errors here."""
    assert len(sase.match(PAIRS, EVENTS, max_matches=5_000, stats=EXPECTED)) == len(rows(PAIRS))
    assert len(sase.match(PAIRS, EVENTS, max_matches=5_000)) == len(rows(PAIRS))


def test_the_last_match_within_the_budget_may_be_one_of_series() -> None:
    """The error names its first and its last event, whatever the components have bound."""
    rows = [{"ts": ts, "type": name} for ts, name in enumerate("AABBC")]
    with pytest.raises(BudgetError, match="match 3 begins with input row 1 and ends with row 2"):
        len(sase.match("EVENT SEQ(A a, B* b[], C? c)", rows, max_matches=3))
    with pytest.raises(BudgetError, match="match 1 is input row 0:"):
        len(sase.match("EVENT SEQ(A a, B? b)", rows, max_matches=1))


def test_the_warning_names_the_longest_run() -> None:
    events = [{"ts": n, "type": "T", "v": n} for n in range(60)]
    query = "EVENT SEQ(T a, T+ b[]) WHERE b[i].v > b[i-1].v WITHIN 99"
    with (
        pytest.warns(sase.BudgetWarning, match='earliest_maximal with output="non_overlap" finds'),
        pytest.raises(sase.BudgetError),
    ):
        len(sase.match(query, events, max_matches=1_000))
