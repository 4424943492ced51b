"""The warnings of a run: types that never occurred, ties, and values that became NULL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sase.base.texts import did_you_mean
from sase.binding.bound import Aggregate, Operation
from sase.binding.values.text import value_text
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.decode.time_column import doubt_of_unit
from sase.engine.operators.contract import OverflowCounts
from sase.engine.results.row_history import RowHistory
from sase.engine.snapshots.layout import Count, Declared, Each, IfThere, Many, Own, Row, Texts
from sase.engine.snapshots.saved_state import Saved
from sase.engine.statistics.ties import TieShare
from sase.planning.engine_plan import EnginePlan

# The first events, which are checked before the others.
FEW = 1 << 12
# Events of a stream from which on a warning of ties is given before its end.
ENOUGH = 1000


def never_occurred(name: str) -> str:
    """The beginning of the warning of a type without events."""
    return f"no event of type `{name}` occurred"


class RunWarnings(Declared):
    """Collect types of the query that have not occurred, and rows where a value became NULL.

    It also has the warnings of the query itself, and the share of the events that tie.
    """

    layout = dict(
        unseen=Texts(set, path="unseen"),
        known_names=Texts(tuple),
        rows=Many(Row(Count(), Count()), dict),
        overflows=Each(Own()),
        ties=IfThere(Own(), path="ties"),
    )

    def __init__(self, plan: EnginePlan, overflows: list[OverflowCounts]) -> None:
        self._plan, self._overflows = plan, overflows
        components = (*plan.positives, *plan.negatives)
        self._types = {name for each in components for name in each.types or ()}
        self.unseen = set(self._types)
        self._known_names: tuple[str, ...] = ()
        # The row of an event by its position: the input may be gone when the warning is made.
        self._rows: dict[int, int] = {}
        self.ties = TieShare.of(plan)
        # The latest time, and the nanoseconds of its unit if they are certain.
        self._earliest = 0
        self._latest: tuple[int, int | None] = (0, None)
        # The keys of the warnings that a report of a push has had.
        self._told: set[object] = set()

    def follow(self, other: RunWarnings) -> None:
        """Continue for another run: warnings stay given, and its plan may name fewer types."""
        self._told, self._latest = other._told, other._latest
        self._earliest = other._earliest
        self.unseen = self._types - (other._types - other.unseen)

    @property
    def standing(self) -> tuple[str, ...]:
        """The warnings that hold and were given, except those of types."""
        found = self._found(ENOUGH, of_types=False)
        return tuple(text for key, text in found if key in self._told)

    def note_types(self, events: Events, rows: slice | Numbers) -> None:
        """Note which of the query's types occur in events."""
        self._known_names = names = events.type_names
        types = events.types[rows]
        for some in (types[:FEW], types[FEW:]):  # most occur soon, and then the rest is not read
            sought = [code for code, name in enumerate(names) if name in self.unseen]
            self.unseen -= {names[code] for code in sought if (some == code).any()}

    def note_whole(self, events: Events) -> None:
        """Note the times of complete events."""
        if len(events):
            self._earliest = int(events.ts[0])
            self._latest = int(events.ts[-1]), events.resolution_ns
        if self.ties is not None:
            self.ties.measure(events)

    def note_next(self, events: Events, *, follows: bool, admitted: int | None) -> None:
        """Note the times of the next events of a stream; the first may tie with the last before."""
        self._earliest = self._earliest or int(events.ts[0])
        self._latest = int(events.ts[-1]), events.resolution_ns
        if self.ties is not None:
            self.ties.add(events, follows=follows, admitted=admitted)

    def note_rows(self, history: RowHistory) -> None:
        """Look up the rows of the examples, while their input is there."""
        for position in self._examples:
            if position not in self._rows:
                (row,) = history.rows(np.array([position]))
                self._rows[position] = int(row)

    def merge(self, other: RunWarnings, history: RowHistory, positions: Numbers | None) -> None:
        """Merge the warnings of another run; its events have these positions, or their own."""
        self.unseen &= other.unseen
        self._known_names = tuple(dict.fromkeys((*self._known_names, *other._known_names)))
        for mine, others in zip(self._overflows, other._overflows, strict=True):
            mine.merge(others, positions)
        self.note_rows(history)

    def warnings(self, *, of_types: bool) -> list[str]:
        """The warnings; those of types that never occurred only with `of_types`: at the end."""
        return [text for _, text in self._found(1, of_types=of_types)]

    def news(self, *, of_types: bool, is_end: bool) -> list[str]:
        """The warnings that were not given yet; those by few events are given only at the end."""
        every = self._found(1 if is_end else ENOUGH, of_types=of_types)
        if not every:
            return []
        found = [each for each in every if each[0] not in self._told]
        self._told |= {key for key, _ in found}
        return [text for _, text in found]

    def _found(self, least: int, *, of_types: bool) -> list[tuple[object, str]]:
        """Each warning with its key; that of ties only from this many events on."""
        found: list[tuple[object, str]] = []
        if self._plan.warnings:
            found += [(text, text) for text in self._plan.warnings]
        if of_types and self.unseen:
            found += self._unseen_types()
        doubt = doubt_of_unit(self._plan.schema, self._earliest, *self._latest)
        if doubt is not None:
            found.append((doubt_of_unit, doubt))
        ties = self.ties
        if ties is not None and ties.is_large and ties.events >= least:
            found.append((TieShare, ties.warning(self._plan.schema.seq)))
        if self._overflows:
            found += self._overflown()
        return found

    def _unseen_types(self) -> Iterator[tuple[object, str]]:
        """Types of the query that never occurred."""
        # A bad row may have had the name itself.
        known = [each for each in self._known_names if each not in self.unseen]
        for name in sorted(self.unseen):
            hint = did_you_mean(name, known)
            yield name, never_occurred(name) + (f"; {hint[0]}" if hint else "")

    def _overflown(self) -> Iterator[tuple[object, str]]:
        """Warnings of values that became NULL: overflows, and errors of user functions."""
        found = dict[tuple[str, str], list[int]]()
        for overflows in self._overflows:
            for operation, (count, position) in overflows.counts.items():
                is_user = isinstance(operation, Aggregate)
                does = "raised" if is_user else "left the range of 64-bit integers"
                # Several branches may have the same operation.
                seen = found.setdefault((self._text_of(operation, overflows), does), [0, position])
                seen[:] = [seen[0] + count, min(seen[1], position)]
        for (text, does), (count, position) in found.items():
            row = self._rows[position]
            yield (
                (text, does),
                f"`{text}` {does} {count:,} times and was NULL there, for example in row {row}",
            )

    def _text_of(self, operation: Operation | Aggregate, overflows: OverflowCounts) -> str:
        if overflows.names is None:
            return self._plan.text_of(operation)
        return value_text(operation, overflows.names)

    @property
    def _examples(self) -> Iterable[int]:
        return [position for each in self._overflows for _, position in each.counts.values()]

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        saved.check(set(self._examples) <= self._rows.keys(), "an example has no row")
