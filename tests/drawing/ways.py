"""The ways to have the engine find the matches of an example."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

import sase
from sase.engine.pipeline import batch
from sase.planning.driver import RewriteCall, Trace
from sase.planning.engine_plan import Options
from sase.planning.optimizer import optimized
from sase.planning.recipes import read_recipe, recipe_names
from sase.planning.rewrites import REWRITES
from tests.drawing.comparing import Found, check_certain, differences, found, joined
from tests.drawing.draw import Draw
from tests.drawing.examples import Example, drawn_example, first_example
from tests.drawing.imprecise import FORMS as IMPRECISE
from tests.drawing.streams import TABLES
from tests.planning.plans import CALLS

# ---------------------------------------------------------------- which way

# The recipes that have rules of their own for series or strategies.
OF_RUNS = (
    *("nfab", "nfab_merged", "nfab_versioned", "backtrack", "backtrack_reread", "postponed"),
    *("postponed_filters", "collapsed", "ses", "ses_tree"),
)
# Those that join the components that must occur, and walk through the series between.
OF_TREES = ("tree_left_deep", "tree_right_deep", "tree_bushy")
# Those that leave out events of windows without a match.
OF_WINDOWS = ("match_window_f", "match_window_fp", "match_window_fpc", "match_window_fc")
OF_SERIES = ("optimized", "basic", "pais", *OF_RUNS, *OF_TREES, *OF_WINDOWS)
OF_NEGATION = (
    *("optimized", "optimized", "basic", "negation_in_construction", "negation_by_time", "pais"),
    "predicates_in_construction",
)
# The recipes that keep stacks.
OF_SCANS = (*["optimized"] * 4, "basic", "pais", "multi_pais", "composite_key", "tree_bushy")
OF_SETS = (*["optimized"] * 6, *["basic"] * 3, *recipe_names())
OF_FORM = {
    "sequences": tuple(recipe_names()),
    "shared choices": OF_SCANS,
    "sets": OF_SETS,
    "single sets": OF_SETS,
    "joined sets": ("ses_tree",),
    **dict.fromkeys(IMPRECISE, ("optimized", "optimized", "basic", "nfab", "worlds", "dp")),
}
FILES = (".parquet", ".arrow", "in pieces")
MANNERS = (
    *("match", "records", "table", "chunks", "threads", *FILES),
    *("push", "push", "push", "restored"),
)
# Rows in any order, some of which come too late.
LATE = "late"
# As a set that is counted, and listed.
COMPRESSED = "compressed"
PUSHES = ("push", "restored", LATE)
FORMS = ("table", "slice", "encoded", "batch", "alike")
JITTER = (0, 0, 0, 0, 1, 2, 3, 4, 8)


class Piece(NamedTuple):
    """Some of the rows, the form in which they are given, and the steps behind them.

    Time may advance behind rows in order. Behind other rows it may advance to a tick, and a restart
    may follow.
    """

    size: int
    form: str
    advance: bool = False
    tick: int | None = None
    restart: bool = False


@dataclass(frozen=True)
class Way:
    """A plan, the sizes it works with, and how the events come to it."""

    recipe: str
    options: Options
    manner: str
    pieces: tuple[Piece, ...] = (Piece(3, "table"),)
    threads: int = 1
    # Rewrites of the basic plan in this order, instead of those of the recipe.
    order: tuple[RewriteCall, ...] = ()
    # A rewrite of the recipe that is switched off.
    off: str | None = None
    # How many ticks a row may go back in time.
    lateness: int = 0

    def is_push(self, example: Example) -> bool:
        """Tables of different columns are not pushed."""
        return self.manner in PUSHES and example.setting.layout != TABLES


def drawn_way(draw: Draw, form: str) -> Way:
    """How an example of a form is run."""
    recipes: Sequence[str] = OF_FORM.get(form, OF_SERIES)
    if form == "negative groups" and draw.chance(50):
        recipes = OF_NEGATION
    way = Way(
        draw.choice(recipes),
        Options(
            block=draw.one_of(1, 2, 3, 7, 64),
            chunk=draw.one_of(1, 2, 3, 64),
            stack=draw.one_of(1, 2, 4, 64),
            analyze=draw.one_of(False, False, True),
            fused=draw.one_of(True, True, False),
            lines=draw.one_of(True, True, False),
            many_keys=draw.one_of(1, 1, 1 << 13),
        ),
        draw.choice((*MANNERS, LATE, LATE, COMPRESSED) if form in IMPRECISE else MANNERS),
        tuple(_piece(draw) for _ in range(draw.randint(1, 5))),
        draw.randint(2, 7),
        lateness=draw.one_of(0, 0, 1, 2, 3, 5),
    )
    if form != "sequences":
        return way
    order = tuple(draw.permutation(CALLS)) if draw.one_of(False, False, True) else ()
    return replace(way, order=order, off=draw.one_of(None, draw.choice([*REWRITES])))


def _piece(draw: Draw) -> Piece:
    tick = draw.one_of(None, None, draw.randint(0, 30))
    return Piece(
        draw.one_of(1, 2, 3, 0, 1, 5, 8), draw.choice(FORMS), draw.chance(50), tick, draw.chance(50)
    )


def case(number: int, form: str, asked: Sequence[str] = ()) -> tuple[Example, Way]:
    """The example of a number and its way; the names in `asked` take turns, if there are any."""
    draw, recipes = Draw(number), [each for each in asked if each in recipe_names()]
    is_late = LATE in asked
    if is_late:
        example = first_example(draw, form, lambda each: each.setting.layout != TABLES)
    else:
        example = drawn_example(draw, form)
    way = drawn_way(draw, form)
    if recipes:
        way = replace(way, recipe=recipes[number % len(recipes)], order=(), off=None)
    if is_late or way.manner == LATE:
        # Of those that are not judged no row is late.
        example = _in_disorder(draw, example) if example.is_judged else example.sorted
        return example, replace(way, manner=LATE)
    return in_order(example, way), way


def in_order(example: Example, way: Way) -> Example:
    """With its rows in the order of time, if they are to be pushed."""
    return example.sorted if way.is_push(example) else example


def _in_disorder(draw: Draw, example: Example) -> Example:
    """With its rows nearly in the order of time, or in that of the example, which may be any."""
    if draw.randrange(6) == 0:
        return example
    rows = example.sorted.rows
    places = [place + draw.choice(JITTER) for place in range(len(rows))]
    rows = [rows[place] for place in sorted(range(len(rows)), key=places.__getitem__)]
    return replace(example, rows=rows)


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


def plan_of(example: Example, way: Way, events: Any) -> Any:
    """By a recipe, with all its rewrites or without one, or by all rewrites in any order."""
    text, keywords = example.query.text, {**example.given_keywords, "output": example.output}
    if not way.order and way.off is None:
        plan = sase.compile(text, events, **keywords, plan=way.recipe)
        return replace(plan, options=way.options)
    basic = sase.compile(text, events, **keywords, plan="basic")
    if way.order:
        # Half of them, so that each also meets plans without the ones it usually follows.
        calls = way.order[: 1 + len(way.order) // 2]
        operators = Trace.of(basic.operators).after(calls).plan
    else:
        off = [way.off] if way.off is not None else []
        operators = optimized(read_recipe(way.recipe), basic.operators, off=off).plan
    return replace(basic, operators=operators, options=way.options)


def run(example: Example, way: Way) -> Found:
    """The matches of the engine; late rows are for `late_rows`."""
    if way.is_push(example):
        return _pushed(example, way)
    table = example.table
    match way.manner:
        case "match":
            is_unfused = way.recipe == "optimized" and not way.options.fused
            recipe = "unfused" if is_unfused else way.recipe
            keywords = {**example.given_keywords, "output": example.output, "plan": recipe}
            return found(sase.match(example.query.text, table, **keywords))
        case "records" if example.rows:  # no rows do not say their columns
            return found(plan_of(example, way, example.records).run(example.records))
        case "chunks" if example.setting.layout != TABLES:
            return found(plan_of(example, way, table).run(in_chunks(table, way.pieces)))
        case "threads":
            return found(plan_of(example, way, table).run(table, threads=way.threads))
        case "compressed":
            return _compressed(example, way, table)
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


def _compressed(example: Example, way: Way, table: pa.Table) -> Found:
    text, keywords = example.query.text, {**example.given_keywords, "plan": way.recipe}
    matches = sase.match(text, table, **keywords, output="compressed")
    listed, few = found(matches.expand()), found(matches.first(2))
    assert repr([*matches]) == repr(listed.results) and few.rows == listed.rows[:2]
    count = sase.match(text, table, **keywords, output="count")
    assert matches.count() == count == len(listed.rows)
    return listed


def unlike(example: Example, way: Way, got: Found) -> str | None:
    """The difference from the naive matcher; of imprecise time from another way as well."""
    wrong = next(differences(example, got), None) if example.is_judged else None
    if wrong is not None or not example.setting.is_imprecise:
        return wrong
    wanted = reference(example, way)
    if way.recipe == "worlds" and example.judge == "another way":  # which sums in another order
        got = got._replace(results=wanted.results)
    return None if repr(got) == repr(wanted) else f"found: expected {wanted}\n    got {got}"


def reference(example: Example, way: Way) -> Found:
    """The matches of a plain run; all matches in one column of time are certain."""
    text, table = example.query.text, example.table
    if example.judge == "one column":
        got = found(sase.match(text, table, time=example.setting.time, plan="nfab"))
        return got._replace(results=[each | {"confidence": 1.0} for each in got.results])
    recipe = way.recipe if example.is_judged else "basic"
    return found(sase.match(text, table, **example.given_keywords, plan=recipe))


def write(table: pa.Table, path: Path) -> None:
    """A table as a file, as the name says."""
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=3)
        return
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


# ---------------------------------------------------------------- pushing


def _pushed(example: Example, way: Way) -> Found:
    """Push the rows in order, piece by piece: each match is returned as soon as it is known."""
    table, clock = example.table, example.setting.clock
    # Batches of one dictionary: the first takes the long way, and the others the short one.
    alike = encoded(table)
    plan = plan_of(example, way, table)
    matcher = plan.open()
    times = [clock.shown(row[example.setting.time]) for row in example.rows]
    now, pushed, told = None, 0, Found([], [], [], [])
    for part, piece in cut(table, way.pieces):
        if piece.form == "alike":
            part = alike.slice(pushed, len(part))
        pushed += len(part)
        now = times[pushed - 1] if len(part) else now
        told = joined([told, found(matcher.push(given(part, piece.form)))])
        if way.manner == "restored":
            matcher = plan.restore(matcher.snapshot())
        _check_told(example, told, pushed, now)
        if piece.advance:
            # To the time of the next event, which may come then, or of none.
            now = times[pushed] if pushed < len(times) else clock.after(times[-1])
            told = joined([told, found(matcher.advance(now))])
            _check_told(example, told, pushed, now)
    return joined([told, found(matcher.finish())])


def _check_told(example: Example, told: Found, pushed: int, now: Any) -> None:
    """Check that a match is returned when its last event is pushed, or its absence is certain.

    An inclusive window has passed when time is beyond it. Where only some matches wait,
    others wait for these, and how long is not said here.
    """
    query = example.query
    if example.setting.is_imprecise and now is not None:
        check_certain(example, told, now)
    if query.negated_end == "some" or now is None:
        return
    there = [m for m in example.expected if max(row for s in m.events for row in s) < pushed]
    if query.negated_end and query.is_inclusive:
        there = [match for match in there if match.detected_at < now]  # type: ignore[operator]
    elif query.negated_end:
        there = [match for match in there if match.detected_at <= now]  # type: ignore[operator]
    known = f"{len(told.rows)} of {len(there)} known matches"
    assert len(told.rows) == len(there), f"{known} after {pushed} rows, at {now}"
