"""`sase run --follow` of a script: a line for each match as it is detected, with its statement."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, TypeVar

from sase.cli.event_arguments import (
    limit_options,
    one_query,
    options_for,
    query_options,
)
from sase.cli.follow import check_followed, lateness_of, tail_options
from sase.cli.messages import counted, notify, notify_late, notify_warnings
from sase.cli.pandas_import import hide_pandas
from sase.cli.queries import refuse_given
from sase.cli.script_arguments import check_limit, named_inputs, notify_set_aside
from sase.cli.script_results import BadRowLines, bad_row_files, write_lines
from sase.cli.signals import Ending

if TYPE_CHECKING:
    from sase.api.compiled_script import CompiledScript
    from sase.api.script import ScriptMatcher
    from sase.engine.report import Report
    from sase.engine.results.matches import Matches
    from sase.engine.sources.tail import TailReader
    from sase.errors import BindingError

T = TypeVar("T")


def follow_script(arguments: Namespace, ending: Ending) -> int:
    """Run until the input ends, or for ever."""
    hide_pandas()
    from sase.api.limits import guard_of_calls

    refused = {
        "-o": arguments.out is not None,
        "--format table": arguments.format == "table",
        "--schema": arguments.schema is not None,
    }
    refuse_given(refused, "--follow of a script, which writes lines of JSON")
    endless = {"--max-matches": arguments.max_matches is not None}
    refuse_given(endless, "--follow, which has no end")
    guard = guard_of_calls(**limit_options(arguments))
    inputs = named_inputs(arguments)
    for own in inputs.values():
        check_followed(own.events)
    from sase.api.script import ScriptMatcher
    from sase.engine.sources.tail import TailReader

    readers = {name: TailReader(own.events, **tail_options(own)) for name, own in inputs.items()}
    script = _compiled(readers, inputs, arguments)
    matcher = ScriptMatcher.opened(script, guard)
    counts, told = dict.fromkeys(matcher.statements, 0), set[str]()
    bad = BadRowLines(bad_row_files(matcher.statements, arguments, inputs, ".jsonl"))
    try:
        for found in _found(matcher, readers):
            with ending.whole():
                bad.write(matcher.take_quarantined())
                for statement, matches in found.items():
                    write_lines(statement, *matches.to_batches())
                    counts[statement] += len(matches)
            _warn({name: matches.report for name, matches in found.items()}, told)
    finally:
        _warn(matcher.reports, told)
        _notify_end(matcher, counts)
        bad.conclude()
    return 0


def _warn(reports: Mapping[str, Report], told: set[str]) -> None:
    """Tell the warnings of statements that were not told yet."""
    warnings = [f"{name}: {each}" for name, report in reports.items() for each in report.warnings]
    notify_warnings(each for each in warnings if each not in told)
    told.update(warnings)


def _compiled(
    readers: Mapping[str | None, TailReader],
    inputs: Mapping[str | None, Namespace],
    arguments: Namespace,
) -> CompiledScript:
    """The script for rows of which more is known only later."""
    from sase.api.compiled_script import CompiledScript
    from sase.binding.script import StatementGraph
    from sase.engine.sources.discovered import Discovered

    names = {name: options_for(inputs[name], rows.schema.names) for name, rows in readers.items()}
    options = query_options(arguments)

    def compiled(
        schemas: Mapping[str | None, object], aside: Mapping[str, BindingError]
    ) -> CompiledScript:
        given = {name: Discovered.of(schema, names[name]) for name, schema in schemas.items()}
        graph = StatementGraph.of(one_query(arguments), given)
        check_limit(graph, arguments)
        lateness = lateness_of(arguments.lateness)
        script = CompiledScript(
            graph.without(aside),
            given,
            options["params"],
            options["plan"],
            lateness,
            arguments.limit,
        )
        return script.settled(strict=arguments.strict)

    # What is wrong with a statement is said of the columns as they are.
    known = compiled({name: rows.schema for name, rows in readers.items()}, {})
    notify_set_aside(known)
    for name, rows in readers.items():
        schema = known.bound.sources[name].schema
        roles = [*schema.times, names[name].type, schema.seq_column]
        named, _ = known.columns_read(name)
        rows.judge(names[name].earliest, [each for each in roles if each is not None], named)
        notify_warnings(rows.nearly_numbers(known.compared_columns(name)))
    return compiled({name: rows.loose for name, rows in readers.items()}, known.set_aside)


def _found(
    matcher: ScriptMatcher, readers: Mapping[str | None, TailReader]
) -> Iterator[Mapping[str, Matches]]:
    """The matches of each push."""
    from sase.errors import DataError

    for name, events in batches_of(readers):
        try:
            yield matcher.push(name, events)
        except DataError as problem:
            raise readers[name].fault(problem) from problem
        matcher.take_late()  # their number is told, and they would be kept for ever
    yield matcher.finish()


def batches_of(
    readers: Mapping[str | None, Iterable[T]],
) -> Iterator[tuple[str | None, T]]:
    """What comes of some inputs, as it comes; each reads on once what it gave is done with."""
    if len(readers) == 1:
        ((name, rows),) = readers.items()
        yield from ((name, each) for each in rows)
        return
    came: SimpleQueue[tuple[str | None, T | BaseException | None]] = SimpleQueue()
    is_done = {name: Semaphore(0) for name in readers}

    def read(name: str | None, rows: Iterable[T]) -> None:
        try:
            for each in rows:
                came.put((name, each))
                is_done[name].acquire()
            came.put((name, None))
        except BaseException as problem:  # which is raised where it is waited for
            came.put((name, problem))

    for each in readers.items():
        Thread(target=read, args=each, daemon=True).start()
    left = len(readers)
    while left:
        name, given = came.get()
        if isinstance(given, BaseException):
            raise given
        if given is None:
            left -= 1
            continue
        yield name, given
        is_done[name].release()


def _notify_end(matcher: ScriptMatcher, counts: Mapping[str, int]) -> None:
    """Report the run, by statement."""
    reports = matcher.input_reports.values()
    rows, late = (sum(getattr(each, of) for each in reports) for of in ("rows", "late"))
    for statement, count in counts.items():
        if count:
            notify([f"{statement}: {counted(count, 'match')}"])
    total = counted(sum(counts.values()), "match")
    notify([f"{total} of {counted(len(counts), 'statement')} in {counted(rows, 'row')}"])
    notify_late(late)
