"""Objects of the package can be pickled and copied, or name another way."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase import errors
from sase.source import Source, Span

EVENTS = pa.table(
    {
        "ts": range(40),
        "type": pa.array(["A", "B", "C", "B"] * 10).dictionary_encode(),
        "id": [number % 3 for number in range(40)],
        "s": ["x", "y", None, "z"] * 10,
    }
)
PAIRS = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9"
QUERIES = {
    "structs": PAIRS,
    "a negated end": "EVENT SEQ(A a, !(B b)) WITHIN 3",
    "series": "EVENT SEQ(A a, B+ b[]) WHERE skip_till_next_match WITHIN 9",
    "values": f"{PAIRS} RETURN Pair(a.s AS s, b.ts - a.ts AS d)",
    "nothing": f"{PAIRS} HAVING a.id = 9 RETURN a.s AS s",
    "overflows": "EVENT A a WHERE a.ts + 9223372036854775807 > 0 OR a.id = 1",
    "a limit": f"{PAIRS} LIMIT 3",
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda given: pickle.loads(pickle.dumps(given)),
    "protocol 2": lambda given: pickle.loads(pickle.dumps(given, 2)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@pytest.fixture(params=WAYS)
def again(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return WAYS[request.param]


def check(found: sase.Matches, copied: sase.Matches) -> None:
    assert type(copied) is sase.Matches
    assert copied.to_arrow().equals(found.to_arrow())
    assert copied.rows.equals(found.rows)
    assert (copied.names, copied.type_name, copied.schema) == (
        found.names, found.type_name, found.schema,
    )  # fmt: skip
    assert copied.report == found.report
    assert copied.report.timings == found.report.timings
    assert repr(copied) == repr(found)
    assert copied.head(2).to_pylist() == found[:2]


@pytest.mark.parametrize("query", QUERIES)
def test_matches(again: Callable[[Any], Any], query: str) -> None:
    """Also before they are searched for, and of a part of them."""
    found = sase.match(QUERIES[query], EVENTS)
    copied = again(sase.match(QUERIES[query], EVENTS))
    assert copied.to_arrow().equals(found.to_arrow())
    check(found, again(found))
    check(found.head(2), again(found.head(2)))


def test_matches_hold_no_more_than_is_shown() -> None:
    wide = EVENTS.append_column("text", [["x" * 10_000] * 40])
    few = sase.match("EVENT A a RETURN a.id AS id", wide)
    assert len(pickle.dumps(few)) < 20_000
    whole = sase.match("EVENT A a", wide)
    assert len(pickle.dumps(whole.head(1))) < len(pickle.dumps(whole)) / 5


def test_matches_of_pushes_and_their_reports(again: Callable[[Any], Any]) -> None:
    plan = sase.compile(PAIRS, EVENTS, on_bad_row="quarantine")
    matcher = plan.open()
    pushed = matcher.push([{"ts": 0, "type": "A", "id": 1}, {"ts": 1, "type": None, "id": 1}])
    check(pushed, again(pushed))
    assert again(pushed.report).quarantined.equals(pushed.report.quarantined)
    found = matcher.push(EVENTS.slice(2))
    check(found, again(found))
    check(rest := matcher.finish(), again(rest))
    assert rest.report.counters


@pytest.mark.parametrize("query", QUERIES)
def test_plans(again: Callable[[Any], Any], query: str) -> None:
    """Also those that ran, with their results."""
    plan = sase.compile(QUERIES[query], EVENTS, params={"unused": 1})
    rows = plan.run(EVENTS).rows
    copied = again(plan)
    assert copied == plan
    assert (copied.warnings, copied.params) == (plan.warnings, plan.params)
    assert copied.run(EVENTS).rows.equals(rows)
    assert again(plan.schema) == plan.schema


def test_numbers_and_explanations(again: Callable[[Any], Any]) -> None:
    count = sase.match(PAIRS, EVENTS, output="count")
    copied = again(count)
    assert (copied, copied.is_counted, copied.report) == (count, count.is_counted, count.report)
    for given in (
        sase.explain(PAIRS, EVENTS),
        sase.explain(PAIRS, EVENTS, analyze=True),
        sase.why("EVENT SEQ(A a, B b) WHERE [id] AND a.s = 'no'", EVENTS),
        sase.compare(PAIRS, EVENTS),
    ):
        assert str(again(given)) == str(given)


def test_errors_have_all_their_fields(again: Callable[[Any], Any]) -> None:
    """Each kind of error there is, raised by the package or made."""
    raised: list[errors.SaseError] = []
    for query, events in (
        ("EVENT SEQ(A a, B b", EVENTS),
        ("EVENT A a WHERE a.x = 1 AND a.y = 2", EVENTS),
        ("EVENT A a", [{"ts": 1, "type": "A"}, {"ts": None, "type": "A"}]),
        ("EVENT A a", 7),
    ):
        with pytest.raises(errors.SaseError) as caught:
            sase.match(query, events)
        raised.append(caught.value)
    source = Source("EVENT A a", "query")
    found = errors.Diagnostic("code", "a message", Span(6, 7), source, ("a hint",))
    raised += [
        kind((found,)) if issubclass(kind, errors.QueryError) else kind("a message")
        for kind in kinds(errors.SaseError)
    ]
    for error in raised:
        copied = again(error)
        assert (type(copied), str(copied), vars(copied)) == (type(error), str(error), vars(error))
    assert vars(again(raised[2])) == {
        "message": raised[2].message, "row": 1, "column": "ts", "value": None,  # type: ignore[attr-defined]
    }  # fmt: skip


def kinds(root: type[errors.SaseError]) -> set[type[errors.SaseError]]:
    """A class and those below it that are public."""
    below = {kind for each in root.__subclasses__() for kind in kinds(each)}
    return {kind for kind in below | {root} if kind.__module__ == "sase.errors"}


def test_what_is_open_says_what_to_do(again: Callable[[Any], Any]) -> None:
    matcher = sase.compile(PAIRS, EVENTS).open()
    with pytest.raises(errors.SaseError, match=r"keep its  snapshot\(\)"):
        again(matcher)
    found = sase.match(PAIRS, EVENTS, output="compressed")
    with pytest.raises(errors.SaseError, match="a set of matches is not pickled or copied"):
        again(found)
