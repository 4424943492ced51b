"""Compare strategies: matches of each beyond a stricter one, as a value and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from html import escape
from itertools import compress, count, islice, pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from sase.base.interface import spelled
from sase.binding import BoundQuery
from sase.cached_property import cached_property
from sase.diagnostics.strategies.match_replay import MatchReplay, replayed_plan
from sase.diagnostics.strategies.reasons import rows_text
from sase.engine.columns.arrays import Numbers
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.batch import held
from sase.engine.results.batch import MatchBatch
from sase.engine.results.matches import Matches
from sase.engine.results.repr import text_table
from sase.engine.results.row_history import HistorySegment, RowHistory
from sase.engine.results.timeline import Timeline, fresh_hatch, page
from sase.engine.results.timeline_events import DRAWN, StopPosition, timeline_of_stopped
from sase.lang.ast import StrategyName
from sase.planning.engine_plan import EnginePlan
from sase.printable import printable, printable_lines

EndedBy: TypeAlias = Literal["matches", "runs", "time", "memory"]
SEVERAL = "several branches may bind these events, so no reason is shown"
# The rows that a component binds; for a repeated group a tuple of series per iteration.
BoundRows: TypeAlias = tuple[Any, ...]
BoundMatch: TypeAlias = tuple[BoundRows, ...]


class FoundMatches(NamedTuple):
    """The matches of a strategy; by input rows, too."""

    strategy: StrategyName
    matches: Matches
    runs: Sequence[BoundMatch]


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyResult:
    """The matches of a strategy in one form of output, with time and number of runs.

    `ended` is the limit that stopped the search, if any: "matches", "runs" (their memory), "time"
    or "memory". `runs` is None if the plan keeps no runs or does not count them, or the search was
    stopped.
    """

    strategy: str
    output: str
    matches: int
    ended: EndedBy | None = None
    seconds: float
    runs: int | None = None

    @property
    def found(self) -> str:
        """The number of matches as text."""
        if self.ended == "runs":
            return "too many runs"
        if self.ended in ("time", "memory"):
            return f"at least {self.matches:,}"
        return f"{self.matches:,}" if self.ended is None else f"more than {self.matches:,}"


@dataclass(frozen=True, slots=True)
class ExplainedMatch:
    """A match by its input rows under each variable, and why the other strategy lacks it."""

    rows: tuple[tuple[str, BoundRows], ...]
    reasons: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the match as plain data."""
        rows = {name: _listed(rows) for name, rows in self.rows}
        return {"rows": rows, "reasons": list(self.reasons)}

    def __str__(self) -> str:
        shown = (f"{name}: {_bound_text(rows)}" for name, rows in self.rows if rows)
        return printable("  ".join(shown))


@dataclass(frozen=True, slots=True)
class Difference:
    """The matches of one strategy that another lacks; the first ones are listed, and drawn."""

    strategy: str
    other: str
    number: int
    matches: tuple[ExplainedMatch, ...]
    timeline: Timeline | None = field(default=None, repr=False, compare=False)

    @property
    def sentence(self) -> str:
        """The number of matches that one strategy has and the other lacks."""
        number = self.number
        matches = "1 match" if number == 1 else f"{number:,} matches" if number else "no match"
        return f"{self.strategy} has {matches} that {self.other} lacks"


@dataclass(frozen=True)
class Comparison:
    """A pattern under each strategy: the counts, and the matches beyond a stricter one.

    The strictest strategy is first. `differences` between neighbours are computed for small inputs,
    or on demand; `notes` name the parts that were left out.

    Examples:
        >>> events = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "X"}, {"ts": 3, "type": "B"}]
        >>> comparison = sase.compare("EVENT SEQ(A a, B b)", events)
        >>> [(each.strategy, each.matches) for each in comparison.measured]
        [('strict_contiguity', 0), ('skip_till_next_match', 1), ('skip_till_any_match', 1)]
    """

    rows: int
    measured: tuple[StrategyResult, ...]
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the text, as its event values are escaped for terminals."""
        return str(self)

    def __str__(self) -> str:
        notes = [f"{note}." for note in self.notes]
        blocks = [list(self._table()), *map(_lines, self.differences), notes]
        return "\n\n".join(printable_lines("\n".join(block)) for block in blocks if block)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        return {
            "rows": self.rows,
            "measured": [asdict(each) for each in self.measured],
            "differences": [
                {name: getattr(each, name) for name in ("strategy", "other", "number")}
                | {"matches": [match.to_dict() for match in each.matches]}
                for each in self.differences
            ],
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        """Return the pictures and the text."""
        return f"<div>{self._drawn(fresh_hatch())}</div>"

    def to_html(self) -> str:
        """Return a page with the text and a picture of the added matches, without other files."""
        return page("the strategies side by side", self._drawn("sase-hatch"))

    def _drawn(self, hatch: str) -> str:
        drawn = (each.timeline for each in self.differences if each.timeline is not None)
        pictures = (each.drawn(f"{hatch}-{number}") for number, each in enumerate(drawn, 1))
        return f"{''.join(pictures)}<pre>{escape(str(self))}</pre>"

    def _table(self) -> Iterator[str]:
        outputs = {each.output for each in self.measured}
        has_runs = any(each.runs is not None for each in self.measured)
        kept = [True, len(outputs) > 1, True, has_runs, True]
        cells = [["strategy", "output", "matches", "runs", "time"]]
        for each in self.measured:
            runs = "" if each.runs is None else f"{each.runs:,}"
            cells.append([each.strategy, each.output, each.found, runs, f"{each.seconds:.4f} s"])
        return text_table([list(compress(row, kept)) for row in cells], texts=kept[1] + 1)


def show_option() -> str:
    """The option by which added matches are shown."""
    return spelled("show=N", "--show N", "sase compare --show N")


def _lines(difference: Difference) -> Sequence[str]:
    number = difference.number
    lines = [difference.sentence + (":" if number else "")]
    for match in difference.matches:
        lines += [f"  {match}", *(f"    {reason}" for reason in match.reasons)]
    if 0 < len(difference.matches) < number:
        more = number - len(difference.matches)
        lines.append(f"  … and {more:,} more: {show_option()} shows N of them")
    return lines


# ---------------------------------------------------------------- how strategies are compared


def runs_of(matches: Matches) -> list[BoundMatch]:
    """Return the input rows of each match, by component."""
    columns = [column.to_pylist() for column in matches.rows.columns]
    return [tuple(map(_series, match)) for match in zip(*columns, strict=True)]


def _series(rows: int | list[Any] | None) -> BoundRows:
    if rows is None:
        return ()
    if isinstance(rows, int):
        return (rows,)
    return tuple(
        tuple(map(_series, each.values())) if isinstance(each, dict) else each for each in rows
    )


def _events(bound: BoundRows) -> Iterator[int]:
    """The rows of a component, iteration by iteration."""
    for each in bound:
        yield from _events(each) if isinstance(each, tuple) else (each,)


def _listed(bound: BoundRows) -> list[Any]:
    return [_listed(each) if isinstance(each, tuple) else each for each in bound]


def _bound_text(bound: BoundRows) -> str:
    """Row numbers; those of each iteration of a group in brackets."""
    if not isinstance(bound[0], tuple):
        return rows_text(bound)
    return " ".join(f"[{rows_text(sorted(_events(each)))}]" for each in bound)


class Differences:
    """Compares the matches of strategies; `plan` must read every event."""

    def __init__(self, query: BoundQuery, plan: EnginePlan, inputs: object, show: int) -> None:
        loaded = held(plan, inputs)
        self.query, self.show, self.is_known = query, show, loaded is not None
        if loaded is not None:
            rows, self._events = loaded
            self._schema, self._replays = plan.schema, dict[StrategyName, list[MatchReplay]]()
            self._history = RowHistory(
                (HistorySegment.of(0, rows.inputs, self._events, rows.inputs.numbers),)
            )

    def between(self, found: Sequence[FoundMatches]) -> Iterator[Difference]:
        """Yield the matches that each strategy has beyond the stricter one, and those it lacks."""
        for few, many in pairwise(found):
            yield self._difference(many, few)
            if not set(few.runs) <= set(many.runs):
                yield self._difference(few, many)

    def _difference(self, found: FoundMatches, others: FoundMatches) -> Difference:
        known, other = set(others.runs), others.strategy
        more = [place for place, run in enumerate(found.runs) if run not in known]
        shown = more[: self.show]
        explained = [self._explained(found.runs[place], other) for place in shown]
        matches = tuple(match for match, _ in explained)
        difference = Difference(found.strategy.value, other.value, len(more), matches)
        part = self._placed_matches(found.matches, shown) if shown else None
        if part is None:
            return difference
        drawn = f", the first {len(shown):,} drawn" if len(shown) < len(more) else ""
        stops, title = [stop for _, stop in explained], difference.sentence + drawn
        return replace(difference, timeline=timeline_of_stopped(part, stops, title))

    def _explained(
        self, run: BoundMatch, other: StrategyName
    ) -> tuple[ExplainedMatch, StopPosition]:
        """A match with the reasons, and the first event that the other strategy does not skip."""
        bound = self._by_component(run)
        readings = [
            (replay, forbidden)
            for branch, replay in zip(self._branches, self._replayed(other), strict=True)
            if bound.keys() <= {each.key for each in branch.positives}
            for forbidden in replay.forbidden([bound.get(c.key, ()) for c in branch.positives])
        ]
        explanations: tuple[str, ...] = (SEVERAL,)
        against = list[tuple[int, str]]()
        if len(readings) == 1:
            ((replay, forbidden),) = readings
            explanations = replay.reasons(forbidden, self._rows.__getitem__)
            against = sorted((each.position, each.variable or "") for each in forbidden)
        names = [each.variable for each in self.query.positives]
        match = ExplainedMatch(tuple(zip(names, run, strict=True)), explanations)
        last = max(self._positions[row] for rows in run for row in _events(rows))
        at = against[0][0] if against else last
        stop = StopPosition("; ".join(explanations), at, tuple(against[:DRAWN]), is_match=True)
        return match, stop

    def _placed_matches(self, matches: Matches, chosen: Sequence[int]) -> MatchBatch | None:
        """Chosen matches with positions among all events; None if read in pieces, for memory."""
        parts = [part for part in matches.parts if isinstance(part, MatchBatch)]
        if len(parts) < len(matches.parts):
            return None
        results, numbers, wanted = list[Results](), count(), {*chosen}
        for history, each in ((part.history, each) for part in parts for each in part.results):
            mask = np.array([n in wanted for n in islice(numbers, len(each))], np.bool_)
            results.append(each.at(mask).map_positions(partial(self._placed_rows, history)))
        return MatchBatch(parts[0].shape, self._history, tuple(results))

    def _placed_rows(self, history: RowHistory, positions: Numbers) -> Numbers:
        rows = history.rows(positions.ravel()).tolist()
        return np.array([self._positions[row] for row in rows], np.int64).reshape(positions.shape)

    def _by_component(self, run: BoundMatch) -> dict[Any, BoundRows]:
        """The positions of a match by the keys of the components that bind some."""
        pairs = zip(self.query.positives, self._placed(run), strict=True)
        return {each.key: series for each, series in pairs if series}

    def _placed(self, bound: Any) -> Any:
        """Replace rows by positions."""
        if isinstance(bound, tuple):
            return tuple(map(self._placed, bound))
        return self._positions[bound]

    @property
    def _branches(self) -> Sequence[BoundQuery]:
        return self.query.branches or (self.query,)

    def _replayed(self, strategy: StrategyName) -> Sequence[MatchReplay]:
        """The replays of the branches under a strategy."""
        if strategy not in self._replays:
            plans = (replayed_plan(each, strategy, self._schema) for each in self._branches)
            self._replays[strategy] = [MatchReplay(plan, self._events) for plan in plans]
        return self._replays[strategy]

    @cached_property
    def _rows(self) -> list[int]:
        """The input row of each position."""
        rows: list[int] = self._history.rows(np.arange(len(self._events))).tolist()
        return rows

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {row: position for position, row in enumerate(self._rows)}
