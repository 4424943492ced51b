"""How a plan runs over events that are all there is."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeAlias

from sase.engine.events import opened
from sase.engine.events.inputs import Input, Inputs
from sase.engine.events.resolving import resolve
from sase.engine.files import Files, is_path, open_files
from sase.engine.files.sorting import in_order, is_sorted
from sase.engine.found import Part
from sase.engine.matcher import Matcher
from sase.engine.matches import Matches, Search
from sase.engine.plan import EnginePlan
from sase.engine.report import Report
from sase.errors import PlanError

Watch: TypeAlias = Callable[[int], object]

# The bytes of columns that are read as a whole; what is larger goes through in pieces.
MOST_HELD = 1 << 30


def run(
    plan: EnginePlan,
    events: object,
    *,
    threads: int | None = None,
    most: int | None = None,
    watch: Watch = lambda rows: None,
    held: int = MOST_HELD,
) -> Matches:
    """The matches, to be searched for when they are asked for; the events are read at once.

    `watch` is told, now and then, how many rows have been searched. Files that take more than so
    many bytes to be `held` are read while matches are searched for.
    """
    if threads not in (None, 1):
        raise PlanError("this version runs a plan in one thread: leave out  threads=…")
    if is_path(events):
        events = open_files(events)  # type: ignore[arg-type]
    if not isinstance(events, Files):
        return Matches(_in_memory(plan, events, watch), most=most)
    names = _columns(plan, events)
    if events.weight(names) <= held:
        table, counts = events.table(names)
        return Matches(_in_memory(plan, Inputs((Input(table, files=counts),)), watch), most=most)
    is_ordered = is_sorted(events, plan.schema)
    return Matches(
        lambda: _in_pieces(plan, events, names, watch, is_ordered=is_ordered),
        most=most,
        in_pieces=True,
    )


def _in_memory(plan: EnginePlan, events: object, watch: Watch) -> Search:
    """The search of events that are read and sorted at once."""
    fresh = [Matcher(plan, streaming=False, watch=watch)]
    inputs, loaded = fresh[0].load(events)

    def search() -> Generator[Part, None, Report]:
        matcher = fresh.pop() if fresh else Matcher(plan, streaming=False, watch=watch)
        return matcher.search(inputs, loaded)

    return search


def _in_pieces(
    plan: EnginePlan, files: Files, names: list[str], watch: Watch, *, is_ordered: bool
) -> Generator[Part, None, Report]:
    """The search of files that are read meanwhile; where they are not sorted, on disk first."""
    matcher = Matcher(plan, watch=watch)
    sorted_or_not = (table for _, table in files.batches(names))
    yield from matcher.push(files.schema.empty_table().select(names)).parts
    for table in sorted_or_not if is_ordered else in_order(files, names, plan.schema):
        matches = matcher.push(table)
        yield from matches.parts
        if not matches.report.is_complete:
            break
    rest = matcher.finish()
    yield from rest.parts
    return rest.report


def _columns(plan: EnginePlan, files: Files) -> list[str]:
    """The columns that are read: those that the plan names, or all where results show them."""
    schema = plan.schema
    resolve(opened(files.schema), schema, plan.attributes)
    if plan.returned.columns is None:
        return list(files.schema.names)
    named = {schema.time, schema.type, schema.seq, *plan.attributes}
    return [name for name in files.schema.names if name in named]
