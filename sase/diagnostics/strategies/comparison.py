"""The comparison of strategies, side by side, as a value, as plain data and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import compress
from typing import Any, Literal

from sase.diagnostics.strategies.reasons import rows_text
from sase.diagnostics.text_table import text_table


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyResult:
    """What a strategy finds in a form of output, in which time, with how many runs.

    `ended` says what ended the search, if it did not come to its end: "matches", there are more of
    them than were allowed, or "runs", their runs need more memory than there is. `runs` is None
    where the plan of the strategy keeps none, or did not come to its end.
    """

    strategy: str
    output: str
    matches: int
    ended: Literal["matches", "runs"] | None = None
    seconds: float
    runs: int | None = None

    @property
    def found(self) -> str:
        """The number of matches in words."""
        if self.ended == "runs":
            return "too many runs"
        return f"{self.matches:,}" if self.ended is None else f"more than {self.matches:,}"


@dataclass(frozen=True, slots=True)
class ExplainedMatch:
    """A match by its input rows, under each variable, and why the other strategy lacks it."""

    rows: tuple[tuple[str, tuple[int, ...]], ...]
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return "  ".join(f"{name}: {rows_text(rows)}" for name, rows in self.rows if rows)


@dataclass(frozen=True, slots=True)
class Difference:
    """The matches of one strategy that another one does not have; the first ones are shown."""

    strategy: str
    other: str
    number: int
    matches: tuple[ExplainedMatch, ...]


@dataclass(frozen=True)
class Comparison:
    """A pattern under each strategy: the numbers, and what each finds beyond a stricter one.

    `measured` has a row for each strategy and form of output, the strictest strategy first;
    `differences` are between neighbours, and are there where the input is small or it was asked
    for. `notes` say what is left out.
    """

    rows: int
    measured: tuple[StrategyResult, ...]
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        blocks = [list(self._table()), *map(_lines, self.differences), list(map(_note, self.notes))]
        return "\n\n".join("\n".join(block) for block in blocks if block)

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return {
            "rows": self.rows,
            "measured": [asdict(each) for each in self.measured],
            "differences": [
                {
                    "strategy": each.strategy,
                    "other": each.other,
                    "number": each.number,
                    "matches": [
                        {
                            "rows": {name: list(rows) for name, rows in match.rows},
                            "reasons": list(match.reasons),
                        }
                        for match in each.matches
                    ],
                }
                for each in self.differences
            ],
            "notes": list(self.notes),
        }

    def _table(self) -> Iterator[str]:
        outputs = {each.output for each in self.measured}
        has_runs = any(each.runs is not None for each in self.measured)
        kept = [True, len(outputs) > 1, True, has_runs, True]
        cells = [["strategy", "output", "matches", "runs", "time"]]
        for each in self.measured:
            runs = "" if each.runs is None else f"{each.runs:,}"
            cells.append([each.strategy, each.output, each.found, runs, f"{each.seconds:.4f} s"])
        return text_table([list(compress(row, kept)) for row in cells], texts=kept[1] + 1)


def _lines(difference: Difference) -> Sequence[str]:
    """Write a difference, the matches with their reasons under them."""
    number = difference.number
    matches = "1 match" if number == 1 else f"{number:,} matches" if number else "no match"
    lines = [f"{difference.strategy} has {matches} that {difference.other} lacks"]
    if number:
        lines[0] += ":"
    for match in difference.matches:
        lines += [f"  {match}", *(f"    {reason}" for reason in match.reasons)]
    if 0 < len(difference.matches) < number:
        lines.append(f"  … and {number - len(difference.matches):,} more: --show N shows N of them")
    return lines


def _note(text: str) -> str:
    return f"{text}."
