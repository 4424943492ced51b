"""`sase run --follow`: the matches in events that are still being written, as they are detected."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sase.cli.event_arguments import (
    limit_options,
    on_bad_row,
    one_query,
    options_for,
    query_options,
    reading_options,
    times_in,
)
from sase.cli.messages import counted, notify, notify_late, notify_warnings
from sase.cli.output_files import abandon
from sase.cli.pandas_import import hide_pandas
from sase.cli.queries import ArgumentError
from sase.cli.set_results import is_flat
from sase.cli.signals import Ending

if TYPE_CHECKING:
    from sase.api.compiled_query import CompiledQuery
    from sase.api.plan import Plan
    from sase.engine.pipeline.matcher import Matcher
    from sase.engine.results.matches import Matches
    from sase.engine.sources.tail import TailReader
    from sase.errors import BindingError


def check_followed(path: str) -> None:
    """Refuse files that do not grow line by line, of which nothing could be told."""
    from sase.engine.sources.discover import COMPRESSIONS
    from sase.engine.sources.formats import format_of_suffix

    suffix = os.path.splitext(path)[1].lower()
    if os.path.isdir(path):
        raise ArgumentError(f"--events {path} --follow: this is a folder: name a file in it")
    if suffix in COMPRESSIONS:
        raise ArgumentError(
            f"--events {path} --follow: lines of a compressed file are not known as they come:"
            " leave out --follow, or decompress it into  sase run --follow --events -"
        )
    format = format_of_suffix(suffix)
    if format is not None and not format.is_text:
        raise ArgumentError(
            f"--events {path} --follow: only lines of text can be followed, such as CSV and JSON:"
            " leave out --follow"
        )


def tail_options(arguments: Namespace) -> dict[str, Any]:
    """How lines are followed, by the keywords of what does so."""
    judges = on_bad_row(arguments) == "quarantine"
    times = [name for name in times_in(arguments) if name is not None]
    options = {"judges": judges, "times": times, **reading_options(arguments)}
    return options | {"say": lambda line: notify([line])}


def follow(arguments: Namespace, ending: Ending) -> int:
    """Run until the input ends, or for ever."""
    hide_pandas()
    from sase.api.limits import limits_of
    from sase.engine.sources.tail import TailReader

    limits_of(**limit_options(arguments))  # refused before anything is read
    rows = TailReader(arguments.events, **tail_options(arguments))
    matcher = _compiled(one_query(arguments), rows, arguments).open(**limit_options(arguments))
    writer = _MatchWriter(arguments)
    count = bad = 0
    try:
        for matches, more in _found(matcher, rows):
            with ending.whole():
                writer.write(matches)
                count += len(matches)
                bad += more
            if not matches.report.is_complete:
                notify(["LIMIT was reached before the end of the events"])
                break
        with ending.whole():
            writer.finish()
    except BaseException:
        writer.abandon()
        raise
    finally:
        _notify_end(matcher, count, bad)
    return 0


def _compiled(query: str, rows: TailReader, arguments: Namespace) -> Plan:
    """The plan for rows of which more is known only later."""
    from sase.api.compiled_query import compile_query
    from sase.engine.pipeline.batch import compared_columns
    from sase.engine.sources.discovered import Discovered
    from sase.errors import BindingError

    def compiled(schema: object) -> CompiledQuery:
        return compile_query(
            query,
            Discovered.of(schema, names),
            limit=arguments.limit,
            output=arguments.output,
            lateness=lateness_of(arguments.lateness),
            flat=is_flat(arguments),
            **query_options(arguments),
        )

    names = options_for(arguments, rows.schema.names)
    try:
        known = compiled(rows.schema)
    except BindingError as problem:
        _expect(rows, problem)
        known = compiled(rows.schema)
    # What is wrong with the query is said of the columns as they are.
    schema = known.schema
    roles = [n for n in (*schema.times, names.type, schema.seq_column) if n is not None]
    rows.judge(names.earliest, roles, known.unoptimized.named)
    notify_warnings(rows.nearly_numbers(compared_columns(known.unoptimized)))
    known = compiled(rows.loose)
    return known.plan(known.optimized())


def _expect(rows: TailReader, problem: BindingError) -> None:
    """Take up columns that the first lines of JSON lack, if nothing else is wrong."""
    found = problem.diagnostics
    errors = [each for each in found if each.severity == "error"]
    if not rows.is_open or any(each.code != "unknown-attribute" for each in errors):
        raise problem
    missing = {each.source.text[slice(*each.span)]: each for each in errors}
    for name, each in missing.items():
        hint = f": {each.hints[0]}" if each.hints else ""
        notify([f"no line of {rows.name} has `{name}` yet, which is NULL until one has it{hint}"])
    rows.expect(missing)


def _found(matcher: Matcher, rows: TailReader) -> Iterator[tuple[Matches, int]]:
    """The matches of each push, and how many of its rows were bad."""
    from sase.errors import DataError, PlanError, SchemaError

    for events in rows:
        try:
            matches = matcher.push(events)
        except DataError as problem:
            raise rows.fault(problem) from problem
        except (PlanError, SchemaError):
            notify(
                [
                    f"what columns hold is known of the first lines of {rows.name} only: let them"
                    " have a value in each column that the query names"
                ]
            )
            raise
        notify_warnings(matches.report.warnings)
        yield matches, matches.report.bad
        matcher.take_late()  # their number is told, and they would be kept for ever
    yield matcher.finish(), 0


def lateness_of(text: str | None) -> int | str | None:
    """A number of units of the time column, or words such as 5 seconds."""
    return int(text) if text is not None and text.isdigit() else text


def _notify_end(matcher: Matcher, count: int, bad: int) -> None:
    notify_warnings(matcher.news(is_end=True))
    notify([f"{counted(count, 'match')} in {counted(matcher.rows, 'row')}"])
    if bad:
        notify([f"{counted(bad, 'row')} could not be used"])
    notify_late(matcher.report().late)


class _MatchWriter:
    """Writes matches at once: lines on standard output, or a file."""

    def __init__(self, arguments: Namespace) -> None:
        self._path, self._format = arguments.out, arguments.format or "jsonl"
        self._safe = arguments.csv_safe
        self._sink: Any = None

    def write(self, matches: Matches) -> None:
        """Write them, and let whoever waits for them have them."""
        self._schema, batches = matches.to_batches()
        for batch in batches:
            if self._sink is None:
                self._sink = self._opened(self._schema)
            self._sink.write_batch(batch)
        if self._path is None:
            sys.stdout.flush()

    def finish(self) -> None:
        """All is written."""
        if self._sink is None:
            self._sink = self._opened(self._schema)
        self._sink.close()

    def abandon(self) -> None:
        """Close what was written."""
        if self._sink is None:
            return
        if self._path is None:
            self._sink.close()
        else:
            abandon(self._sink)

    def _opened(self, schema: Any) -> Any:
        from sase.engine.results.sinks import FileSink, text_writer

        if self._path is not None:
            return FileSink(self._path, schema, safe=self._safe)
        return text_writer(self._format, sys.stdout.buffer, schema, safe=self._safe)
