"""`sase run --follow`: the matches in events that are still being written, as they are detected."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sase.cli.forms import is_flat
from sase.cli.given import keywords, one_query
from sase.cli.signals import Ending
from sase.cli.sparing import spare_pandas
from sase.cli.told import counted, say, say_late
from sase.cli.writing import abandon

if TYPE_CHECKING:
    from sase.engine.matcher import Matcher
    from sase.engine.matches import Matches


def follow(arguments: Namespace, ending: Ending) -> int:
    """Run until the input ends, or for ever."""
    spare_pandas()
    from sase.api.compiling import compiled
    from sase.engine.files.following import Following
    from sase.errors import BindingError

    text = one_query(arguments)
    rows = Following(arguments.events, judges=arguments.on_bad_row == "quarantine")
    try:
        known = compiled(
            text.content,
            rows.schema,
            limit=arguments.limit,
            on_bad_row=arguments.on_bad_row,
            output=arguments.output,
            lateness=lateness_of(arguments.lateness),
            flat=is_flat(arguments),
            **keywords(arguments, rows.schema.names),
        )
    except BindingError:
        first = counted(rows.known, "row")
        say([f"the columns are those of the first lines of {rows.name}: {first}"])
        raise
    matcher = known.plan(known.optimized()).open()
    writer = _Writer(arguments)
    count = bad = 0
    try:
        for matches, more in _found(matcher, rows):
            with ending.whole():
                writer.write(matches)
                count += len(matches)
                bad += more
            if not matches.report.is_complete:
                break
        with ending.whole():
            writer.finish()
    except BaseException:
        writer.abandon()
        raise
    finally:
        _say_the_end(matcher, count, bad)
    return 0


def _found(matcher: Matcher, rows: Any) -> Iterator[tuple[Matches, int]]:
    """The matches of each push, and how many of its rows were bad."""
    for table in rows:
        matches = matcher.push(table)
        yield matches, matches.report.bad
        matcher.take_late()  # their number is told, and they would be kept for ever
    yield matcher.finish(), 0


def lateness_of(text: str | None) -> int | str | None:
    """A number of units of the time column, or words such as 5 seconds."""
    return int(text) if text is not None and text.isdigit() else text


def _say_the_end(matcher: Matcher, count: int, bad: int) -> None:
    say([f"{counted(count, 'match')} in {matcher.rows:,} rows"])
    if bad:
        say([f"{counted(bad, 'row')} could not be used"])
    say_late(matcher.report().late)


class _Writer:
    """Writes matches at once: lines on standard output, or a file."""

    def __init__(self, arguments: Namespace) -> None:
        self._path, self._format = arguments.out, arguments.format or "jsonl"
        self._sink: Any = None

    def write(self, matches: Matches) -> None:
        """Write them, and let whoever waits for them have them."""
        schema, batches = matches.to_batches()
        if self._sink is None:
            self._sink = self._opened(schema)
            self._schema = schema
        for batch in batches:
            self._sink.write_batch(batch.cast(self._schema))
        if self._path is None:
            sys.stdout.flush()

    def finish(self) -> None:
        """All is written."""
        if self._sink is not None:
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
        from sase.engine.sinks import FileSink, text_writer

        if self._path is not None:
            return FileSink(self._path, schema)
        return text_writer(self._format, sys.stdout.buffer, schema)
