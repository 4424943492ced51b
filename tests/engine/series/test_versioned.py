"""The versioned buffer: entries and pointers as the paper draws them, no more than are needed."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

import sase
from sase.engine.kernels.baselines import versioned_buffer as of
from sase.engine.operators.baselines.versioned_store import VersionedStore
from sase.engine.snapshots.codec import from_bytes, to_bytes
from sase.errors import SnapshotError
from sase.planning.engine_plan import Options
from tests.test_naive import LEVELS_1_AND_2

RANDOM = Random(5)
EVENTS = [
    {"ts": n, "type": "S", "k": RANDOM.randrange(2), "v": RANDOM.randrange(9)} for n in range(300)
]
OPTIONS = Options(block=64, chunk=3, stack=2)
SERIES = "EVENT SEQ(S+ a[], S b) WHERE skip_till_next_match {{[k] {condition}}} {window}"


def evaluation(matcher: Any) -> VersionedStore:
    found = matcher.pipeline.operators[0].store
    assert isinstance(found, VersionedStore)
    return found


def pointers(state: VersionedStore) -> list[str]:
    """The pointers that are kept, with their versions; those of first events lead to `·`."""
    entries, led = state._kept()
    first, lowest = (int(state._buffer.state[each]) for each in (of.FIRST_ENTRY, of.FIRST_POINTER))
    names = [f"{'ab'[entry[of.LEVEL]]}{entry[of.EVENT] + 1}" for entry in entries]
    found = []
    for name, entry in zip(names, entries, strict=True):
        number = int(entry[of.POINTER])
        while number >= 0:
            pointer = led[number - lowest]
            before = "·" if pointer[of.TO] < 0 else names[pointer[of.TO] - first]
            initiation, *digits = pointer[of.VERSION : of.VERSION + 2 + int(entry[of.LEVEL])]
            version = ".".join(map(str, [initiation + 1, *digits]))
            found.append(f"{name} → {before} {version}")
            number = int(pointer[of.AFTER])
    return sorted(found)


def test_figure_4_of_sase_plus() -> None:
    """The pointers of R1, R2 and R3, which e6 and e8 end; e6 is taken by R2 as well."""
    (case,) = (each for each in LEVELS_1_AND_2 if each["id"] == "S014")
    plan = sase.compile(case["query"], case["events"], plan="nfab_versioned", time_unit="s")
    matcher = plan.open()
    found = [matcher.push([event]).rows.to_pylist() for event in case["events"]]
    assert [len(rows) for rows in found] == [0, 0, 0, 0, 0, 2, 0, 1]
    assert pointers(evaluation(matcher)) == sorted(
        [
            "a1 → · 1.0", "a2 → a1 1.0", "a3 → a2 1.0", "a4 → a3 1.0", "a5 → a4 1.0",
            "b6 → a5 1.0.0", "a6 → a5 1.1", "a7 → a6 1.1", "b8 → a7 1.1.0", "a8 → a7 1.2",
            "a3 → · 2.0", "a4 → a3 2.0", "b6 → a4 2.0.0", "a6 → a4 2.1",
        ]
    )  # fmt: skip


@pytest.mark.parametrize("window", ["WITHIN 12", "WITHIN 7 EVENTS", ""])
@pytest.mark.parametrize("condition", ["", "AND a[i].v > a[i-1].v", "AND b.v > a[1].v"])
def test_a_pointer_for_each_node_and_fewer_entries(condition: str, window: str) -> None:
    query = SERIES.format(condition=condition, window=window)
    # Without a window each series of a key is in a match.
    events, counted = EVENTS if window else EVENTS[:100], {}
    for recipe in ("nfab", "nfab_versioned"):
        plan = replace(sase.compile(query, events, plan=recipe), options=OPTIONS)
        matches = plan.run(events, threads=1)
        counted[recipe] = matches.rows.to_pylist(), dict(matches.report.counters)["RunEvaluation"]
    (known, of_nodes), (found, of_buffer) = counted.values()
    assert found == known and len(found) > 200
    assert of_buffer["pointers"] == of_buffer["runs"] == of_nodes["runs"]
    assert of_buffer["entries"] < 0.9 * of_buffer["pointers"]
    for name in ("initiated", "split", "steps", "most_alive"):
        assert of_buffer[name] == of_nodes[name], name


@pytest.mark.parametrize(
    "query",
    [
        "EVENT SEQ(S+ a[], T b) WHERE skip_till_next_match {[k]} WITHIN 20",
        "EVENT SEQ(S{1,3} a[], T b) WHERE strict_contiguity",
    ],
)
def test_what_no_run_needs_is_forgotten(query: str) -> None:
    """However many events there were: of a window, or of runs that ended by themselves."""
    held = []
    for count in (2_000, 20_000):
        events = [{"ts": n, "type": "S", "k": n % 2} for n in range(count)]
        plan = sase.compile(query, events, plan="nfab_versioned", types=["S", "T"])
        options = Options(block=128, stack=64, analyze=True)
        matches = replace(plan, options=options).run(events, threads=1)
        assert len(matches) == 0
        held.append(dict(matches.report.counters)["RunEvaluation"]["most_bytes"])
    assert held[0] == held[1]


def change(state: dict[str, Any], name: str, at: tuple[int, int], value: int) -> None:
    """Write a number into an array of the evaluation."""
    found = np.array(state["operators"][0][name])
    found[at] = value
    state["operators"][0][name] = found


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("entries", (-1, of.EVENT), 10**9),
        ("entries", (-1, of.LEVEL), 7),
        ("entries", (-1, of.POINTER), 10**9),
        ("entries", (-1, of.BEFORE), -5),
        ("pointers", (-1, of.TO), 10**9),
        ("pointers", (-1, of.AFTER), 10**9),
        ("pointers", (-1, of.VERSION), 10**9),
        ("versions", (-1, of.ENTRY), 10**9),
        ("versions", (-1, of.VERSION), -9),
    ],
)
def test_what_leads_nowhere_is_refused(name: str, at: tuple[int, int], value: int) -> None:
    query = "EVENT SEQ(S+ a[], T b) WHERE skip_till_next_match {[k]} WITHIN 20"
    events = [{"ts": n, "type": "S", "k": 0} for n in range(3)]
    plan = sase.compile(query, events, plan="nfab_versioned", types=["S", "T"])
    matcher = plan.open()
    matcher.push(events)
    snapshot = matcher.snapshot()
    assert len(plan.restore(snapshot).push([{"ts": 3, "type": "T", "k": 0}])) == 3
    state = from_bytes(snapshot)
    change(state, name, at, value)
    with pytest.raises(SnapshotError):
        plan.restore(to_bytes(state))


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("EVENT SEQ(S a, S? b, S c) WHERE skip_till_any_match {[k]}", None),
        (SERIES.format(condition="AND a[i].v < b.v", window=""), "reads every event of a series"),
        ("EVENT S a WHERE skip_till_next_match {[k]}", "a match is a single event"),
    ],
)
def test_what_it_declines(query: str, reason: str | None) -> None:
    plan = sase.compile(query, EVENTS, plan="nfab_versioned")
    (step,) = (each for each in plan.steps if each.rewrite == "use_algorithm")
    assert (step.declined is None) if reason is None else (reason in str(step.declined))
    few = EVENTS[:20]
    assert plan.run(few).rows == sase.match(query, few, plan="nfab").rows


@pytest.mark.parametrize(
    "query",
    [
        "EVENT SEQ(A+ a[], A b) WHERE skip_till_next_match",
        "EVENT SEQ(A+ a[], A+ b[], A c) WHERE skip_till_next_match",
        "EVENT SEQ(A a, B* b[], (C c)?, B d) WHERE skip_till_next_match",
    ],
)
def test_an_event_at_several_levels_is_restored(query: str) -> None:
    """Pointers of its entries are written by turns, and runs differ in their entry alone."""
    rows = [{"ts": ts, "type": name} for ts, name in enumerate("AABBCBBABAAB")]
    plan = sase.compile(query, rows, plan="nfab_versioned")
    matcher, found = plan.open(), 0
    for row in rows:
        found += len(matcher.push([row]))
        matcher = plan.restore(matcher.snapshot())
    assert found + len(matcher.finish()) == len(plan.run(rows)) > 0
