"""Logs with a line an event: of web servers as Apache and nginx write them, and of syslog."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import copy
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from sase.engine.sources.formats.base import KnownKinds
from sase.engine.sources.formats.text import DecodedRow, TextFormat, text_reader
from sase.engine.sources.local_copies import local


class LogFormat(TextFormat):
    """Lines of one form, with a column for each named group."""

    title = ""
    suffixes = ()
    line: ClassVar[re.Pattern[str]]
    shape: ClassVar[str]

    def is_begun(self, first: str) -> bool:
        """Whether the first line is of this form."""
        return self.line.fullmatch(first.partition("\n")[0].rstrip("\r")) is not None

    def decode_rows(self, lines: Iterable[str], kinds: KnownKinds) -> Iterator[DecodedRow]:
        """Decode each line; `-` is a missing value."""
        readers = {name: text_reader(kinds.get(name)) for name in self.line.groupindex}
        for number, raw in enumerate(lines, 1):
            text = raw.rstrip("\r\n")
            if found := self.line.fullmatch(text):
                each = found.groupdict().items()
                values = {n: None if v in (None, "-") else readers[n](v) for n, v in each}
                yield DecodedRow(number, text, values)
            elif text.strip():
                yield DecodedRow(number, text, None, f"this is no line as {self.shape}")


class AccessLogFormat(LogFormat):
    """The common and the combined log format of web servers."""

    name = "apache"
    shape = '127.0.0.1 - - [13/Feb/2024:09:00:00 +0000] "GET / HTTP/1.1" 200 12'
    line = re.compile(
        r"(?P<host>\S+) (?P<ident>\S+) (?P<user>\S+) \[(?P<time>[^\]]+)\]"
        r' "(?:(?P<method>[A-Z]+) (?P<path>\S+)(?: (?P<protocol>[^"]*))?|(?P<request>[^"]*))"'
        r" (?P<status>\d{3}) (?P<bytes>\d+|-)"
        r'(?: "(?P<referer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)")?.*'
    )


class SyslogFormat(LogFormat):
    """Lines of syslog, by RFC 5424 or as most systems write them.

    A time such as `Feb 13 09:00:00` has no year: it is the last one before the file was written.
    """

    name = "syslog"
    shape = "Feb 13 09:00:00 host program[1]: message"
    line = re.compile(
        r"(?:<\d+>(?:1 )?)?(?P<time>\d{4}-\d\d-\d\dT\S+|[A-Z][a-z]{2} [ \d]\d [\d:]{8})"
        r" (?P<host>\S+) (?P<program>[^\s:\[]+)(?:\[(?P<pid>\d+)\])?"
        r"(?: (?P<procid>\d+|-) \S+ (?:-|\[.*?\]))?:? ?(?P<message>.*)"
    )
    # The time when the file was written; now for lines that are followed.
    written: datetime | None = None

    def rows(self, path: str, kinds: KnownKinds) -> Iterator[DecodedRow]:
        """Decode the rows of a file."""
        found = copy(self)
        found.written = datetime.fromtimestamp(os.path.getmtime(local(path)), UTC)
        return super(SyslogFormat, found).rows(path, kinds)

    def decode_rows(self, lines: Iterable[str], kinds: KnownKinds) -> Iterator[DecodedRow]:
        """Decode each line, and give its time a year."""
        last = (self.written or datetime.now(UTC)) + timedelta(days=1)
        for row in super().decode_rows(lines, kinds):
            time = (row.values or {}).get("time")
            if row.values is not None and isinstance(time, str) and not time[:1].isdigit():
                row.values["time"] = _with_year(time, last)
            yield row


def _with_year(text: str, last: datetime) -> str:
    """A time of the last year in which it is not later than `last`."""
    for year in (last.year, last.year - 1):
        with suppress(ValueError):
            moment = datetime.strptime(f"{year} {text} Z", "%Y %b %d %H:%M:%S %z")
            if moment <= last:
                return moment.replace(tzinfo=None).isoformat()
    return text
