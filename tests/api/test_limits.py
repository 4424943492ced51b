"""Runs end in time and within memory, also where they find nothing, by every recipe."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import sase
from sase.api.checks import limits_of
from sase.engine.pipeline.batch import SORTED
from sase.engine.pipeline.limits import CALL, Limits, RunGuard
from sase.engine.pipeline.matcher import Matcher
from sase.errors import MemoryLimitError, PlanError, SaseError, TimeLimitError
from tests.api.endless import NEVER, RARE, RUNS, SEQUENCES, stream
from tests.faults.processes import Programs

OFTEN = ("optimized", "nfab")
SELDOM = tuple(recipe for recipe in (*SEQUENCES, *RUNS) if recipe not in OFTEN)


def without_a_match(recipe: str, forked: Programs) -> str:
    """The report of a run that finds nothing."""
    script = """
import sys
import sase
from tests.api.endless import NEVER, NEVER_IN_SERIES, SEQUENCES, stream
events, recipe = stream(("A", 1000), ("B", 1000), ("C", 20000)), sys.argv[1]
query = NEVER if recipe in SEQUENCES else NEVER_IN_SERIES
try:
    print(len(sase.match(query, events, plan=recipe, timeout="600 ms", threads=1)))
except sase.TimeLimitError as problem:
    print(problem)
"""
    return forked.printed(script, recipe)


@pytest.mark.parametrize("recipe", OFTEN)
def test_a_run_that_finds_nothing_ends_in_time(recipe: str, forked: Programs) -> None:
    said = without_a_match(recipe, forked)
    assert "the run takes longer than its timeout of 0.6 s" in said


@pytest.mark.heavy
@pytest.mark.parametrize("recipe", SELDOM)
def test_by_other_recipes_it_ends_in_time_as_well(recipe: str, forked: Programs) -> None:
    said = without_a_match(recipe, forked)
    assert "the run takes longer than its timeout of 0.6 s" in said


@pytest.mark.parametrize("recipe", [*SEQUENCES, *RUNS])
def test_walks_that_pause_find_what_others_find(recipe: str) -> None:
    """More choices than a kernel looks at without a pause, by a condition that few satisfy."""
    query = "EVENT SEQ(A a, B b, C c) WHERE a.v + 7 * b.v = 40 * c.v WITHIN 1000000"
    if recipe in RUNS:
        query = query.replace("C c)", "C{1} c[])").replace("c.v", "c[i].v")
    events = stream(("A", 70), ("B", 70), ("C", 70))
    found = sase.match(query, events, plan=recipe).rows.to_pylist()
    found = [{**each, "c": each["c"][0] if recipe in RUNS else each["c"]} for each in found]
    every = itertools.product(range(70), repeat=3)
    right = {(a, 70 + b, 140 + c) for a, b, c in every if a + 7 * b == 40 * c}
    assert len(found) == len(right) > 100
    assert {(each["a"], each["b"], each["c"]) for each in found} == right


def test_threads_that_find_nothing_end_in_time(forked: Programs) -> None:
    script = """
import pyarrow as pa
import sase
from tests.api.endless import stream
parts = [stream(("A", 700), ("B", 700), ("C", 700)) for _ in range(6)]
events = pa.concat_tables(parts)
events = events.set_column(0, "ts", pa.array(range(len(events))))
query = "EVENT SEQ(A a, B b, C c) WHERE a.v + b.v + c.v < 0 WITHIN 2100"
try:
    print(len(sase.match(query, events, timeout="500 ms", threads=3)))
except sase.TimeLimitError as problem:
    print(problem)
"""
    assert "its timeout of 0.5 s" in forked.printed(script)


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.heavy)])
def test_kernels_are_compiled_within_the_limit(threads: int, tmp_path: Path) -> None:
    """The limit is checked between the steps of compiling; finished kernels are kept."""
    script = f"""
import sase
from sase.base.limits import READING
from tests.api.endless import stream
events = stream(*[("A", 700), ("B", 700), ("C", 700)] * 6)
query = "EVENT SEQ(A a, B+ b[], C c) WHERE a.v + b[i].v + c.v < 0 WITHIN 10"
told = READING
# Where so much is imported at first that no time is left to compile, or a kernel is just ready.
while READING in told or "within the first rows" in told:
    try:
        told = str(len(sase.match(query, events, timeout=1, threads={threads})))
    except sase.TimeLimitError as problem:
        told = str(problem)
print(told)
"""
    folder = tmp_path / "kernels"
    nowhere = os.environ | {"NUMBA_CACHE_DIR": str(folder), "SASE_COMPILE_KERNELS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, timeout=300, check=True, env=nowhere,
    )  # fmt: skip
    assert "its timeout of 1 s, while kernels are compiled, once per" in done.stdout


def test_a_run_ends_within_memory(forked: Programs) -> None:
    script = """
import sase
from tests.api.endless import stream
events = stream(("A", 4000), ("B", 4000), ("C", 10))
query = "EVENT SEQ(A a, B b, C+ c[]) WITHIN 1000000"
try:
    print(len(sase.match(query, events, plan="nfab", max_memory="100 MB")))
except sase.MemoryLimitError as problem:
    print(problem)
"""
    assert "the run needs more than its max_memory of 100,000,000 bytes" in forked.printed(script)


# The growth of a process of its own; arguments are a query, a recipe, and the reader of the
# matches.
PEAK = """
import resource, sys
import sase
from tests.api.endless import stream
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
query, recipe, how = sys.argv[1:]
events, few = (stream(("A", n), ("B", 2 * n), ("C", n)) for n in (1000, 10))
getattr(sase.match(query, few, plan=recipe), how)()
before = peak()
try:
    found = sase.match(query, events, plan=recipe, max_memory="120 MB", threads=1)
    print(len(getattr(found, how)()))
except sase.MemoryLimitError as problem:
    print(problem)
print(peak() - before)
"""


@pytest.mark.parametrize("how", ["to_arrow", "to_pylist", "to_pandas"])
def test_results_are_made_within_memory(how: str, forked: Programs) -> None:
    """Matches of 32 MB, results of 300 or more."""
    told, grown = forked.printed(
        PEAK, "EVENT SEQ(A a, B b) WITHIN 1000000", "optimized", how
    ).splitlines()
    assert "the run needs more than its max_memory of 120,000,000 bytes, with 4,000 rows" in told
    assert "read the matches with to_reader(), which holds none" in told
    assert int(grown) < 160_000_000


@pytest.mark.parametrize("recipe", ["tree_left_deep", "tree_right_deep"])
def test_trees_join_within_memory(recipe: str, forked: Programs) -> None:
    query = "EVENT SEQ(A a, B b, C c) WHERE a.v + b.v + c.v < 0 WITHIN 1000000"
    told, grown = forked.printed(PEAK, query, recipe, "to_arrow").splitlines()
    assert "the run needs more than its max_memory of 120,000,000 bytes" in told
    assert int(grown) < 140_000_000


def test_results_of_a_push_are_made_within_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    events, held = stream(("A", 30), ("B", 30)), [10**9]
    plan = sase.compile("EVENT SEQ(A a, B b) WITHIN 100", events.schema)
    monkeypatch.setattr("sase.engine.pipeline.limits.resident_memory", lambda: held[0])
    found = plan.open(max_memory="1 MB").push(events)
    held[0] += 10**7
    for read in (found.to_arrow, found.to_pylist, lambda: found.rows):
        with pytest.raises(MemoryLimitError, match="the call to this matcher needs more than its"):
            read()
    held[0] -= 10**7
    assert found.to_arrow() == plan.run(events).to_arrow()
    assert found.to_pylist() == plan.run(events).to_pylist()


def test_results_in_pieces_are_those_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sase.engine.results.matches.MOST_BYTES", 100)
    monkeypatch.setattr("sase.engine.results.matches.FEW", 7)
    events = stream(*[("A", 3), ("B", 4)] * 4)
    for query in (
        "EVENT SEQ(A a, B b) WITHIN 9",
        "EVENT SEQ(A a, B+ b[]) WITHIN 6 RETURN a.v, b.len AS n",
    ):
        right, found = (sase.match(query, events, max_memory=most) for most in (None, "1 GB"))
        assert found.to_arrow().column(0).num_chunks > 3
        assert found.to_arrow() == right.to_arrow()
        assert found.to_pylist() == right.to_pylist()
        assert found.to_pandas().equals(right.to_pandas())
        assert found[2:5] == right[2:5]


# A run in a process of its own, which grows by the loaded modules, too; arguments: a file and a
# limit.
RUN_OF_A_FILE = """
import sys
import sase
from tests.api.endless import RARE
plan = sase.compile(RARE, sys.argv[1])
try:
    matches = plan.run(sys.argv[1], max_memory=int(sys.argv[2]))
    print(len(matches), matches.report.notes)
except sase.MemoryLimitError as problem:
    print(problem)
"""


@pytest.mark.heavy
@pytest.mark.slow
def test_a_sort_on_disk_runs_within_memory_or_names_how_much_it_takes(
    tmp_path: Path, forked: Programs
) -> None:
    """Of a file in one row group, which is not read at once."""
    rows, random, path = 3_000_000, np.random.default_rng(34), tmp_path / "events.parquet"
    types = pa.DictionaryArray.from_arrays(random.integers(0, 3, rows, np.int32), ["A", "B", "C"])
    ids, values = random.integers(0, 1000, rows), random.integers(0, 100, rows)
    table = pa.table({"ts": random.permutation(rows), "type": types, "id": ids, "v": values})
    pyarrow.parquet.write_table(table, path, row_group_size=rows)
    refused = forked.printed(RUN_OF_A_FILE, path, 60_000_000)
    found = re.search(r"to sort them on disk takes about ([0-9,]+) bytes", refused)
    assert found is not None, refused
    least = int(found[1].replace(",", ""))
    assert least < 250_000_000
    right = len(sase.match(RARE, table))
    assert forked.printed(RUN_OF_A_FILE, path, least) == f"{right} ('{SORTED}',)\n"


def test_what_ends_in_time_is_as_without_limits() -> None:
    events = stream(("A", 10), ("B", 10), ("A", 10), ("B", 10))
    query = "EVENT SEQ(A a, B b) WITHIN 25"
    plan, right = sase.compile(query, events.schema), sase.match(query, events)
    limits: dict[str, Any] = {"timeout": "5 min", "max_memory": "2 GiB"}
    assert sase.match(query, events, **limits).to_arrow() == right.to_arrow()
    assert plan.run(events, **limits).to_arrow() == right.to_arrow()
    assert int(sase.match(query, events, output="count", **limits)) == len(right)
    assert sase.match(query, events, output="compressed", **limits).count() == len(right)


def test_time_counts_while_the_run_works_alone() -> None:
    """The limit does not count while the caller looks at matches; earlier ones are given."""
    now, events = [0], stream(*[("A", 1), ("B", 1)] * 200)
    plan = sase.compile("EVENT SEQ(A a, B b) WITHIN 500", events.schema)

    def clock() -> int:
        return now[0]

    read = 0
    for batch in plan.run(events, timeout=5, threads=1, clock=clock).to_batches()[1]:
        now[0] += 100 * 10**9
        read += batch.num_rows
    assert read == 200 * 201 // 2

    def watch(rows: int) -> None:
        now[0] += 10 * 10**9

    with pytest.raises(TimeLimitError, match=r"timeout of 5 s, with 400 rows searched: narrow"):
        len(plan.run(events, timeout=5, threads=1, clock=clock, watch=watch))


def test_a_guard_counts_the_bytes_that_are_about_to_be_taken() -> None:
    guard = RunGuard(Limits(memory=1 << 30), lambda: 0)
    guard.check(1 << 20)
    said = "max_memory of 1,073,741,824 bytes, within the first rows, where it takes 1,"
    with pytest.raises(MemoryLimitError, match=said):
        guard.check(1 << 40)


# ---------------------------------------------------------------- calls to a matcher


def test_a_push_ends_in_time_and_nothing_goes_on_from_its_half(forked: Programs) -> None:
    script = """
import sase
from tests.api.endless import NEVER, stream
events = stream(("A", 1000), ("B", 1000), ("C", 20000))
matcher = sase.compile(NEVER, events.schema).open(timeout="500 ms")
for call in (lambda: matcher.push(events), matcher.finish, matcher.snapshot):
    try:
        print(call())
    except sase.SaseError as problem:
        print(type(problem).__name__, problem)
"""
    first, *others = forked.printed(script).splitlines()
    assert "TimeLimitError the call to this matcher takes longer than its timeout of 0.5" in first
    assert ["ended by a TimeLimitError in the midst of a call" in each for each in others] == [
        True
    ] * 2


def slow(guard: RunGuard, now: list[int], seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each block under a guard take some seconds."""

    def note(rows: int) -> None:
        now[0] += seconds * 10**9

    monkeypatch.setattr(guard, "note_rows", note)


def test_each_call_has_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, events = [0], stream(("A", 1), ("B", 1))
    plan = sase.compile("EVENT SEQ(A a, !(B b), A c) WHERE a.v = c.v WITHIN 9", events.schema)
    guard = RunGuard(Limits(time=5 * 10**9), lambda: now[0], CALL)
    slow(guard, now, 3, monkeypatch)
    matcher = Matcher(plan.engine, guard=guard)
    for _ in range(4):
        matcher.push(events)
    slow(guard, now, 6, monkeypatch)
    with pytest.raises(TimeLimitError, match="timeout of 5 s"):
        Matcher(plan.engine, guard=guard).push(events)


def test_a_call_is_refused_where_too_much_is_held_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any part of it is done, so that the matcher can be saved, and continues elsewhere."""
    events, held = stream(("A", 1), ("B", 1)), [10**9]
    plan = sase.compile("EVENT SEQ(A a, B b) WITHIN 9", events.schema)
    monkeypatch.setattr("sase.engine.pipeline.limits.resident_memory", lambda: held[0])
    matcher = plan.open(max_memory="1 MB")
    matcher.push(events.slice(0, 1))
    held[0] += 10**7
    with pytest.raises(MemoryLimitError, match=r"max_memory of 1,000,000 bytes, with 1 rows sear"):
        matcher.push(events.slice(1))
    restored = plan.restore(matcher.snapshot(), max_memory="1 MB")
    held[0] += 10**5
    assert len(restored.push(events.slice(1))) == 1
    held[0] += 10**7
    with pytest.raises(MemoryLimitError):
        restored.finish()


def test_a_matcher_that_was_interrupted_goes_no_further() -> None:
    events = stream(("A", 1), ("B", 1))
    plan = sase.compile("EVENT SEQ(A a, !(B b), A c) WHERE a.v = c.v WITHIN 9", events.schema)

    def interrupt(more: int) -> None:
        raise KeyboardInterrupt

    matcher = Matcher(plan.engine, check=interrupt)
    with pytest.raises(KeyboardInterrupt):
        matcher.push(events)
    for call in (matcher.finish, matcher.snapshot):
        with pytest.raises(SaseError, match="ended by a KeyboardInterrupt in the midst of a call"):
            call()


# ---------------------------------------------------------------- explanations and comparisons


@pytest.mark.parametrize("way", ["", pytest.param(", pushed=5000", marks=pytest.mark.heavy)])
def test_an_analysis_ends_in_time(way: str, forked: Programs) -> None:
    script = f"""
import sase
from tests.api.endless import NEVER, stream
events = stream(("A", 1000), ("B", 1000), ("C", 20000))
try:
    print(sase.explain(NEVER, events, analyze=True, timeout=1{way}))
except sase.TimeLimitError as problem:
    print(problem)
"""
    assert "the run takes longer than its timeout of 1 s" in forked.printed(script)


def test_an_explanation_that_runs_nothing_has_no_limits() -> None:
    with pytest.raises(PlanError, match="timeout and max_memory bound the run of analyze=True"):
        sase.explain("EVENT A a", stream(("A", 1)), timeout=5)


def test_why_ends_in_time(forked: Programs) -> None:
    script = """
import sase
from tests.api.endless import NEVER, stream
events = stream(("A", 1000), ("B", 1000), ("C", 20000))
try:
    print(sase.why(NEVER, events, seconds=100, most=10**15, timeout=1))
except sase.TimeLimitError as problem:
    print(problem)
"""
    assert "the explanation takes longer than its timeout of 1 s" in forked.printed(script)


@pytest.mark.parametrize("query", ["EVENT SEQ(A a, B b) WITHIN 9", "EVENT SEQ(A+ a[], B b)"])
def test_why_ends_within_memory(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a search of its own has a bound, which ends that search alone."""
    events, asked = stream(("A", 9), ("B", 9)), [0]

    def resident() -> int:
        asked[0] += 1
        return 10**7 if asked[0] > 2 else 0  # once the events are read

    monkeypatch.setattr("sase.engine.pipeline.limits.resident_memory", resident)
    with pytest.raises(MemoryLimitError, match="the explanation needs more than its max_memory"):
        sase.why(query, events, max_memory="5 MB")


def test_a_comparison_says_which_strategies_are_ended(forked: Programs) -> None:
    script = """
import sase
from tests.api.endless import NEVER, stream
events = stream(("A", 1000), ("B", 1000), ("C", 4000))
found = sase.compare(NEVER, events, timeout=1)
for each in found.measured:
    print(each.strategy, each.ended, each.found)
print(*found.notes, sep="\\n")
"""
    lines = forked.printed(script).splitlines()
    assert "strict_contiguity None 0" in lines
    assert "skip_till_any_match time at least 0" in lines
    assert any(
        each.startswith("skip_till_any_match: the run takes longer than its timeout of 1 s")
        for each in lines
    )


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("timeout", "memory", "limits"),
    [
        (None, None, Limits()),
        (2, 10, Limits(2 * 10**9, 10)),
        ("1.5", "7", Limits(1_500_000_000, 7)),
        ("30s", "2GB", Limits(30 * 10**9, 2 * 10**9)),
        (" 5 min ", "1.5 kB", Limits(300 * 10**9, 1500)),
        ("2H", "2 GiB", Limits(7200 * 10**9, 2 << 30)),
        (0.25, "1KiB", Limits(250_000_000, 1024)),
    ],
)
def test_amounts(timeout: object, memory: object, limits: Limits) -> None:
    assert limits_of(timeout, memory) == limits


@pytest.mark.parametrize("wrong", [0, -1, "x", "5 days", "", True, float("nan"), "1e3", [1], "-2s"])
def test_what_is_no_amount(wrong: object) -> None:
    with pytest.raises(PlanError, match=r"timeout=.*give a number of seconds, or a text such as"):
        limits_of(wrong, None)
    with pytest.raises(PlanError, match=r"max_memory=.*give a number of bytes, or a text such as"):
        limits_of(None, wrong)


def test_the_command_ends_in_time_and_leaves_no_file(tmp_path: Path, forked: Programs) -> None:
    pyarrow.parquet.write_table(
        stream(("A", 1000), ("B", 1000), ("C", 20000)), tmp_path / "e.parquet"
    )
    out = tmp_path / "found.parquet"
    command = ["run", "-q", NEVER, "--events", tmp_path / "e.parquet", "-o", out, "--timeout"]
    done = forked.run(*command, "1s")
    assert done.status == 1, done.err
    assert "longer than its timeout of 1 s" in done.err
    assert not out.exists()
    done = forked.run(*command, "soon")
    assert (done.status, "timeout='soon': give" in done.err) == (2, True)
