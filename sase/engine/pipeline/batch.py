"""Run a plan over complete events: held in memory, or in files that are read in pieces."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.engine.columns import Events, opened
from sase.engine.columns.arrow.input import Input, Inputs, as_batch
from sase.engine.columns.decode.quarantine import joined
from sase.engine.columns.decode.resolve import resolve
from sase.engine.pipeline.fused.open import open_pipeline
from sase.engine.pipeline.limits import RunGuard, check_of, memory_check_of, working
from sase.engine.pipeline.matcher import Matcher
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.pipeline.threads import (
    search_by_key,
    search_in_threads,
    slices_of,
    threads_that_pay,
)
from sase.engine.report import Report
from sase.engine.resources import Check
from sase.engine.results.batch import ResultBatch
from sase.engine.results.matches import Matches, MatchSearch
from sase.engine.sources import MOST_HELD, Files, is_path, open_files
from sase.engine.sources.external_sort import in_order, is_sorted, naming_least
from sase.engine.sources.open import fit_types, nearly_numbers
from sase.engine.sources.pruning import PruningPredicate
from sase.engine.sources.salvage import salvaged
from sase.engine.sources.text_times import with_times_of
from sase.errors import DataError, PlanError
from sase.planning.branches import branches_left_out, left_out_text
from sase.planning.engine_plan import EnginePlan, Reads
from sase.planning.plan.traversal import attributes_read

Watch: TypeAlias = Callable[[int], object]
Ticks: TypeAlias = Callable[[], int]

ONE_THREAD = (
    "one thread searched: there is no window to cut by, and no attribute all events agree on"
)
AT_ONCE = (
    "one thread searched: to part these events by key takes longer than to look for their matches"
)
PIECES = "one thread searched, since the events are too many to be held and come in pieces"
SORTED = "the events were not sorted, and were sorted on disk"


@dataclass(frozen=True, eq=False)
class Overseen:
    """Progress callback, clock and guard of a run."""

    watch: Watch
    clock: Ticks | None = None
    guard: RunGuard | None = None

    @classmethod
    def by(cls, guard: RunGuard | None, watch: Watch, clock: Ticks | None) -> Overseen:
        """Make one; the guard of a run also learns the progress."""
        if guard is None:
            return cls(watch, clock)

        def watched(rows: int) -> None:
            guard.note_rows(rows)
            watch(rows)

        return cls(watched, clock, guard)

    @property
    def check(self) -> Check:
        """The check to call between the pieces of the run."""
        return check_of(self.guard)

    @property
    def memory_check(self) -> Check | None:
        """The check to call while results are made."""
        return memory_check_of(self.guard)

    def limited(self, search: MatchSearch) -> MatchSearch:
        """A search with a time limit; earlier work, such as reading, counts too."""
        guard = self.guard
        if guard is None:
            return search
        before = guard.spent

        def found() -> Generator[ResultBatch, None, Report]:
            guard.spent = before
            return (yield from guard.pulled(search()))

        return found


@dataclass(frozen=True, eq=False)
class RowsInMemory:
    """Rows in memory. Events `loaded` for one plan of a query serve any plan of that query."""

    inputs: Inputs
    notes: tuple[str, ...] = ()
    loaded: Events | None = None
    warnings: tuple[str, ...] = ()

    def told(self, report: Report, *notes: str) -> Report:
        """Add to a report the notes and warnings of before the search."""
        if not (self.notes or notes or self.warnings):
            return report
        warnings = (*self.warnings, *report.warnings)
        return replace(report, notes=(*self.notes, *notes), warnings=warnings)

    def load(
        self, plan: EnginePlan, threads: int | None = 1, only: frozenset[str] | None = None
    ) -> tuple[RowsInMemory, Events]:
        """Load and sort the events, unless they are loaded.

        If `only` some types count, events of others may be left out, or have any values.
        """
        if self.loaded is not None:
            return self, self.loaded
        count = threads_that_pay(self.inputs.num_rows) if threads is None else threads
        inputs, loaded = Pipeline(plan).load(self.inputs, count, only)
        return replace(self, inputs=inputs, loaded=loaded), loaded


def run(
    plan: EnginePlan,
    events: object,
    *,
    threads: int | None = None,
    most: int | None = None,
    watch: Watch = lambda rows: None,
    held: int = MOST_HELD,
    clock: Ticks | None = None,
    guard: RunGuard | None = None,
) -> Matches:
    """Read events at once, and return the matches, which are found when they are read.

    Files that take more than `held` bytes are read during the search. `watch` is called now and
    then with the number of searched rows. Only a run in one thread reads a `clock`. A `guard` ends
    a run that exceeds its limits.
    """
    with working(guard):
        rows = read(plan, events, held, guard)
    return searched(plan, rows, threads=threads, most=most, watch=watch, clock=clock, guard=guard)


def most_held(guard: RunGuard | None) -> int:
    """The bytes of files that a run holds: a quarter of its memory limit if it has one."""
    memory = None if guard is None else guard.limits.memory
    return MOST_HELD if memory is None else min(MOST_HELD, memory // 4)


def read(
    plan: EnginePlan, events: object, most: int = MOST_HELD, guard: RunGuard | None = None
) -> RowsInMemory | Files:
    """Open events, and read them unless they are files that take more than `most` bytes.

    Rows that were read for a plan of the same query stay as they are.
    """
    if isinstance(events, RowsInMemory):
        return events
    if is_path(events):
        events = _opened(plan, events, most, guard)
    if not isinstance(events, Files):
        return _held_tables(plan, events)
    events.between, events.most = check_of(guard), most
    if is_too_large(plan, events, most):
        return events
    whole = read_whole(plan, events, _columns(plan, events))
    return replace(whole, warnings=text_warnings(plan, events))


def searched(
    plan: EnginePlan,
    rows: RowsInMemory | Files,
    *,
    threads: int | None = None,
    most: int | None = None,
    watch: Watch = lambda rows: None,
    clock: Ticks | None = None,
    guard: RunGuard | None = None,
) -> Matches:
    """The matches in rows that were read for a plan of the same query."""
    assert clock is None or threads == 1, "the times of several threads have no sum"
    if threads is not None and threads < 1:
        raise PlanError(f"threads={threads}: a run takes at least one thread")
    if guard is not None:
        guard.unbounded = plan.unbounded
    overseen = Overseen.by(guard, watch, clock)
    if isinstance(rows, RowsInMemory):
        with working(guard):
            in_memory = _in_memory(plan, rows, threads, overseen)
        return Matches(overseen.limited(in_memory), most=most, check=overseen.memory_check)
    files, names = rows, _columns(plan, rows)
    # Within the stated lateness the matcher itself brings rows into order.
    is_ordered = bool(plan.lateness) or is_sorted(files, plan.schema)
    pieces = pieces_as_read if is_ordered else pieces_sorted
    notes = {PIECES: threads not in (None, 1), SORTED: not is_ordered}

    def search() -> Generator[ResultBatch, None, Report]:
        advised = nullcontext() if is_ordered else naming_least(files, names)
        # The pieces may have temporary files of their own.
        with advised, closing(pieces(files, names, plan)) as read:
            report = yield from _in_pieces(plan, files, names, overseen, read)
        warnings = (*text_warnings(plan, files), *report.warnings)
        told = tuple(note for note, is_so in notes.items() if is_so)
        return replace(report, notes=told, warnings=warnings)

    check = overseen.memory_check
    return Matches(overseen.limited(search), most=most, in_pieces=True, check=check)


def text_warnings(plan: EnginePlan, files: Files) -> tuple[str, ...]:
    """Warnings of columns that a plan compares as text, but that hold nearly only numbers."""
    return nearly_numbers(files, compared_columns(plan))


def compared_columns(plan: EnginePlan) -> set[str]:
    """The columns that a plan compares, whether or not results show them."""
    compared = set(attributes_read(replace(plan.returned, columns=None), plan.definitions))
    return compared - {plan.schema.type, plan.schema.time}


def _held_tables(plan: Reads, events: object) -> RowsInMemory:
    judges = plan.on_bad_row == "quarantine"
    inputs = opened(events, keeps_rows=judges).drained()
    return RowsInMemory(with_times_of(inputs, plan.schema, judges=judges))


def _opened(
    plan: EnginePlan, path: str | os.PathLike[str], most: int, guard: RunGuard | None
) -> Files:
    """Open files with the column types for which the plan was compiled."""
    judges = plan.on_bad_row == "quarantine"
    files = open_files(path, plan.schema.time, judges=judges, **plan.reading)
    files.between = check_of(guard)
    shows_all = plan.scan.columns is None
    fit_types(files, plan.schema, plan.named, shows_all=shows_all, judges=judges, most=most)
    return files


def held(
    plan: EnginePlan, events: object, guard: RunGuard | None = None
) -> tuple[RowsInMemory, Events] | None:
    """Load events of any kind, or rows that were read; None for files that are too large."""
    rows = read(plan, events, most_held(guard), guard)
    return rows.load(plan) if isinstance(rows, RowsInMemory) else None


def is_too_large(plan: EnginePlan, events: object, most: int | None = None) -> bool:
    """Whether events are files that are read in pieces during the search.

    Only if they take more than `most` bytes, row groups to skip are looked up.
    """
    most = MOST_HELD if most is None else most
    if not isinstance(events, Files) or events.weight(names := _columns(plan, events)) <= most:
        return False
    predicate = PruningPredicate.of(plan)
    return predicate is None or events.weight(names, predicate) > most


def read_whole(plan: Reads, files: Files, names: list[str]) -> RowsInMemory:
    """Read some columns of files; with a quarantine, row by row if Arrow cannot read them.

    Only columns that the plan names can make a row bad.
    """
    try:
        table, parts = files.table(names, plan.named, PruningPredicate.of(plan))
    except DataError as problem:
        is_of_a_row = problem.row is not None
        is_named = problem.column is None or problem.column in plan.named
        if not is_of_a_row or not files.is_text:
            raise
        if plan.on_bad_row == "error" and is_named:
            raise
        return _held_tables(plan, salvaged(files, plan.schema.time, plan.named))
    return RowsInMemory(Inputs((Input(table, files=parts),)), _not_read(files, table.num_rows))


def _not_read(files: Files, read: int) -> tuple[str, ...]:
    count = (files.rows() or read) - read
    rows = "1 row was" if count == 1 else f"{count:,} rows were"
    return (f"{rows} not read: they hold no event that the query needs",) if count else ()


def _in_memory(
    plan: EnginePlan, rows: RowsInMemory, threads: int | None, overseen: Overseen
) -> MatchSearch:
    """The search of rows that are held; they are loaded at once."""

    def fresh_one() -> Pipeline:
        return open_pipeline(plan, watch=watch, clock=overseen.clock, check=overseen.check)

    def watch(position: int) -> None:
        overseen.watch(loaded.rows_up_to(position))

    fresh = [fresh_one()]
    count = threads_that_pay(rows.inputs.num_rows) if threads is None else threads
    if rows.loaded is None:
        inputs, loaded = fresh[0].load(rows.inputs, count, plan.types_needed)
    else:
        inputs, loaded = rows.inputs, rows.loaded
    overseen.check(0)
    notes: tuple[str, ...] = ()
    if plan.union is not None and not plan.definitions:
        notes = left_out_text(branches_left_out(plan.union, loaded.type_names))
    slices = slices_of(loaded, plan.split, threads if count > 1 else 1)

    def search() -> Generator[ResultBatch, None, Report]:
        pipeline = fresh.pop() if fresh else fresh_one()
        events = pipeline.coded(loaded, count, len(slices) if len(slices) > 1 else threads or 1)
        if len(slices) > 1:
            report = yield from search_in_threads(pipeline, inputs, events, slices, count, watch)
            return rows.told(report, *notes)
        declined: tuple[str, ...] = ()
        if threads not in (None, 1) and plan.split.before is None:
            path = pipeline.loaded_path
            if plan.split.by_key and not (path and path.takes_all(events)):
                report = yield from search_by_key(pipeline, inputs, events, threads, watch)
                return rows.told(report, *notes)
            declined = (AT_ONCE if plan.split.by_key else ONE_THREAD,)
        report = yield from pipeline.search(inputs, events)
        return rows.told(report, *declined, *notes)

    return search


# Some rows, with their numbers if these are not consecutive.
NumberedRows: TypeAlias = tuple[Inputs, NDArray[np.int64] | None]


def batches_in(rows: RowsInMemory | Files, plan: EnginePlan, size: int) -> Iterator[object]:
    """Cut events into the batches of a stream, of `size` rows, in the order of the input."""
    if isinstance(rows, Files):
        for _, table in rows.batches(_columns(plan, rows), plan.named):
            yield from table.to_batches(size)
        return
    if rows.inputs.typed:
        raise PlanError("tables of one type each have no common order: push one table of all")
    (table,) = rows.inputs.proved().tables
    for begin in range(0, max(table.source.num_rows, 1), size):
        part = table.source.slice(begin, size)
        yield Inputs((replace(table, source=part),)) if table.is_sparse else as_batch(part)


def push_all(matcher: Matcher, batches: Iterator[object], overseen: Overseen) -> Matches:
    """The matches of a stream; a batch is pushed when its matches are read."""

    def search() -> Generator[ResultBatch, None, Report]:
        for batch in batches:
            yield from matcher.push(batch).parts
        rest = matcher.finish()
        yield from rest.parts
        return rest.report

    return Matches(overseen.limited(search), check=overseen.memory_check)


def _in_pieces(
    plan: EnginePlan,
    files: Files,
    names: list[str],
    overseen: Overseen,
    pieces: Iterator[NumberedRows],
) -> Generator[ResultBatch, None, Report]:
    """Search files while they are read, or sorted on disk."""
    matcher = Matcher(plan, watch=overseen.watch, clock=overseen.clock, check=overseen.check)
    aside = list[pa.Table]()
    yield from matcher.push(files.empty(names, plan.named)).parts
    for inputs, rows in pieces:
        matches = matcher.push(inputs) if rows is None else _pushed(matcher, inputs, rows)
        yield from matches.parts
        if matches.report.bad:
            aside.append(matches.report.quarantined)
        if not matches.report.is_complete:
            break
    rest = matcher.finish()
    yield from rest.parts
    quarantined = joined(aside) if aside else None
    return replace(rest.report, quarantined=quarantined)


def _pushed(matcher: Matcher, inputs: Inputs, rows: NDArray[np.int64]) -> Matches:
    """Push rows and return the matches; an error has the row number in the input."""
    try:
        return matcher.push_numbered(inputs, rows)
    except DataError as problem:
        if problem.row is None:
            raise
        row = int(rows[problem.row])
        message = problem.message.replace(f"row {problem.row} (", f"row {row} (", 1)
        raise DataError(message, row, problem.column, problem.value) from None


def pieces_as_read(files: Files, names: list[str], plan: Reads) -> Generator[NumberedRows]:
    """Read some columns of files in pieces, with row numbers."""
    for part, table in files.batches(names, plan.named):
        yield Inputs((Input(table, files=(part,)),)), None


def pieces_sorted(files: Files, names: list[str], plan: Reads) -> Generator[NumberedRows]:
    """Read some columns of files in pieces in stream order."""
    for table, rows in in_order(files, names, plan):
        yield Inputs((Input(table),)), rows


def _columns(plan: EnginePlan, files: Files) -> list[str]:
    """The columns to read: those that the plan names, or all where results show them."""
    resolve(opened(files.schema), plan.schema, plan.attributes)
    if plan.scan.columns is None:
        return list(files.schema.names)
    return [name for name in files.schema.names if name in plan.named]
