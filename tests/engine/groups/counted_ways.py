"""Ways to collect the events of a compressed set of groups: each must know the same matches.

Beside the one run of `sase.match` the events come in batches, unsorted, or several threads may take
them; the collector gets pushes in any cuts, with rows that are late, and restored from snapshots;
and tasks as Spark's share the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa

import sase
from sase.api.compiled_query import compile_query
from sase.binding.input_options import InputOptions
from sase.engine.operators.kleene.match_set_evaluation import MatchSetEvaluationState
from sase.engine.pipeline.checkpoint import restored
from sase.engine.pipeline.matcher import Matcher
from sase.engine.sources.discovered import Discovered
from sase.lang.parser import parse_query
from sase.planning.counting import CountMethod, collapsible
from sase.planning.engine_plan import EnginePlan
from sase.planning.optimizer import Optimized
from tests import naive
from tests.drawing.examples import Example
from tests.spark.by_hand import ByHand
from tests.spark.cases import Case, Manner

Row = dict[str, Any]
# Of each match the places of its events in stream order, the matches in the order of results.
Places = list[tuple[int, ...]]
LATENESS = 2
# Numbered rows are never simultaneous, so that there are more matches; these are too many.
MOST = 600


def places_of(query: str, rows: list[Row], seq: str | None = None) -> Places:
    """The matches, by the naive matcher, of rows in order."""
    return _places_of(query, tuple(tuple(row.items()) for row in rows), seq)


@lru_cache(maxsize=1)
def _places_of(query: str, rows: tuple[Any, ...], seq: str | None) -> Places:
    found = naive.match(parse_query(query), [dict(row) for row in rows], seq=seq)
    return [tuple(sorted(_flat(each.events))) for each in found]


def _flat(events: Any) -> list[int]:
    if isinstance(events, list | tuple):
        return [row for each in events for row in _flat(each)]
    return [events]


def faults(query: str, rows: list[Row], random: Random) -> Iterator[str]:
    """The matches of some way that the naive matcher does not have."""
    wanted = places_of(query, rows)
    yield from _by_batches(query, rows, wanted, random)
    yield from _unsorted(query, rows, wanted, random)
    yield from _collected(query, rows, wanted, random)
    yield from _late(query, rows, random)
    yield from _by_tasks(query, rows, random)


def _cuts(size: int, random: Random) -> Iterator[tuple[int, int]]:
    inner = random.choices(range(size + 1), k=random.randrange(5))
    return pairwise([0, *sorted(inner), size])


# ---------------------------------------------------------------- in one go


def _by_batches(query: str, rows: list[Row], wanted: Places, random: Random) -> Iterator[str]:
    table = pa.Table.from_pylist(rows)
    pieces = [table.slice(low, high - low) for low, high in _cuts(len(rows), random)]
    batches = [batch for piece in pieces for batch in piece.combine_chunks().to_batches()]

    def reader() -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(table.schema, batches)

    threads = random.choice([1, 2, 3])
    number = sase.match(query, reader(), output="count", threads=threads)
    if number != len(wanted):
        yield f"{threads} threads, by batches: {number}, and not {len(wanted)}"
    found = sase.match(query, reader(), output="compressed", threads=threads)
    if _shown(found.expand()) != wanted:
        yield f"{threads} threads, by batches: other matches"


def _unsorted(query: str, rows: list[Row], wanted: Places, random: Random) -> Iterator[str]:
    """Simultaneous rows keep their order."""
    keys = {place: (random.random(), place) for place in range(len(rows))}
    for place in range(1, len(rows)):
        if rows[place]["ts"] == rows[place - 1]["ts"]:
            keys[place] = keys[place - 1][0], place
    order = sorted(keys, key=keys.__getitem__)
    given = [rows[place] for place in order]
    found = sase.match(query, given, output="compressed")
    shown = [tuple(sorted(order[row] for row in each)) for each in _shown(found.expand())]
    if shown != wanted or found.count() != len(wanted):
        yield "unsorted: other matches"


def _shown(matches: sase.Matches) -> Places:
    found = matches.rows.to_pylist()
    return [tuple(sorted(rows_in(list(each.values())))) for each in found]


def rows_in(value: Any) -> list[int]:
    """The rows of a column of `Matches.rows`."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [row for each in value for row in rows_in(each)]
    return [] if value is None else [value]


# ---------------------------------------------------------------- pushed to


def _collecting(query: str, rows: list[Row], lateness: int | None) -> EnginePlan | None:
    """The plan that collects; none where matches are looked at one by one."""
    known = compile_query(query, Discovered.of(rows, InputOptions()), lateness=lateness)
    form = collapsible(known.basic)
    is_one = form.method is not CountMethod.BRANCHES and not form.reasons
    return known.plan(Optimized.of(form.plan)).engine if is_one else None


def _pushed(plan: EnginePlan, pieces: Sequence[list[Row]], *, restores: bool) -> Matcher:
    matcher = Matcher(plan)
    for piece in pieces:
        assert not len(matcher.push(piece))
        if restores:
            matcher = Matcher.of(restored(plan, matcher.snapshot()))
    assert not len(matcher.finish())
    return matcher


def _said(matcher: Matcher, wanted: Places, random: Random) -> Iterator[str]:
    evaluation = matcher.pipeline.operators[0]
    assert isinstance(evaluation, MatchSetEvaluationState)
    found = evaluation.collected()

    def places(bindings: Any) -> Places:
        return [
            tuple(sorted(int(found.positions[each.partition][place]) for place in each.places))
            for each in bindings
        ]

    if evaluation.count() != len(wanted) or found.matches.count() != len(wanted):
        yield f"{evaluation.count()} and {found.matches.count()}, and not {len(wanted)}"
    if places(found.matches) != wanted:
        yield "other matches"
    if places(found.matches.first(3)) != wanted[:3]:
        yield "other first ones"
    sample = places(found.matches.sample(5, random.randrange(99))) if wanted else []
    if not {*sample} <= {*wanted}:
        yield "a sample is no match"
    numbers = found.bindings(list(found.matches)) if wanted else None
    if numbers is not None and len(numbers.events) != sum(map(len, wanted)):
        yield "matches are not as long"


def _collected(query: str, rows: list[Row], wanted: Places, random: Random) -> Iterator[str]:
    plan = _collecting(query, rows, None)
    if plan is None:
        return
    for restores in (False, True):
        pieces = [rows[low:high] for low, high in _cuts(len(rows), random)]
        for fault in _said(_pushed(plan, pieces, restores=restores), wanted, random):
            yield f"{'restored' if restores else 'pushed'} {[*map(len, pieces)]}: {fault}"


def _late(query: str, rows: list[Row], random: Random) -> Iterator[str]:
    """Rows that come out of order, some of them too late."""
    arriving = sorted(rows, key=lambda row: row["ts"] + random.choice((0, 0, 0, 2, 3, 5)))
    plan = _collecting(query, arriving, LATENESS)
    if plan is None:
        return
    greatest, kept = -(2**63), list[Row]()
    for row in arriving:
        if row["ts"] >= greatest - LATENESS:
            kept.append(row)
        greatest = max(greatest, row["ts"])
    wanted = places_of(query, sorted(kept, key=lambda row: row["ts"]))
    pieces = [arriving[low:high] for low, high in _cuts(len(rows), random)]
    restores = random.random() < 0.5
    for fault in _said(_pushed(plan, pieces, restores=restores), wanted, random):
        yield f"late {restores} {[*map(len, pieces)]} of {arriving}: {fault}"


# ---------------------------------------------------------------- by tasks


def _by_tasks(query: str, rows: list[Row], random: Random) -> Iterator[str]:
    """The tasks of a replay, without Spark: rows are numbered, since it has no order of them."""
    numbered = [{**row, "sq": place} for place, row in enumerate(rows)]
    wanted, table = places_of(query, numbered, "sq"), pa.Table.from_pylist(numbered)
    if len(wanted) > MOST:
        return
    example = SimpleNamespace(
        query=SimpleNamespace(text=query),
        table=table,
        setting=SimpleNamespace(layout="", clock=None),
        keywords={"seq": "sq"},
        given_keywords={"seq": "sq"},
    )
    by_hand = ByHand(Case(cast("Example", example), Manner()), random)
    strategy, number = by_hand.count()
    if number != len(wanted):
        yield f"tasks by {strategy.value}: {number}, and not {len(wanted)}"
    strategy, ends = by_hand.compressed()
    if sum(int(each["count"]) for each in ends) != len(wanted):
        yield f"tasks by {strategy.value}: other ends"
    held = {row["sq"] for each in ends for part in each["events"].values() for row in _events(part)}
    if held != {row for each in wanted for row in each}:
        yield f"tasks by {strategy.value}: other events"


def _events(value: Any) -> Iterator[Row]:
    """The events of a column of the collapsed form, groups' by variable included."""
    if isinstance(value, list):
        for each in value:
            yield from _events(each)
    elif isinstance(value, dict):
        if "sq" in value:
            yield value
        else:
            yield from _events(list(value.values()))
