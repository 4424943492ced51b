"""The semi-join of a script: which events remain, and that each statement finds its matches."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.engine.columns import Events
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.scripts import admission, semi_join
from sase.engine.scripts.semi_join import BucketReaders, KeyedSequence, SemiJoin
from tests.seeds import draw_numbers, share, tries

TYPES = "ABCDE"


def table(draw: Random, rows: int, keys: int) -> pa.Table:
    times = sorted(draw.choices(range(2 * rows), k=rows))
    numbers = [draw.randrange(keys) for _ in range(rows)]
    texts = [f"k{draw.randrange(keys)}" for _ in range(rows)]
    return pa.table({
        "ts": pa.array(times, pa.int64()),
        "type": pa.array(draw.choices(TYPES, k=rows)),
        "k": pa.array([None if draw.random() < 0.05 else n for n in numbers], pa.int32()),
        "s": pa.array(texts).dictionary_encode() if draw.random() < 0.5 else pa.array(texts),
        "n": pa.array(draw.choices(range(9), k=rows)),
    })  # fmt: skip


def query(draw: Random) -> str:
    """A sequence of single events with a key, of types that may occur twice, or be several."""
    names = "abcd"[: draw.choice([2, 3, 3, 4])]
    steps = [
        f"ANY({', '.join(draw.sample(TYPES, 2))}) {name}"
        if draw.random() < 0.2
        else f"{draw.choice(TYPES)} {name}"
        for name in names
    ]
    if draw.random() < 0.1:
        steps.insert(1, f"!({draw.choice(TYPES)} x)")
    key = draw.choice(["k", "k", "s", "k, s"])
    more = draw.choice(["", "", " AND a.n > 2", " AND a.n <= b.n", " AND b.n = 3"])
    end = draw.choice(["", "", " RETURN a.n AS n, b.ts AS t", " LIMIT 3"])
    window = draw.choice([3, 10, 11, 50, 400])
    return f"EVENT SEQ({', '.join(steps)}) WHERE [{key}]{more} WITHIN {window}{end}"


def loaded(events: pa.Table) -> Events:
    text = "EVENT SEQ(A a, B b) WHERE [k, s] WITHIN 9"
    return Pipeline(sase.compile(text, events.schema).engine).load(events)[1]


def remaining(
    events: Events, sequences: dict[int, KeyedSequence], spans: dict[int, int]
) -> Iterator[tuple[int, list[int]]]:
    """The events with all other components on their sides, found one by one."""
    ts, names = events.ts.tolist(), [events.type_names[code] for code in events.types]
    for number, (levels, key, span) in sequences.items():
        numbers = (events.columns[name].keys.tolist() for name in key)
        values, reach = [*zip(*numbers, strict=True)], spans[span]
        found = set[int]()
        for place, now in enumerate(ts):
            before = {names[i] for i in range(place) if _near(i, place, ts, values, reach)}
            after = {names[i] for i in range(len(ts)) if i > place
                     and _near(i, place, ts, values, reach)}  # fmt: skip
            if now - reach <= ts[0]:
                before |= {*TYPES}
            if now + reach >= ts[-1]:
                after |= {*TYPES}
            for level, types in enumerate(levels):
                others = [before & each for each in levels[:level]]
                others += [after & each for each in levels[level + 1 :]]
                if names[place] in types and all(others):
                    found.add(place)
        yield number, sorted(found)


def _near(one: int, other: int, ts: list[int], values: list[Any], reach: int) -> bool:
    return values[one] == values[other] and abs(ts[one] - ts[other]) <= reach


@pytest.mark.random
@pytest.mark.parametrize("number", draw_numbers(share(20)))
def test_events_remain_beside_all_other_components(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(semi_join, "BITS", 20)  # without collisions
    for seed in tries(number):
        draw = Random(seed)
        events = loaded(table(draw, 120, 12))
        plans = [sase.compile(query(draw), table(draw, 1, 1).schema).engine for _ in range(6)]
        every = [KeyedSequence.of(plan) for plan in plans]
        sequences = {n: each for n, each in enumerate(every) if each is not None}
        # A bucket for each type, which all read.
        readers = BucketReaders((tuple(sequences),) * len(events.type_names), events.type_names)
        join = SemiJoin(sequences, readers, events.type_names)
        hits = np.stack([np.arange(len(events)), events.types.astype(np.int64)])
        found = join.remaining(events, len(events), hits, len(events), 6 * len(events))
        assert found is not None
        spans = semi_join.classes_of(each.span for each in sequences.values())
        expected = dict(remaining(events, sequences, spans))
        assert {n: some.tolist() for n, some in found.items()} == expected
        if any(0 < len(some) < 60 for some in expected.values()):
            return


def shown(matches: sase.Matches) -> list[str]:
    return [f"{r} {m}" for r, m in zip(matches.rows.to_pylist(), matches.to_pylist(), strict=True)]


@pytest.mark.random
@pytest.mark.parametrize("number", draw_numbers(share(20)))
def test_each_statement_finds_what_it_finds_alone(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in tries(number):
        draw = Random(seed)
        monkeypatch.setattr(admission, "STEP", 8)
        monkeypatch.setattr(semi_join, "BITS", draw.choice([2, 13]))
        monkeypatch.setattr(semi_join, "LEFT", draw.choice([0.5, 1]))
        monkeypatch.setattr(semi_join, "ALIKE", draw.choice([1, 4]))
        monkeypatch.setattr(semi_join, "MOST_COLUMNS", draw.choice([3, 62]))
        joined = counted(monkeypatch)
        events, queries = table(draw, 300, draw.choice([10, 40])), [query(draw) for _ in range(5)]
        alone = [sase.match(text, events) for text in queries]
        script = sase.Script(";\n".join(queries), events.schema)
        for threads in (1, 2):
            found = script.run(events, threads=threads)
            assert [shown(each) for each in found.values()] == [*map(shown, alone)]
            assert [each.report.rows for each in found.values()] == [300] * 5
        if sum(map(len, alone)) > 3 and joined:
            return


def test_an_event_may_remain_for_many_components(monkeypatch: pytest.MonkeyPatch) -> None:
    """For more than those that the sample is smaller than all events."""
    monkeypatch.setattr(admission, "STEP", 8)
    events = pa.table({"ts": range(100), "type": ["A"] * 100, "k": [0] * 100})
    steps = [", ".join(f"A a{number}" for number in range(count)) for count in (9, 10)]
    queries = [f"EVENT SEQ({each}) WHERE [k] WITHIN 10" for each in steps]
    found = sase.Script(";".join(queries), events.schema).run(events)
    assert all(map(len, found.values()))
    alone = [sase.match(text, events) for text in queries]
    assert [shown(each) for each in found.values()] == [*map(shown, alone)]


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of events that were left out, appended by each semi-join."""
    found, neighbours = list[int](), SemiJoin.neighbours

    def noted(join: SemiJoin, events: Events, *given: Any) -> dict[int, Any]:
        kept = neighbours(join, events, *given)
        found.extend(len(events) - len(each) for each in kept.values())
        return kept

    monkeypatch.setattr(SemiJoin, "neighbours", noted)
    return found


def test_events_unlike_the_sample_are_dealt_out_by_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "STEP", 8)
    monkeypatch.setattr(admission, "MOST_DEALT", 1)
    joined = counted(monkeypatch)
    # Nothing is near in the first part; later every event is beside all others.
    apart = [(1000 * n, "ABC"[n % 3], n) for n in range(300)]
    near = [(300_000 + n, "ABC"[n % 3], 0) for n in range(300)]
    ts, types, keys = zip(*apart, *near, strict=True)
    events = pa.table({"ts": ts, "type": types, "k": keys})
    queries = [f"EVENT SEQ(A a, B b, C c) WHERE [k] AND c.ts > {n} WITHIN 9" for n in range(3)]
    script = sase.Script(";\n".join([*queries, "EVENT SEQ(C a, B b) WHERE [k] WITHIN 5"]), events)
    found = script.run(events)
    assert [len(each) for each in found.values()][:3] == [len(sase.match(queries[0], events))] * 3
    assert not joined
