"""The units of time, and their spellings."""

from __future__ import annotations

from sase.base.texts import did_you_mean
from sase.errors import Diagnostic
from sase.source import Source, Span

NANOSECONDS = {
    "nanoseconds": 1,
    "microseconds": 1_000,
    "milliseconds": 1_000_000,
    "seconds": 1_000_000_000,
    "minutes": 60_000_000_000,
    "hours": 3_600_000_000_000,
    "days": 86_400_000_000_000,
    "weeks": 604_800_000_000_000,
}
_SHORT = {
    "nanoseconds": "ns nanos",
    "microseconds": "us µs μs micros",
    "milliseconds": "ms millis",
    "seconds": "s sec secs",
    "minutes": "m min mins",
    "hours": "h hr hrs",
    "days": "d",
    "weeks": "w wk wks",
}
# Every spelling of a unit, in lower case, with its full name.
UNITS = {
    spelling: unit
    for unit, short in _SHORT.items()
    for spelling in (unit, unit.removesuffix("s"), *short.split())
}


def unknown_unit(word: str, span: Span, source: Source) -> Diagnostic:
    """The error for a word in the place of a time unit."""
    return Diagnostic(
        "unknown-unit",
        f"`{word}` is not a unit of time",
        span,
        source,
        (*did_you_mean(word, [*UNITS, "EVENTS"]), f"the units are {', '.join(NANOSECONDS)}"),
    )
