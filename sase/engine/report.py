"""The report of a run: rows, warnings, counters and times."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from sase.printable import printable_lines

# The prefix of counters with the greatest value at any time, instead of a sum.
HIGH_WATER = "most_"

# The name of an operator, and its counters.
Counted: TypeAlias = tuple[str, dict[str, Any]]


@dataclass(slots=True)
class FusedUse:
    """A fused path: events it took, the need by which it refused others, its matches and time.

    `nanoseconds` is set if the run had a clock.
    """

    path: str
    events: int = 0
    refused: str | None = None
    matches: int = 0
    nanoseconds: int | None = None

    def spend(self, nanoseconds: int) -> None:
        """Add time."""
        self.nanoseconds = nanoseconds + (self.nanoseconds or 0)

    def add(self, other: FusedUse) -> None:
        """Add the events, matches and reasons of the same path in another pipeline."""
        self.events += other.events
        self.matches += other.matches
        self.refused = self.refused or other.refused

    @property
    def measured(self) -> dict[str, Any]:
        """All but the name."""
        return {name: value for name, value in asdict(self).items() if name != "path"}


@dataclass(frozen=True)
class Report:
    """Rows read, bad and late rows, warnings, and the counters of each operator of the plan.

    docs/explain-counters.md explains the counters. `fused` has the number of events that each fused
    path took; the others passed the operators. `timings` are nanoseconds: of reading and searching
    in a run, or, if a matcher has a clock, of each operator alone, after the time before the first
    one. Reports are compared without `fused` and `timings`.

    `rows` is the number of rows that a matcher has read, including bad ones. `quarantined` is the
    pyarrow table of the bad rows, None if a bad row is an error, and `bad` is their number. In a
    stream both are those of the last push; the report of `finish` has the total number. `warnings`
    of a push are those that no earlier push had. `is_complete` is false if LIMIT ended the reading
    before the end of the input. `notes` describe the run where it may be unexpected.
    """

    rows: int = 0
    bad: int = 0
    late: int = 0
    quarantined: Any = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    plan: str = ""
    counters: tuple[Counted, ...] = ()
    fused: tuple[FusedUse, ...] = field(default=(), compare=False)
    timings: tuple[tuple[str, int], ...] = field(default=(), compare=False)
    is_complete: bool = True

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows read"]
        if self.late:
            lines[0] += f", {self.late:,} of them late"
        if not self.is_complete:
            lines[0] += ", not to the end: LIMIT was reached"
        if self.bad:
            lines.append(f"{self.bad:,} bad rows in quarantine")
        lines += [f"warning: {warning}" for warning in self.warnings]
        lines += [f"note: {note}" for note in self.notes]
        for name, counters in self.counters:
            counted = ", ".join(f"{key} {value}" for key, value in counters.items())
            lines.append(f"{name}: {counted}")
        return printable_lines("\n".join(lines))


def totals(operators: tuple[Counted, ...]) -> Counted:
    """The counters of an operator in several matchers, as far as all have them."""
    name, counted = operators[0]
    if len(operators) == 1:
        return operators[0]
    common = [key for key in counted if all(key in each for _, each in operators)]
    return name, {key: _total(key, [each[key] for _, each in operators]) for key in common}


def _total(key: str, counts: list[Any]) -> Any:
    """The total of counts: of numbers, of lists with a number for each level, or by text."""
    join = max if key.startswith(HIGH_WATER) else sum
    match counts[0]:
        case list():
            return [join(each) for each in zip(*counts, strict=True)]
        case dict():
            return {text: join(each[text] for each in counts) for text in counts[0]}
    return join(counts)
