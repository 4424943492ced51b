"""What a run has to say beside its matches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from sase.printable import printable_lines

# The most there was at one time, not a sum: such counters begin with this.
HIGH_WATER = "most_"

# The name of an operator, and what it counted.
Counted: TypeAlias = tuple[str, dict[str, Any]]


class FusedUse(NamedTuple):
    """A fused path: events it took, the need by which it refused others, its matches and time.

    There are `nanoseconds` where a clock was handed to the run.
    """

    path: str
    events: int
    refused: str | None = None
    matches: int = 0
    nanoseconds: int | None = None

    @property
    def measured(self) -> dict[str, Any]:
        """All but the name."""
        return {name: value for name, value in self._asdict().items() if name != "path"}


@dataclass(frozen=True)
class Report:
    """Rows read, bad and late ones, warnings, and for each operator of the plan what it counted.

    What the counters mean is said in docs/explain-counters.md. `fused` says how many events
    each fused path took; the others went through the operators. `timings` are what a clock counted,
    in nanoseconds, in the reading and the search of a run, and where one was handed to a matcher in
    each operator by itself, and first in what is before them all. They make no report another one.

    `rows` are all that a matcher has read, the bad ones among them. `quarantined` is the pyarrow
    table of the bad rows, None where a bad row is an error, and `bad` their number; in a stream
    those of the last push, and in the report of `finish` the number of all there were. So it is
    with `warnings`: the report of a push has those that none before it had.
    `is_complete` is false where LIMIT ended the reading before the end of the input. `notes`
    say how the run went where that may surprise.
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
    """What an operator counted in several matchers, as far as all did."""
    name, counted = operators[0]
    if len(operators) == 1:
        return operators[0]
    common = [key for key in counted if all(key in each for _, each in operators)]
    return name, {key: _total(key, [each[key] for _, each in operators]) for key in common}


def _total(key: str, counts: list[Any]) -> Any:
    """Counts of several matchers: numbers, a list of a number for each level, or by text."""
    join = max if key.startswith(HIGH_WATER) else sum
    match counts[0]:
        case list():
            return [join(each) for each in zip(*counts, strict=True)]
        case dict():
            return {text: join(each[text] for each in counts) for text in counts[0]}
    return join(counts)
