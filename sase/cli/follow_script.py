"""`sase run --follow` of a script: a line for each match as it is detected, with its statement."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from sase.cli.event_arguments import (
    on_bad_row,
    one_query,
    options_for,
    query_options,
    reading_options,
)
from sase.cli.follow import check_followed, lateness_of
from sase.cli.messages import counted, notify, notify_late
from sase.cli.pandas_import import hide_pandas
from sase.cli.queries import ArgumentError, refuse_given
from sase.cli.script_arguments import named_inputs
from sase.cli.script_results import write_lines
from sase.cli.signals import Ending

if TYPE_CHECKING:
    from sase.api.compiled_script import CompiledScript
    from sase.api.script import ScriptMatcher
    from sase.engine.results.matches import Matches
    from sase.engine.sources.tail import TailReader


def follow_script(arguments: Namespace, ending: Ending) -> int:
    """Run until the input ends, or for ever."""
    hide_pandas()
    refused = {
        "-o": arguments.out is not None,
        "--format table": arguments.format == "table",
        "--schema": arguments.schema is not None,
        "--timeout": arguments.timeout is not None,
        "--max-memory": arguments.max_memory is not None,
        "--max-matches": arguments.max_matches is not None,
    }
    refuse_given(refused, "--follow of a script, which writes lines of JSON")
    name, own = _only_input(arguments)
    check_followed(own.events)
    from sase.api.script import ScriptMatcher
    from sase.engine.scripts.pipeline import ScriptPipeline
    from sase.engine.sources.tail import TailReader

    judges = on_bad_row(own) == "quarantine"
    rows = TailReader(own.events, judges=judges, **reading_options(own))
    script = _compiled(name, rows, own)
    matcher = ScriptMatcher(script, ScriptPipeline(script.plan))
    counts = dict.fromkeys(matcher.statements, 0)
    try:
        for found in _found(matcher, name, rows):
            with ending.whole():
                for statement, matches in found.items():
                    write_lines(statement, *matches.to_batches())
                    counts[statement] += len(matches)
    finally:
        _notify_end(matcher, name, counts)
    return 0


def _only_input(arguments: Namespace) -> tuple[str | None, Namespace]:
    """The input that is followed."""
    inputs = named_inputs(arguments)
    if len(inputs) > 1:
        raise ArgumentError(
            f"--follow: one input is followed, and there are {len(inputs)}: push them from Python,"
            " to  sase.Script(…).open()"
        )
    return next(iter(inputs.items()))


def _compiled(name: str | None, rows: TailReader, arguments: Namespace) -> CompiledScript:
    """The script for rows of which more is known only later."""
    from sase.api.compiled_script import CompiledScript
    from sase.binding.script import StatementGraph
    from sase.engine.sources.discovered import Discovered

    names = options_for(arguments, rows.schema.names)
    options = query_options(arguments)

    def compiled(schema: object) -> CompiledScript:
        given = {name: Discovered.of(schema, names)}
        graph = StatementGraph.of(one_query(arguments), given)
        lateness = lateness_of(arguments.lateness)
        return CompiledScript(graph, given, options["params"], options["plan"], lateness)

    # What is wrong with a statement is said of the columns as they are.
    known = compiled(rows.schema).bound
    readers = [query for query in known.queries.values() if query.source is known.sources[name]]
    schema = known.sources[name].schema
    roles = [each for each in (*schema.times, names.type, schema.seq_column) if each is not None]
    named = frozenset[str]().union(*(query.unoptimized.named for query in readers))
    rows.judge(names.earliest, roles, named)
    return compiled(rows.loose)


def _found(
    matcher: ScriptMatcher, name: str | None, rows: TailReader
) -> Iterator[Mapping[str, Matches]]:
    """The matches of each push."""
    from sase.errors import DataError

    for events in rows:
        try:
            yield matcher.push(name, events)
        except DataError as problem:
            raise rows.fault(problem) from problem
        # Their numbers are told, and they would be kept for ever.
        matcher.take_late()
        matcher.take_quarantined()
    yield matcher.finish()


def _notify_end(matcher: ScriptMatcher, name: str | None, counts: Mapping[str, int]) -> None:
    """Report the run, by statement."""
    report = matcher.input_reports[name]
    for statement, count in counts.items():
        if count:
            notify([f"{statement}: {counted(count, 'match')}"])
    total = counted(sum(counts.values()), "match")
    notify([f"{total} of {counted(len(counts), 'statement')} in {counted(report.rows, 'row')}"])
    if report.bad:
        notify([f"{counted(report.bad, 'row')} could not be used"])
    notify_late(report.late)
