"""A bucket of a script passes through micro-batches as bytes, and finds the matches of a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.errors import DataError
from sase.spark.reading.row_layout import PART, SEQ, TIME, from_bytes, packed, to_bytes
from sase.spark.streaming.bucket import Bucket, InputClock, Ticks
from sase.spark.tasks.search import STATEMENT, ScriptSearch
from sase.spark.tasks.task import Task

LATENESS, END = 5, 10_000
NAMES = ("pairs", "mixed", "query_3", "query_4")
TEXT = """CREATE STREAM pairs AS FROM p EVENT SEQ(A a, B b, !(C c)) WHERE a.v <= b.v WITHIN 12
            RETURN Pair(a.n AS one, b.n AS two, b.v AS v);
          CREATE STREAM mixed AS FROM pairs, q EVENT SEQ(Pair x, Q y) WHERE x.v = y.v WITHIN 20
            RETURN x.two AS x, y.n AS y;
          FROM p EVENT B b WHERE b.v = 2;
          FROM mixed EVENT SEQ(mixed a, mixed b) WITHIN 6"""


def rows(random: Random, kinds: str, count: int) -> list[dict[str, Any]]:
    """Events in an order that is off by less than the lateness, and one behind all windows."""
    found = [
        {"ts": 10 + 2 * n + random.randint(0, 2), "type": random.choice(kinds),
         "v": random.choice([1, 2, None]), "n": n}
        for n in range(count)
    ]  # fmt: skip
    return [*found, {"ts": END, "type": "Z", "v": None, "n": count}]


def bucket_of(script: sase.Script, streams: Mapping[str, pa.Table]) -> Bucket:
    plan = script._compiled.plan
    found = script.run(streams=streams)
    fields = [(name, pa.struct(list(each.to_arrow().schema))) for name, each in found.items()]
    search = ScriptSearch(
        plan,
        tuple(found),
        pa.schema([(STATEMENT, pa.int32()), *fields]),
        "events of several streams stand in an order",
    )
    clocks = (InputClock(each.name, Ticks(), LATENESS) for each in plan.inputs)
    return Bucket(search.unbounded(), tuple(clocks), 3)


@dataclass
class Simulated:
    """The calls of Spark for a bucket: a killed batch begins again with the old state."""

    bucket: Bucket
    state: bytes | None = None
    timer: int = 0
    late: int = 0
    found: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def batch(self, given: pa.Table, watermark: int, random: Random) -> None:
        if not len(given) and not 0 < self.timer <= watermark:
            return
        for _ in range(random.choice([1, 1, 2])):
            opened, found = self.bucket.open(self.state, watermark), list[Any]()
            cut = random.randint(0, len(given))
            halves = (each for each in (given[:cut], given[cut:]) if len(each))
            for data in opened.results([to_bytes(each) for each in halves]):
                found += from_bytes(data).to_pylist()
            state = opened.state()
        assert opened.found == len(found)
        self.state, self.timer = state, opened.timer
        self.late += opened.late
        for row in found:
            name = NAMES[row[STATEMENT]]
            self.found[name].append(row[name])


def table_of(batches: list[tuple[int, list[dict[str, Any]]]]) -> pa.Table:
    """The rows of inputs by their number as they travel."""
    found = [
        {packed(number): row, TIME: row["ts"], SEQ: row["n"]}
        for number, some in batches
        for row in some
    ]
    event = pa.struct([("ts", pa.int64()), ("type", pa.string()), ("v", pa.int64()),
                       ("n", pa.int64())])  # fmt: skip
    columns = [(packed(0), event), (packed(1), event), (TIME, pa.int64()), (SEQ, pa.int64())]
    return pa.Table.from_pylist(found, pa.schema(columns))


def test_every_cut_finds_what_a_run_finds() -> None:
    found = sum(map(Counter, map(check_cuts, range(2))), Counter[str]())
    assert min(found[name] for name in NAMES) > 10, found


def check_cuts(seed: int) -> dict[str, int]:
    """Check micro-batches of a seed; how much each statement finds."""
    random = Random(seed)
    given = [rows(random, "ABC", 90), rows(random, "Q", 70)]
    streams = dict(zip("pq", map(pa.Table.from_pylist, given), strict=True))
    script = sase.Script(TEXT, streams=streams, seq="n")
    simulated = Simulated(bucket_of(script, streams))
    at, greatest, watermark = [0, 0], [0, 0], 0
    while at != [len(each) for each in given]:
        batch = []
        for number, every in enumerate(given):
            end = at[number] + random.choice([0, 1, 4, 9])
            batch.append((number, every[at[number] : end]))
            at[number] = min(end, len(every))
        simulated.batch(table_of(batch), watermark, random)
        for number, some in batch:
            greatest[number] = max([greatest[number], *(row["ts"] for row in some)])
        watermark = max(watermark, min(greatest) - LATENESS)
    while simulated.timer and simulated.timer <= END - LATENESS:
        simulated.batch(table_of([]), END - LATENESS, random)
    assert simulated.late == 0
    for name, matches in script.run(streams=streams).items():
        assert sorted(map(repr, simulated.found[name])) == sorted(map(repr, matches.to_pylist()))
    return {name: len(each) for name, each in simulated.found.items()}


def test_late_rows_are_counted_and_in_no_result() -> None:
    streams = {name: pa.Table.from_pylist(rows(Random(1), "ABC", 3)) for name in "pq"}
    simulated = Simulated(bucket_of(sase.Script(TEXT, streams=streams, seq="n"), streams))
    b = {"ts": 50, "type": "B", "v": 2, "n": 1}
    simulated.batch(table_of([(0, [b, {**b, "ts": 90, "n": 2}])]), 60, Random(0))
    simulated.batch(table_of([(0, [{**b, "ts": 70, "n": 3}])]), 95, Random(0))
    assert [each["b"]["n"] for each in simulated.found["query_3"]] == [2]
    assert simulated.late == 2


def test_two_events_that_nothing_orders_are_an_error() -> None:
    streams = {name: pa.Table.from_pylist(rows(Random(1), "ABC", 3)) for name in "pq"}
    bucket = bucket_of(sase.Script(TEXT, streams=streams, seq="n"), streams)
    row = {"ts": 5, "type": "A", "v": 1, "n": 1}
    with pytest.raises(DataError, match="two events have the same time and the same number"):
        list(bucket.open(None, 0).results([to_bytes(table_of([(0, [row, row])]))]))


def test_a_task_refuses_rows_of_another_part() -> None:
    streams = {name: pa.Table.from_pylist(rows(Random(1), "ABC", 3)) for name in "pq"}
    bucket = bucket_of(sase.Script(TEXT, streams=streams, seq="n"), streams)
    assert isinstance(bucket.search, ScriptSearch)
    task = Task(bucket.search)
    b = {"ts": 50, "type": "B", "v": 2, "n": 1}
    found = table_of([(0, [b, {**b, "ts": 90, "n": 2}])])
    one, two = (found.append_column(PART, pa.array([0, part])) for part in (0, 1))
    assert sum(map(len, task(one.to_batches()))) == 2
    with pytest.raises(sase.SaseError, match="the rows of parts 0 and 1 came to one task"):
        list(task(two.to_batches()))
