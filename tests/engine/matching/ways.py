"""The ways to have the engine find matches, and what must be the same by all of them."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet
from hypothesis import strategies as st

import sase
from sase.engine.pipeline import batch
from sase.planning.driver import RewriteCall, Trace
from sase.planning.optimizer import optimized
from sase.planning.options import Options
from sase.planning.recipes import read_recipe, recipe_names
from sase.planning.rewrites import REWRITES
from tests import naive
from tests.engine.matching.examples import Example
from tests.engine.matching.streams import DEFINED, TABLES, Row

# ---------------------------------------------------------------- which way


class Piece(NamedTuple):
    """Some of the rows in the order of time, how they are given, and whether time goes on after."""

    size: int
    form: str
    advance: bool = False


@dataclass(frozen=True)
class Way:
    """A plan, the sizes it works with, and how the events come to it."""

    recipe: str
    options: Options
    manner: str
    pieces: tuple[Piece, ...] = (Piece(3, "table"),)
    threads: int = 1
    # Rewrites of the basic plan in this order, instead of those of the recipe.
    order: tuple[str, ...] = ()
    # A rewrite of the recipe that is switched off.
    off: str | None = None

    def is_push(self, example: Example) -> bool:
        """Tables of different columns are not pushed."""
        return self.manner == "push" and example.setting.layout != TABLES


FORMS = ("table", "slice", "encoded", "batch", "alike")
tiny = st.builds(
    Options,
    block=st.sampled_from([1, 2, 3, 7, 64]),
    chunk=st.sampled_from([1, 2, 3, 64]),
    stack=st.sampled_from([1, 2, 4, 64]),
    analyze=st.sampled_from([False, False, True]),
    fused=st.sampled_from([True, True, False]),
    lines=st.sampled_from([True, True, False]),
)
pieces = st.builds(
    Piece,
    st.sampled_from([1, 2, 3, 0, 1, 5, 8]),
    st.sampled_from(FORMS),
    st.booleans(),
)
PUSHES, FILES = ["push"] * 4, [".parquet", ".arrow", "in pieces"]
manners = st.sampled_from(["records", "table", "chunks", "match", "threads", *FILES, *PUSHES])
ways = st.builds(
    Way,
    st.sampled_from(recipe_names()),
    tiny,
    manners,
    st.lists(pieces, min_size=1, max_size=4).map(tuple),
    st.integers(2, 7),
    st.sampled_from([False, False, True]).flatmap(
        lambda any_order: st.permutations([*REWRITES]).map(tuple) if any_order else st.just(())
    ),
    st.none() | st.sampled_from([*REWRITES]),
)


# ---------------------------------------------------------------- forms of a table


def encoded(table: pa.Table) -> pa.Table:
    """Strings as codes into dictionaries that have more entries than are used, in no order."""
    for place, column in enumerate(table.schema):
        if column.type == pa.string():
            values = table.column(place).to_pylist()
            entries = ["unused", *sorted(set(values) - {None}, reverse=True)]
            codes = pa.array([None if v is None else entries.index(v) for v in values], pa.int8())
            array = pa.DictionaryArray.from_arrays(codes, pa.array(entries, pa.string()))
            table = table.set_column(place, column.name, array)
    return table


def given(table: pa.Table, form: str) -> Any:
    """The rows of a table in one of the forms that a push takes."""
    match form:
        case "encoded":
            return encoded(table)
        case "batch" | "alike":
            columns = [column.combine_chunks() for column in table.columns]
            return pa.RecordBatch.from_arrays(columns, schema=table.schema)
        case "table":
            return table.take(pa.array(range(len(table)), pa.int64()))
    return table


def cut(table: pa.Table, sizes: Sequence[Piece]) -> Iterator[tuple[pa.Table, Piece]]:
    """Slices of a table, as long as there are rows."""
    start = 0
    for piece in cycle([*sizes, Piece(1, "slice")]):
        if start >= len(table):
            return
        yield table.slice(start, piece.size), piece
        start += piece.size


def in_chunks(table: pa.Table, sizes: Sequence[Piece]) -> pa.Table:
    """Several chunks; strings as codes, in each into a dictionary of its own."""
    parts = [encoded(part) for part, _ in cut(table, sizes)]
    return pa.concat_tables(parts) if parts else encoded(table)


# ---------------------------------------------------------------- running


class Found(NamedTuple):
    """What came out: row numbers under the names of the variables, and the results themselves."""

    names: list[str]
    rows: list[tuple[int, ...]]
    results: list[dict[str, Any]]


def plan_of(example: Example, way: Way, events: Any) -> Any:
    """By a recipe, with all its rewrites or without one, or by all rewrites in any order."""
    text, keywords = example.query.text, {**keywords_of(example), "output": example.output}
    if not way.order and way.off is None:
        plan = sase.compile(text, events, **keywords, plan=way.recipe)
        return replace(plan, options=way.options)
    basic = sase.compile(text, events, **keywords, plan="basic")
    if way.order:
        # Half of them, so that each also meets plans without the ones it usually follows.
        calls = [RewriteCall(name) for name in way.order[: 1 + len(way.order) // 2]]
        operators = Trace.of(basic.operators).after(calls).plan
    else:
        off = [way.off] if way.off is not None else []
        operators = optimized(read_recipe(way.recipe), basic.operators, off=off).plan
    return replace(basic, operators=operators, options=way.options)


def keywords_of(example: Example) -> dict[str, Any]:
    left_out = ("type", "types") if example.setting.layout == TABLES else ()
    return {name: each for name, each in example.keywords.items() if name not in left_out}


def run(example: Example, way: Way) -> Found:
    """Everything at once."""
    table = example.table
    match way.manner:
        case "match":
            recipe = way.recipe if way.options.fused else "unfused"
            keywords = keywords_of(example)
            return found(sase.match(example.query.text, table, **keywords, plan=recipe))
        case "records":
            return found(plan_of(example, way, example.records).run(example.records))
        case "chunks" if example.setting.layout != TABLES:
            return found(plan_of(example, way, table).run(in_chunks(table, way.pieces)))
        case "threads":
            return found(plan_of(example, way, table).run(table, threads=way.threads))
        case ".parquet" | ".arrow" | "in pieces" if example.setting.layout != TABLES:
            return _from_files(example, way, table)
    return found(plan_of(example, way, table).run(table))


def _from_files(example: Example, way: Way, table: pa.Table) -> Found:
    """From a folder of files, as a whole or piece by piece, where they are sorted on disk."""
    with tempfile.TemporaryDirectory() as folder:
        parts = [part for part, _ in cut(table, way.pieces) if len(part)] or [table]
        suffix = ".arrow" if way.manner == "in pieces" else way.manner
        for number, part in enumerate(parts):
            # In the order of their names.
            write(part, Path(folder) / f"{number:03}{suffix}")
        plan = plan_of(example, way, folder)
        if way.manner != "in pieces":
            return found(plan.run(folder, threads=way.threads))
        return found(batch.run(plan.engine, folder, held=-1))


def write(table: pa.Table, path: Path) -> None:
    """A table as a file, as the name says."""
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=3)
        return
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


def found(matches: Any) -> Found:
    rows = matches.rows
    columns = [column.to_pylist() for column in rows.columns]
    results = Found(rows.column_names, list(zip(*columns, strict=True)), matches.to_pylist())
    assert len(results.rows) == len(results.results) == len(matches)
    return results


# ---------------------------------------------------------------- pushing


def push(example: Example, way: Way, expected: list[naive.Match]) -> Found:
    """Piece by piece, the rows in order: each match is told as soon as it is known."""
    table, clock = example.table, example.setting.clock
    # Batches of one dictionary: the first goes the long way, and the others the short one.
    alike = encoded(table)
    matcher = plan_of(example, way, table).open()
    times = [clock.shown(row[example.setting.time]) for row in example.rows]
    now, pushed, parts = None, 0, list[Found]()

    def told(matches: Any) -> None:
        parts.extend([found(matches)] if len(matches) else [])
        number = sum(len(part.rows) for part in parts)
        assert number == known(example, expected, pushed, now), f"after {pushed} rows, at {now}"

    for part, piece in cut(table, way.pieces):
        if piece.form == "alike":
            part = alike.slice(pushed, len(part))
        pushed += len(part)
        now = times[pushed - 1] if len(part) else now
        told(matcher.push(given(part, piece.form)))
        if piece.advance:
            # To the time of the next event, which may come then, or of none.
            now = times[pushed] if pushed < len(times) else clock.after(times[-1])
            told(matcher.advance(now))
    parts.append(found(matcher.finish()))
    return Found(
        parts[-1].names,
        [row for part in parts for row in part.rows],
        [result for part in parts for result in part.results],
    )


def known(example: Example, expected: list[naive.Match], pushed: int, now: Any) -> int:
    """How many of the matches are certain when these rows were pushed, and it is this time.

    A match whose last event was pushed, for every event before that one was, too. One that waits
    for an absence when its window has passed: inclusive, when time has gone beyond it.
    """
    there = [match for match in expected if match.events[-1][0] < pushed]
    if not example.query.negated_end:
        return len(there)
    if example.query.is_inclusive:
        return sum(match.detected_at < now for match in there)
    return sum(match.detected_at <= now for match in there)


# ---------------------------------------------------------------- comparing


def check(example: Example, expected: list[naive.Match], got: Found) -> None:
    """The same matches in the same order, with the same values."""
    assert got.rows == [tuple(row for (row,) in match.events) for match in expected]
    for match, result in zip(expected, got.results, strict=True):
        assert got.names == list(match.names)
        for name in ("ts_start", "ts_end", "detected_at"):
            assert same(getattr(match, name), result[name]), (name, match, result)
        wanted = match.values if match.values is not None else _payload(example, match, result)
        assert {*result} == {*wanted, "ts_start", "ts_end", "detected_at"}
        for name, value in wanted.items():
            assert same(value, result[name]), (name, match, result)


def _payload(example: Example, match: naive.Match, result: Row) -> Row:
    """The attributes of the events, under the variables."""
    return {
        name: attributes_of(example, example.rows[row], result.get(name, {}))
        for name, (row,) in zip(match.names, match.events, strict=True)
    }


def attributes_of(example: Example, row: Row, shown: Row) -> Row:
    """Those of the event's type. ANY shows what other types declare, too: here that is NULL."""
    setting = example.setting
    names = {setting.time: None} | ({setting.seq: None} if setting.seq else {})
    if setting.layout == DEFINED or not setting.type or setting.type not in row:
        names |= dict.fromkeys(setting.columns)
    else:
        names |= {setting.type: None} | dict.fromkeys(setting.declared[row[setting.type]])
    if setting.layout == TABLES and "type" not in shown:
        del names["type"]
    made = {name: None for name in shown} | {name: row[name] for name in names}
    return made | {setting.time: setting.clock.shown(row[setting.time])}


def same(expected: Any, got: Any) -> bool:
    """Equal; NaN, given or computed, is NULL; an integer may have become a float beside floats."""
    if isinstance(expected, dict):
        return {*expected} == {*got} and all(same(expected[name], got[name]) for name in expected)
    if isinstance(expected, float) and math.isnan(expected):
        expected = None
    if isinstance(got, float) and math.isnan(got):
        got = None
    if None in (expected, got) or isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(got, float) and isinstance(expected, int):
        expected = float(expected)
    return bool(expected == got)
