"""A matcher restored from a snapshot continues exactly as the one that it was taken of."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sase
from sase.engine.snapshots import codec as migrations
from sase.engine.snapshots.codec import from_bytes, to_bytes
from sase.errors import SaseError, SnapshotError
from sase.planning.engine_plan import Options
from sase.planning.recipes import recipe_names
from tests.engine.operators.plans import BY_RECIPE, QUERIES, alone, plan_of, stream, told
from tests.faults.processes import Programs

EVENTS = stream()
# The same with disorder: rows that are late by up to two, and by four.
MIXED = EVENTS.take(pa.array(sorted(range(50), key=lambda row: row + (row * 7) % 5)))


# Counters of runs and events that the window has ended already: these are removed sooner or later,
# with the next event or when a state is saved.
SEEN = ("steps", "most_alive")
HELD = (*SEEN, "alive", "expired", "candidates", "reread")


def on(
    matcher: Any, events: Any, start: int = 0, size: int = 3, left_out: Sequence[str] = SEEN
) -> list[Any]:
    """The output of the rest of the stream, the report of its end, and the late rows."""
    found = []
    for begin in range(start, len(events), size):
        found += told(matcher.push(events.slice(begin, size)))
    late, end = matcher.late.to_pylist(), matcher.finish()
    return [*found, *told(end), with_results(end.report, left_out), late]


def with_results(report: Any, left_out: Sequence[str]) -> Any:
    """A report without some of the counters."""
    counted = [
        (name, {key: each for key, each in found.items() if key not in left_out})
        for name, found in report.counters
    ]
    return replace(report, counters=tuple(counted))


# By every recipe, each second one with late rows: so every query is run with and without some.
@pytest.mark.parametrize(
    ("query", "recipe", "lateness"),
    [
        pytest.param(*each.values, number % 2 * 2, marks=each.marks)
        for number, each in enumerate(BY_RECIPE)
    ],
)
def test_it_goes_on_the_same(query: str, recipe: str, lateness: int) -> None:
    """The report's counters included, though the one that is restored was opened anew."""
    plan = replace(plan_of(query, recipe, Options(7, 3, 4)), lateness=lateness)
    second, first, third = gone_on(alone(plan))
    assert second == first == third


@cache
def gone_on(plan: sase.Plan) -> list[Any]:
    """The output from there on, of a restored matcher, its source, and one restored from it."""
    first = plan.open()
    for begin in range(0, 24, 3):
        first.push(MIXED.slice(begin, 3))
    second = plan.restore(first.snapshot())
    third = plan.restore(second.snapshot())
    return [on(each, MIXED, 24) for each in (second, first, third)]


SOME = settings(suppress_health_check=[HealthCheck.too_slow])


@SOME
@given(st.data())
def test_from_any_point(data: st.DataObject) -> None:
    """Restarted after some pushes, the stream returns the matches of one without a restart."""
    query = data.draw(st.sampled_from([*QUERIES]))
    options = data.draw(st.builds(Options, st.integers(1, 8), st.integers(1, 3), st.just(4)))
    plan = plan_of(query, data.draw(st.sampled_from(recipe_names())), options)
    plan = replace(plan, lateness=data.draw(st.integers(0, 5)))
    size, cuts = data.draw(st.integers(1, 9)), data.draw(st.sets(st.integers(0, 50), max_size=4))
    matcher, found = plan.open(), list[Any]()
    for number, begin in enumerate(range(0, 50, size)):
        found += told(matcher.push(MIXED.slice(begin, size)))
        if number in cuts:
            matcher = plan.restore(matcher.snapshot())
    unbroken = on(plan.open(), MIXED, size=size, left_out=HELD)
    assert [*found, *on(matcher, MIXED, 50, left_out=HELD)] == unbroken


# ---------------------------------------------------------------- elsewhere

CHILD = """
import pickle, sys
import pyarrow.feather
import sase
from pathlib import Path
from tests.engine.operators.plans import told

folder = Path(sys.argv[1])
events, results = pyarrow.feather.read_table(folder / "events"), {}
for path in sorted(folder.glob("*.plan")):
    plan = sase.Plan.from_json(path.read_text(encoding="utf-8"))
    matcher = plan.restore(path.with_suffix(".state").read_bytes())
    found = told(matcher.push(events.slice(0, 9))) + told(matcher.push(events.slice(9)))
    late = matcher.late["#row"].to_pylist()
    results[path.stem] = [*found, *told(matcher.finish()), late]
(folder / "results").write_bytes(pickle.dumps(results))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "lateness"),
    [
        ("optimized", 2),
        *(
            pytest.param(*each, marks=pytest.mark.heavy)
            for each in (("basic", 0), ("multi_pais", 1))
        ),
    ],
)
def test_in_a_new_process(recipe: str, lateness: int, tmp_path: Path, forked: Programs) -> None:
    import pyarrow.feather

    expected = {}
    rest = MIXED.slice(26)
    pyarrow.feather.write_feather(rest, tmp_path / "events")
    for query in QUERIES:
        plan = replace(plan_of(query, recipe), lateness=lateness)
        matcher = plan.open()
        matcher.push(MIXED.slice(0, 26))
        name = query.replace(" ", "-")
        (tmp_path / f"{name}.plan").write_text(plan.to_json(), encoding="utf-8")
        (tmp_path / f"{name}.state").write_bytes(matcher.snapshot())
        found = told(matcher.push(rest.slice(0, 9))) + told(matcher.push(rest.slice(9)))
        late = matcher.late["#row"].to_pylist()
        expected[name] = [*found, *told(matcher.finish()), late]
    forked.printed(CHILD, tmp_path)
    assert pickle.loads((tmp_path / "results").read_bytes()) == expected


# ---------------------------------------------------------------- refusals


def saved(query: str = "a window") -> tuple[sase.Plan, bytes]:
    plan = plan_of(query, "optimized")
    matcher = plan.open()
    matcher.push(EVENTS.slice(0, 20))
    return plan, matcher.snapshot()


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: plan_of("tests", "optimized"),
        lambda plan: plan_of("a window", "ais"),
        lambda plan: replace(plan, lateness=1),
        lambda plan: replace(plan, options=Options(block=1)),
        lambda plan: sase.compile(QUERIES["a window"], EVENTS, time_unit="s"),
    ],
)
def test_another_plan_is_refused(change: Any) -> None:
    plan, state = saved()
    with pytest.raises(
        SnapshotError, match="this is the snapshot of another plan: restore it with"
    ):
        change(plan).restore(state)


def test_the_same_query_compiled_again_is_not_another_plan() -> None:
    plan, state = saved()
    again = sase.compile(QUERIES["a window"].replace(" WITHIN", "\n  WITHIN"), EVENTS)
    assert on(again.restore(state), EVENTS, 20) == on(plan.restore(state), EVENTS, 20)


@pytest.mark.parametrize("form", [0, 1, migrations.FORMAT - 1])
def test_earlier_forms_that_none_was_released_with_are_refused(form: int) -> None:
    """By their number, with a remedy; a state that a release wrote has a migration instead."""
    plan, state = saved()
    earlier = to_bytes({**from_bytes(state), "format": form, "version": "0.0.9"})
    said = (
        f"this snapshot has form {form}, written by SASE '0.0.9'; this version reads form"
        f" {migrations.FORMAT}: restore it with the version that wrote it, or push the events again"
    )
    with pytest.raises(SnapshotError) as caught:
        plan.restore(earlier)
    assert str(caught.value) == said


def test_another_version_is_refused() -> None:
    plan, state = saved()
    other = {**from_bytes(state), "format": migrations.FORMAT + 1}
    forms = f"form {migrations.FORMAT + 1}", f"this version reads form {migrations.FORMAT}"
    written = f"has {forms[0]}, written by SASE .*; {forms[1]}: restore it with"
    with pytest.raises(SnapshotError, match=written):
        plan.restore(to_bytes(other))
    del other["version"]
    with pytest.raises(SnapshotError, match=f"this snapshot has {forms[0]}; {forms[1]}"):
        plan.restore(to_bytes(other))
    with pytest.raises(SnapshotError, match="another version of SASE"):
        plan.restore(state.replace(b"SASE state 1", b"SASE state 9", 1))
    with pytest.raises(SnapshotError, match="it does not say which form it has"):
        plan.restore(to_bytes([1, 2]))


@given(st.data())
def test_damage_is_refused(data: st.DataObject) -> None:
    plan, state = DAMAGED
    place = data.draw(st.integers(0, len(state) - 1))
    changed = bytearray(state)
    changed[place] ^= data.draw(st.integers(1, 255))
    for damaged in (bytes(changed), state[:place], state + b"\0"):
        with pytest.raises(SnapshotError):
            plan.restore(damaged)


DAMAGED = saved()


def test_what_is_no_snapshot_is_refused() -> None:
    plan, _ = saved()
    for other in (b"", b"something else", pickle.dumps({})):
        with pytest.raises(SnapshotError, match="this is no saved state"):
            plan.restore(other)
    with pytest.raises(SnapshotError, match="a snapshot is bytes, and this is of type str"):
        plan.restore("text")  # type: ignore[arg-type]


def test_a_finished_matcher_has_none() -> None:
    matcher = plan_of("a window", "optimized").open()
    matcher.finish()
    with pytest.raises(SaseError, match="this matcher is finished: there is nothing to go on from"):
        matcher.snapshot()


# ---------------------------------------------------------------- contents


def test_a_matcher_of_all_events_there_are_has_none() -> None:
    """Its codes of texts are those of one input."""
    matcher = plan_of(next(iter(QUERIES)), "basic").open(streaming=False)
    with pytest.raises(SaseError, match="all there is"):
        matcher.snapshot()


def test_events_that_are_given_up_are_not_saved() -> None:
    """Of a long push only the rows in the window."""
    events = pa.table(
        {"ts": range(50_000), "type": ["A", "B"] * 25_000, "text": ["x" * 20] * 50_000}
    )
    plan = sase.compile("EVENT SEQ(A a, B b) WITHIN 10", events)
    matcher = plan.open()
    matcher.push(events)
    state = from_bytes(matcher.snapshot())
    (piece,) = state["history"]
    assert piece["begin"] >= 49_980
    restored = plan.restore(to_bytes(state))
    assert told(restored.push([{"ts": 50_000, "type": "B", "text": "y"}])) == told(
        matcher.push([{"ts": 50_000, "type": "B", "text": "y"}])
    )


def test_types_by_conditions_and_by_table() -> None:
    """Rows that wait, and those that are shown, are read again by the same ways."""
    rows = [{"ts": ts, "v": ts % 3} for ts in (1, 2, 4, 3, 6, 5, 9, 8, 7)]
    defined = sase.compile(
        "EVENT SEQ(A a, B b) WITHIN 3", rows, type=None,
        types={"A": "v = 1", "B": "v = 2"}, lateness=2,
    )  # fmt: skip
    first = {"A": [{"ts": 1, "v": "x"}, {"ts": 3, "v": "y"}], "B": [{"ts": 2, "w": 1}]}
    second = {"A": [{"ts": 4, "v": "z"}], "B": [{"ts": 5, "w": 2}]}
    tables = sase.compile("EVENT SEQ(A a, B b) WITHIN 9", first, lateness=3)
    for plan, pushes in ((defined, [rows[:4], rows[4:]]), (tables, [first, second])):
        kept, moved = plan.open(), plan.open()
        for push in pushes:
            expected = told(kept.push(push))
            assert told(moved.push(push)) == expected
            moved = plan.restore(moved.snapshot())
        assert told(moved.finish()) == told(kept.finish()) != []


@pytest.mark.parametrize("on_bad_row", ["error", "quarantine"])
@pytest.mark.parametrize("text", ["EVENT B x WHERE x.v < 3", "EVENT SEQ(B x, B y) WHERE [v]"])
def test_dicts_that_lack_what_the_query_reads(text: str, on_bad_row: str) -> None:
    """A push in which no row has it is one of NULLs, and so it is in the state."""
    plan = sase.compile(text, [{"ts": 0, "type": "B", "v": 1}], on_bad_row=on_bad_row)
    kept, moved = plan.open(), plan.open()
    for push in (
        [{"ts": 1, "type": "B"}],
        [{"ts": 2, "type": "B", "v": 2}, {"ts": 3, "type": "B"}],
    ):
        assert told(moved.push(push)) == told(kept.push(push))
        moved = plan.restore(moved.snapshot())
    last = [{"ts": 4, "type": "B", "v": 2}]
    assert told(moved.push(last)) == told(kept.push(last)) != []


def test_what_no_event_to_come_can_need_is_not_saved() -> None:
    """However few events there were since the matcher last looked."""
    rows = [{"ts": ts, "type": "AB"[ts % 2], "text": f"text {ts}"} for ts in range(100)]
    matcher = sase.compile("EVENT SEQ(A a, B b) WITHIN 50", rows).open()
    matcher.push(rows)

    def kept() -> int:
        return len(to_bytes({"history": from_bytes(matcher.snapshot())["history"]}))

    full = kept()
    matcher.advance(10**6)
    assert kept() < full / 2


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B+ b[], C c) WHERE max(b[].s) < c.s",
        "SEQ(A a, B{2} b[]) WHERE strict_contiguity {max(b[].s) > a.s}",  # in lines
        "SEQ(SET(A a, B+ b[]), C c) WHERE skip_till_next_match {max(b[].s) > a.s}",
        "(SEQ(A a, B+ b[], C c))+ g[] WHERE max(b[].s) < c.s",
    ],
)
def test_texts_that_only_ended_runs_had_are_not_missed(text: str) -> None:
    """The room of a run that has ended still has the greatest text that it knew."""
    kinds = [(3, "A"), (4, "A"), (5, "B"), (6, "B"), (30, "C"), (31, "A"), (33, "B"), (34, "C")]
    rows = [{"ts": ts, "type": kind, "s": f"{kind}{ts}"} for ts, kind in kinds]
    plan = sase.compile(f"EVENT {text} WITHIN 4", rows, plan="nfab")
    kept, moved = plan.open(), plan.open()
    for row in rows:
        assert told(moved.push([row])) == told(kept.push([row]))
        moved.advance(row["ts"])
        kept.advance(row["ts"])
        moved = plan.restore(moved.snapshot())
    assert told(moved.finish()) == told(kept.finish())


GROUP = "(SEQ(A a, A b) OR SEQ(A c, A d) OR B e)+ g[]"


@pytest.mark.parametrize(
    "text", [f"SEQ(B f, {GROUP}, !(D x))", f"SEQ(B f, {GROUP}, !(D x)) OR SEQ(B f, {GROUP}, C? k)"]
)
def test_few_matches_of_a_group_with_many_variables_wait(text: str) -> None:
    """A match has fewer events than its group has variables."""
    rows = [{"ts": ts, "type": kind} for ts, kind in [(3, "B"), (4, "B"), (5, "C"), (20, "B")]]
    plan = sase.compile(f"EVENT {text} WITHIN 7", rows)
    kept, moved = plan.open(), plan.open()
    for row in rows:
        assert told(moved.push([row])) == told(kept.push([row]))
        moved = plan.restore(moved.snapshot())
    assert told(moved.finish()) == told(kept.finish())


# ---------------------------------------------------------------- signatures, and other forms

KEY = b"0123456789abcdef"


def test_a_signed_snapshot_is_read_by_its_key_alone() -> None:
    plan, state = saved()
    matcher = plan.restore(state)
    signed = matcher.snapshot(key=KEY)
    assert on(plan.restore(signed, key=KEY), EVENTS, 20) == on(plan.restore(signed), EVENTS, 20)
    for other, message in (
        (state, "this snapshot is not signed, and a key was given"),
        (plan.restore(state).snapshot(key=KEY[::-1]), "the signature of this snapshot does not"),
        (signed[:-1] + b"x", "the signature of this snapshot does not fit the key"),
        (signed[:20], "the signature of this snapshot does not fit the key"),
    ):
        with pytest.raises(SnapshotError, match=message):
            plan.restore(other, key=KEY)
    with pytest.raises(SnapshotError, match="a key is at least 16 bytes"):
        plan.restore(signed, key=b"short")


def test_an_earlier_form_is_migrated_step_by_step() -> None:
    steps = {
        1: lambda state: {**state, "format": 2, "a": state["old"]},
        2: lambda state: {**state, "format": 3, "b": 2 * state["a"]},
    }
    found = migrations.migrated({"format": 1, "old": 4}, steps, 3)
    assert found == {"format": 3, "old": 4, "a": 4, "b": 8}
    with pytest.raises(
        SnapshotError, match="has form 4, written by SASE '9.9'; this version reads"
    ):
        migrations.migrated({"format": 4, "version": "9.9"}, steps, 3)
