"""The matches of the engine on imprecise time, by every route, and the expected ones."""

from __future__ import annotations

import re
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa

import sase
from sase.engine.pipeline import batch
from sase.errors import QueryError
from sase.lang.parser import parse_query
from sase.planning.recipes import recipe_names
from tests import naive
from tests.drawing.imprecise import TIME, Drawn, Row, draw, draw_long, draw_precise
from tests.drawing.outcomes import FOUND, NOTHING, REFUSED, Outcome
from tests.drawing.ways import write

# The recipes that have rules of their own here, and those that fit any query.
RECIPES = ("optimized", "optimized", "basic", "nfab", "worlds", "dp")
WAYS = ("at once", "threads", "in pieces", "restored", "late", "files", "compressed")
NEAR = 1e-9
SCHEMA = pa.schema(
    [("type", pa.string()), ("lo", pa.int64()), ("hi", pa.int64()), ("k", pa.int64()),
     ("v", pa.int64()), ("w", pa.float64())]
)  # fmt: skip


class Found(NamedTuple):
    """Of each match the rows by variable, and all that its result has."""

    rows: list[tuple[Any, ...]]
    results: list[dict[str, Any]]


@dataclass(frozen=True)
class Way:
    """How a query is run: by a recipe, and by a route."""

    recipe: str
    route: str
    threads: int
    cuts: tuple[int, ...]
    lateness: int
    block: int

    @classmethod
    def plain(cls, recipe: str) -> Way:
        """All rows at once, in one block."""
        return cls(recipe, "at once", 1, (), 0, 1 << 17)

    @classmethod
    def of(cls, number: int, recipe: str | None = None) -> Way:
        """The example of a number."""
        random = Random(number * 7 + 1)
        cuts = tuple(random.randrange(1, 4) for _ in range(8))
        own = [each for each in RECIPES if each in recipe_names()]
        return cls(
            recipe or random.choice(own), random.choice(WAYS), random.randrange(2, 5), cuts,
            random.randrange(4), random.choice((1, 2, 3, 1 << 17)),
        )  # fmt: skip


def table(rows: Sequence[Row]) -> pa.Table:
    """Rows as an Arrow table."""
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


def expected(drawn: Drawn) -> list[naive.Match]:
    """The matches, by the naive matcher."""
    return naive.match(parse_query(drawn.text), drawn.rows, time=TIME)


def arrived(drawn: Drawn, lateness: int) -> tuple[Drawn, list[int]]:
    """The rows that are not late where a stream comes as it is, and their numbers."""
    kept, greatest = [], -(2**62)
    for number, row in enumerate(drawn.rows):
        if row["lo"] >= greatest - lateness:
            kept.append(number)
        greatest = max(greatest, row["lo"])
    return replace(drawn, rows=tuple(drawn.rows[number] for number in kept)), kept


def in_order(drawn: Drawn) -> Drawn:
    """With the rows in the order of `lo`, as they may be pushed; `hi` may go back."""
    return replace(drawn, rows=tuple(sorted(drawn.rows, key=lambda row: int(row["lo"]))))


# ---------------------------------------------------------------- running


def run(drawn: Drawn, way: Way, *, knows_all: bool = True) -> Found:
    """The matches of the engine; raises QueryError if it refuses.

    The time of each match is compared with the naive matcher, if that `knows_all`.
    """
    events = table(drawn.rows)
    more = {"lateness": way.lateness} if way.route == "late" else {}
    plan = sase.compile(drawn.text, events, time=TIME, plan=way.recipe, **more)
    plan = replace(plan, options=replace(plan.options, block=way.block, stack=2))
    match way.route:
        case "threads":
            return found(plan.run(events, threads=way.threads))
        case "in pieces" | "restored" | "late":
            return pushed(drawn, way, plan, events, knows_all=knows_all)
        case "files":
            return of_files(drawn, way, plan.recipe, events)
        case "compressed":
            return compressed(drawn, plan.recipe, events)
    return found(plan.run(events, threads=1))


def pushed(drawn: Drawn, way: Way, plan: Any, events: pa.Table, *, knows_all: bool = True) -> Found:
    """Piece by piece; each match is returned once time by `lo` has passed its `detected_at`."""
    matcher, random = plan.open(), Random(len(drawn.rows) + way.threads)
    parts, at, greatest = [], 0, -(2**62)
    lateness = way.lateness if way.route == "late" else 0
    floor = greatest
    for size in (*way.cuts, len(drawn.rows)):
        piece = events.slice(at, size)
        got = [found(matcher.push(piece))]
        for row in drawn.rows[at : at + size]:
            greatest = max(greatest, row["lo"])
        at += piece.num_rows
        floor = max(floor, greatest - lateness)
        if way.route == "restored":
            matcher = plan.restore(matcher.snapshot())
        if way.route != "late" and random.randrange(3) == 0 and at < len(drawn.rows):
            floor = max(floor, drawn.rows[at]["lo"])  # which may come then
            got.append(found(matcher.advance(floor)))
        parts += got
        detected = [each["detected_at"] for part in parts for each in part.results]
        assert all(each < floor for each in detected), "a match is told before its time"
        # A match of two branches waits until it is known which one it is of.
        if knows_all and not drawn.limit and " OR " not in drawn.pattern:
            ordered = [each.detected_at for each in naive_of(drawn, way)]
            known = sum(each < floor for each in ordered)  # type: ignore[operator]
            assert abs(len(detected) - known) <= doubtful(drawn, way), (
                f"{len(detected)} of {known} matches told at {floor}"
            )
    parts.append(found(matcher.finish()))
    return Found([r for part in parts for r in part.rows], [r for p in parts for r in p.results])


_memory: dict[tuple[Any, ...], list[naive.Match]] = {}


def naive_of(drawn: Drawn, way: Way) -> list[naive.Match]:
    """The matches by the naive matcher, with the numbers of rows as they come by a way."""
    key = (drawn.text, str(drawn.rows), way.lateness if way.route == "late" else None)
    if key not in _memory:
        _memory.clear()
        _memory[key] = _naive_of(drawn, way)
    return _memory[key]


def _naive_of(drawn: Drawn, way: Way) -> list[naive.Match]:
    if way.route != "late":
        return expected(drawn)
    left, numbers = arrived(drawn, way.lateness)
    return [
        replace(each, events=tuple(tuple(numbers[row] for row in rows) for rows in each.events))
        for each in expected(left)
    ]


def doubtful(drawn: Drawn, way: Way) -> int:
    """How many matches are so near the threshold that either is right."""
    if drawn.threshold is None:
        return 0
    threshold = drawn.threshold
    bare = replace(drawn, confidence="")
    return sum(abs(float(each.confidence or 0) - threshold) < NEAR
               for each in _naive_of(bare, way))  # fmt: skip


def of_files(drawn: Drawn, way: Way, recipe: Any, events: pa.Table) -> Found:
    """From several files in a folder, at once or in pieces."""
    with tempfile.TemporaryDirectory() as folder:
        at = 0
        for number, size in enumerate((*way.cuts, len(drawn.rows))):
            part = events.slice(at, size)
            at += part.num_rows
            if part.num_rows:
                suffix = ".parquet" if way.lateness % 2 else ".arrow"
                write(part, Path(folder) / f"{number:03}{suffix}")
        plan = sase.compile(drawn.text, folder, time=TIME, plan=recipe)
        if way.lateness < 2:
            return found(plan.run(folder, threads=way.threads))
        return found(batch.run(plan.engine, folder, held=-1))


def compressed(drawn: Drawn, recipe: Any, events: pa.Table) -> Found:
    """As a set that is counted, and listed."""
    matches = sase.match(drawn.text, events, time=TIME, plan=recipe, output="compressed")
    listed, few = found(matches.expand()), found(matches.first(2))
    assert repr([*matches]) == repr(listed.results) and few.rows == listed.rows[:2]
    count = sase.match(drawn.text, events, time=TIME, plan=recipe, output="count")
    assert matches.count() == count == len(listed.rows)
    return listed


def found(matches: Any) -> Found:
    """Matches as rows and results."""
    rows = [tuple(map(_bound, row.values())) for row in matches.rows.to_pylist()]
    results = matches.to_pylist()
    assert len(rows) == len(results) == len(matches)
    return Found(rows, results)


def _bound(column: Any) -> tuple[int, ...]:
    if column is None:
        return ()
    return tuple(column) if isinstance(column, list) else (column,)


# ---------------------------------------------------------------- comparing


@dataclass(frozen=True)
class Comparison:
    """The matches of the engine for a query by a way, the expected ones, and the plainest."""

    number: int
    drawn: Drawn
    way: Way
    found: Found
    wanted: list[naive.Match]

    @cached_property
    def fault(self) -> str | None:
        """The difference."""
        problem = next(self._differences(), None)
        if problem is None:
            return None
        rows = "\n".join(f"    {row}" for row in self.drawn.rows)
        return f"{self.number} {self.way}:\n  {self.drawn.text}\n{rows}\n  {problem}"

    def _differences(self) -> Any:
        got, wanted = self._clear()
        if [rows for rows, _ in got] != [match.events for match in wanted]:
            yield f"{got}\n  {wanted}"
            return
        for (_, result), match in zip(got, wanted, strict=True):
            named = {"ts_start": match.ts_start, "ts_end": match.ts_end}
            named |= {"detected_at": match.detected_at, "confidence": float(match.confidence or 0)}
            if match.values is not None:
                named |= match.values
                if [*result] != [*match.values, "ts_start", "ts_end", "detected_at", "confidence"]:
                    yield f"columns {[*result]}"
            for name, value in named.items():
                if not alike(value, result[name]):
                    yield f"{name} {result[name]!r} and not {value!r} of {match}"

    def _clear(self) -> tuple[list[tuple[Any, Any]], list[naive.Match]]:
        """Without those of which the confidence is that of the threshold."""
        got = list(zip(*self.found, strict=True))
        threshold = self.drawn.threshold
        if threshold is None:
            return got, self.wanted
        clear = [each for each in got if abs(each[1]["confidence"] - threshold) >= NEAR]
        wanted = [m for m in self.wanted if abs(float(m.confidence or 0) - threshold) >= NEAR]
        return clear, wanted


def alike(wanted: Any, got: Any) -> bool:
    """Equal, numbers with a fraction within 1e-9."""
    if isinstance(wanted, float) or isinstance(got, float):
        return wanted is got or (
            wanted is not None
            and got is not None
            and abs(wanted - got) < NEAR * max(1, abs(wanted))
        )
    return bool(wanted == got)


def run_number(number: int, drawn: Drawn, recipe: str | None = None) -> Comparison | str:
    """The query of a number by one way of running it; of one that is refused, why."""
    way = Way.of(number, recipe)
    drawn = in_order(drawn) if way.route in ("in pieces", "restored") else drawn
    try:
        wanted = naive_of(drawn, way)
    except (NotImplementedError, ValueError, OverflowError) as problem:
        return f"the naive matcher: {problem}"
    try:
        got = run(drawn, way)
        same = run(drawn, Way.plain(way.recipe))
    except QueryError as problem:
        return str(problem).splitlines()[0]
    if way.route != "late" and repr(got) != repr(same):
        raise AssertionError(f"two ways differ: {got}\n  {same}\n  {drawn.text}\n  {drawn.rows}")
    return Comparison(number, drawn, way, got, wanted)


def two_ways(number: int, drawn: Drawn) -> int | str:
    """Check that a way equals the plainest, bit by bit; the number of matches, or why not.

    Of a stream of which the naive matcher cannot write out the worlds.
    """
    way = Way.of(number)
    drawn = in_order(drawn) if way.route in ("in pieces", "restored", "late") else drawn
    try:
        wanted = run(drawn, Way.plain("basic"))
        got = run(drawn, way, knows_all=False)
    except QueryError as problem:
        return str(problem).splitlines()[0]
    if way.recipe == "worlds":  # which sums in another order
        assert got.rows == wanted.rows
    else:
        assert repr(got) == repr(wanted), f"{way}: {got}\n  {wanted}"
    return len(wanted.rows)


def as_precise(number: int, drawn: Drawn) -> int | str:
    """Check that precise intervals give the matches of one column of time, with confidence 1."""
    way = Way.of(number)
    drawn = in_order(drawn) if way.route in ("in pieces", "restored", "late") else drawn
    try:
        got = run(drawn, way, knows_all=False)
        wanted = found(sase.match(drawn.text, table(drawn.rows), time="lo", plan="nfab"))
    except QueryError as problem:
        return str(problem).splitlines()[0]
    certain = [each | {"confidence": 1.0} for each in wanted.results]
    assert repr(got) == repr(Found(wanted.rows, certain)), f"{way}: {got}\n  {wanted}"
    return len(wanted.rows)


# ---------------------------------------------------------------- trying


def judged(number: int, drawn: Drawn, form: str, recipe: str | None = None) -> int | str:
    """How many matches there are, or why the query is refused; raises where there is a fault."""
    if form != "imprecise":
        return {"long imprecise": two_ways, "precise intervals": as_precise}[form](number, drawn)
    comparison = run_number(number, drawn, recipe)
    if isinstance(comparison, str):
        return comparison
    assert comparison.fault is None, comparison.fault
    return len(comparison.wanted)


def tried(number: int, asked: Sequence[str] = (), *, form: str) -> Outcome:
    """The outcome of the query of a number; long streams are compared with the plainest way."""
    drawn = DRAWN[form](number)
    try:
        found = judged(number, drawn, form, next(iter(asked), None))
    except Exception:
        rows = "\n".join(f"    {row}" for row in drawn.rows)
        said = f"{number} {Way.of(number)}\n  {drawn.text}\n{rows}\n{traceback.format_exc()}"
        return Outcome(FOUND, said)
    if isinstance(found, str):
        return Outcome(f"{REFUSED}: {re.sub('`.*?`', '`…`', found)}")
    return Outcome(FOUND if found else NOTHING)


DRAWN = {"imprecise": draw, "long imprecise": draw_long, "precise intervals": draw_precise}
