"""A bucket moves between micro-batches as bytes, and finds the matches of an unbroken run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sase
from sase.engine.pipeline.limits import Limits
from sase.engine.pipeline.matcher import result_schema
from sase.engine.pipeline.pipeline import Pipeline
from sase.errors import DataError, MemoryLimitError, SnapshotError
from sase.spark.reading.row_layout import PART, RowLayout
from sase.spark.streaming.bucket import (
    PACKED,
    Bucket,
    InputClock,
    Ticks,
    from_bytes,
    pack_rows,
    to_bytes,
    unpack_rows,
)
from sase.spark.tasks.search import QuerySearch
from tests.engine.operators.plans import QUERIES, stream

# With choices, repeated groups, and negative groups.
COMPOSED = {
    "a choice": "EVENT SEQ(A a, (B b OR C+ c[])?, B d) WHERE [id] AND b.v <= d.v WITHIN 7",
    # The first branch gives a match later than the second, which has the same.
    "a choice with an end": (
        "EVENT SEQ(A a, C c, !(N n)) OR SEQ(A a, (C c OR B b)) WHERE [id] WITHIN 8"
    ),
    "a repeated group": (
        "EVENT SEQ(A a, (SEQ(B b, C? c) OR N+ n[])+ g[]) WHERE skip_till_next_match { [id] }"
        " WITHIN 9"
    ),
    "a negative group": (
        "EVENT SEQ(A a, !(SEQ(N n, C c)), B b) WHERE [id] AND n.v >= a.v WITHIN 20"
    ),
    "a negative group at the end": "EVENT SEQ(A a, B b, !(SEQ(B n, C c))) WHERE [id] WITHIN 8",
    "a negative group in iterations": (
        "EVENT (SEQ(A a, !(SEQ(N n, C c) OR C d), B b))+ g[] WHERE d.v < a.v WITHIN 6"
    ),
}
TEXTS = {**QUERIES, **COMPOSED}
NAMES = [name for name, text in TEXTS.items() if "LIMIT" not in text]
END = 1 << 40
TICKS = Ticks()


def numbered(events: pa.Table) -> pa.Table:
    """Events with a number each, and times from which a watermark can follow."""
    events = events.set_column(0, "ts", pc.add(events.column("ts"), 10))
    return events.append_column("n", pa.array(range(len(events)), pa.int64()))


def bucket_of(query: str, events: pa.Table, seq: str | None, lateness: int | None) -> Bucket:
    plan = sase.compile(TEXTS[query], events.schema, seq=seq).engine
    output = result_schema(Pipeline(plan, streaming=True), events.slice(0, 0))
    search = QuerySearch(plan, RowLayout(), output).unbounded()
    return Bucket(search, (InputClock(None, TICKS, lateness),), 3)


@dataclass
class Simulated:
    """The calls of Spark for one bucket: rows and a watermark in, and calls when a timer is due."""

    bucket: Bucket
    is_always_called: bool = False
    state: bytes | None = None
    timer: int = 0
    late: int = 0
    batches: list[list[Any]] = field(default_factory=list)

    def batch(self, rows: pa.Table, watermark: int) -> None:
        found: list[Any] = []
        is_due = self.is_always_called or 0 < self.timer <= watermark
        if len(rows) or (self.state is not None and is_due):
            opened = self.bucket.open(self.state, watermark)
            packed = [to_bytes(half) for half in halves(rows) if len(half)]
            for data in opened.results(packed):
                found += from_bytes(data).to_pylist()
            self.state, self.timer = opened.state(), opened.timer
            self.late += opened.late
            assert opened.found == len(found)
            assert self.timer == 0 or self.timer > watermark
        self.batches.append(sorted(found, key=repr))

    @property
    def found(self) -> list[Any]:
        return sorted((row for batch in self.batches for row in batch), key=repr)


def halves(rows: pa.Table) -> Iterator[pa.Table]:
    yield rows.slice(0, len(rows) // 2)
    yield rows.slice(len(rows) // 2)


def cut(events: pa.Table, random: Random, disorder: int) -> list[pa.Table]:
    """The events in micro-batches, in which they come in any order, and some in a later one."""
    ts = events.column("ts").to_pylist()
    moved = sorted(range(len(ts)), key=lambda row: ts[row] + random.randint(0, disorder))
    cuts = sorted(random.randint(0, len(ts)) for _ in range(random.randint(1, 6)))
    found = []
    for begin, end in zip([0, *cuts], [*cuts, len(ts)], strict=True):
        rows = moved[begin:end]
        random.shuffle(rows)
        found.append(events.take(pa.array(rows, pa.int64())))
    return found


# Each example runs two streams of up to a dozen micro-batches.
MANY = settings.default is not None and settings.default.max_examples >= 1000
SOME = settings(
    max_examples=settings.default.max_examples if MANY else 30,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.mark.heavy
@SOME
@given(st.sampled_from(NAMES), st.integers(0, 10**9), st.booleans(), st.booleans())
def test_buckets_find_what_an_unbroken_run_finds(
    query: str, seed: int, has_seq: bool, is_own: bool
) -> None:
    """Without the rows that are late; and timers bring results no later than calls at any time."""
    random = Random(seed)
    is_ordered = any(each in TEXTS[query] for each in ("EVENTS", "skip_till_next_match"))
    seq = "n" if has_seq or is_ordered else None
    events = numbered(stream(seed))
    delay = random.randint(0, 5)
    bucket = bucket_of(query, events, seq, delay if is_own else None)
    waiting, called = Simulated(bucket), Simulated(bucket, is_always_called=True)
    watermark, kept, late = 0, [], 0
    for rows in cut(events, random, random.choice([delay, delay, 2 * delay + 1])):
        for each in (waiting, called):
            each.batch(rows, watermark)
        is_late = pc.less(rows.column("ts"), watermark)
        kept.append(rows.filter(pc.invert(is_late)))
        late += pc.sum(is_late).as_py() or 0
        watermark = max(watermark, (pc.max(rows.column("ts")).as_py() or 0) - delay)
        # A batch without rows, since the watermark has moved.
        for each in (waiting, called):
            each.batch(rows.slice(0, 0), watermark)
    for each in (waiting, called):
        each.batch(events.slice(0, 0), END)
    assert waiting.late == called.late == late
    assert waiting.batches == called.batches
    wanted = sase.match(TEXTS[query], pa.concat_tables(kept), seq=seq).to_pylist()
    assert waiting.found == sorted(wanted, key=repr)


def test_nothing_is_waited_for_when_all_windows_have_passed() -> None:
    bucket = bucket_of("an end", numbered(stream()), None, None)
    simulated = Simulated(bucket)
    simulated.batch(numbered(stream()), 0)
    full, timer = len(simulated.state or b""), simulated.timer
    assert timer == 11  # the time of the first row
    simulated.batch(numbered(stream()).slice(0, 0), END)
    assert simulated.timer == 0
    assert len(simulated.state or b"") < full


def test_the_timer_is_the_first_absence_that_becomes_known() -> None:
    events = pa.table({"ts": [100, 101, 500], "type": ["A", "B", "Z"], "id": [1, 1, 1]})
    events = events.append_column("s", pa.array(["x"] * 3)).append_column("v", pa.array([1] * 3))
    simulated = Simulated(bucket_of("an end", events, None, 0))
    simulated.batch(events.slice(0, 2), 0)
    assert simulated.timer == 101  # since the rows of the last millisecond are waited for
    simulated.batch(events.slice(0, 0), 102)
    assert simulated.timer == 108
    simulated.batch(events.slice(0, 0), 107)
    assert simulated.found == []
    simulated.batch(events.slice(0, 0), 108)
    assert [row["detected_at"] for row in simulated.found] == [108]


def test_events_whose_order_is_not_decided_are_an_error_where_it_matters() -> None:
    events = numbered(stream())
    twice = pa.concat_tables([events, events.slice(3, 1)])
    Simulated(bucket_of("a window", events, "n", None)).batch(twice, 0)
    counted = Simulated(bucket_of("positions", events, "n", None))
    with pytest.raises(DataError, match="two events are equal in `ts` and `n`, and it matters"):
        counted.batch(twice, 0)


def test_a_bad_row_is_shown() -> None:
    events = numbered(stream())
    bad = events.slice(0, 1).set_column(0, "ts", pa.array([None], pa.int64()))
    simulated = Simulated(bucket_of("a window", events, None, None))
    with pytest.raises(DataError, match="a row is bad, {'ts': None, 'type': "):
        simulated.batch(pa.concat_tables([events, bad]), 0)


def test_a_state_of_another_number_of_buckets_is_refused() -> None:
    bucket = bucket_of("a window", numbered(stream()), None, None)
    simulated = Simulated(bucket)
    simulated.batch(numbered(stream()), 0)
    with pytest.raises(
        SnapshotError, match="in 3 buckets, and the query was started with 4: start"
    ):
        replace(bucket, buckets=4).open(simulated.state, 0)


def test_a_state_of_another_query_is_refused() -> None:
    events = numbered(stream())
    simulated = Simulated(bucket_of("a window", events, None, None))
    simulated.batch(events, 0)
    with pytest.raises(SnapshotError, match="another plan"):
        bucket_of("an end", events, None, None).open(simulated.state, 0)


# ---------------------------------------------------------------- bytes


@given(st.lists(st.lists(st.integers(0, 4), max_size=20), max_size=5))
def test_rows_are_packed_by_bucket(parts: list[list[int]]) -> None:
    kind = pa.schema([("k", pa.decimal128(5, 2)), ("in", pa.int32()), (PART, pa.int32())])
    rows = [(number, part) for number, part in enumerate(part for each in parts for part in each)]
    every = [part for _, part in rows]
    table = pa.table([[n for n, _ in rows], every, every], schema=kind)
    batches = [table.slice(0, 7), table.slice(7)]
    packed = [row for batch in pack_rows(flat(batches)) for row in batch.to_pylist()]
    assert PACKED.split() == ["bucket", "INT,", "bytes", "BINARY"]
    assert len(packed) == len({part for _, part in rows})
    found = []
    for row in packed:
        unpacked = from_bytes(row["bytes"])
        assert unpacked.schema == pa.schema([kind.field(0), kind.field(1)])
        assert set(unpacked.column("in").to_pylist()) == {row["bucket"]}
        found += [(int(each["k"]), each["in"]) for each in unpacked.to_pylist()]
    assert sorted(found) == rows


def flat(tables: list[pa.Table]) -> Iterator[pa.RecordBatch]:
    return (batch for table in tables for batch in table.to_batches())


def test_results_are_unpacked_as_they_were() -> None:
    table = pa.table({"a": pa.array([{"x": 1}, None]), "b": pa.array([1, 2], pa.timestamp("us"))})
    batch = pa.record_batch({"bytes": pa.array([to_bytes(table), to_bytes(table)])})
    assert pa.Table.from_batches(unpack_rows([batch])) == pa.concat_tables([table, table])


# ---------------------------------------------------------------- time

UNITS = st.sampled_from([1, 1_000, 1_000_000, 10**9, 86_400 * 10**9])


@given(UNITS, st.integers(1, 9 * 10**12))
def test_a_watermark_is_the_first_raw_time_at_it_or_behind(unit: int, watermark: int) -> None:
    raw = Ticks(unit).raw(watermark)
    assert raw is not None
    assert (raw - 1) * unit < watermark * 1_000_000 <= raw * unit


@given(UNITS, st.integers(1, 10**8))
def test_a_timer_fires_as_soon_as_time_comes_to_a_moment(unit: int, moment: int) -> None:
    ticks = Ticks(unit)
    timer = ticks.milliseconds(moment)
    assert (ticks.raw(timer) or 0) >= moment or timer <= 0
    assert (ticks.raw(timer - 1) or 0) < moment


@given(UNITS, st.integers(0, 10**6), st.integers(0, 10**12), st.integers(0, 10**12))
def test_what_is_within_the_watermark_is_within_the_lateness(
    unit: int, delay: int, latest: int, row: int
) -> None:
    """The watermark is made of whole milliseconds of the latest time, less the delay."""
    watermark = latest * unit // 1_000_000 - delay
    if row * unit >= watermark * 1_000_000:
        assert row >= latest - Ticks(unit).reach(delay)


def test_there_is_no_time_before_the_first_watermark() -> None:
    assert Ticks().raw(0) is None


def test_a_damaged_state_is_refused() -> None:
    events = numbered(stream())
    bucket = bucket_of("a window", events, None, None)
    simulated = Simulated(bucket)
    simulated.batch(events, 0)
    state = simulated.state
    assert state is not None
    huge = state[:16] + (2**62).to_bytes(8, "little") + state[24:]
    for damaged in (b"", state[:20], state[:24], state[:-9], state[:40] + b"x" * 40, huge):
        with pytest.raises(SnapshotError):
            bucket.open(damaged, 0)


def test_a_push_into_a_bucket_that_takes_too_much_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    events = numbered(stream(1))
    bucket = bucket_of(NAMES[0], events, "n", 3)
    first = bucket.open(None, 0)
    assert [*first.results([to_bytes(events)])]
    held = [10**9]
    monkeypatch.setattr("sase.engine.pipeline.limits.resident_memory", lambda: held[0])
    for state in (None, first.state()):
        opened = replace(bucket, limits=Limits(memory=10**6)).open(state, 0)
        held[0] += 10**7
        with pytest.raises(MemoryLimitError, match="the call to this matcher needs more than"):
            list(opened.results([to_bytes(events)]))
