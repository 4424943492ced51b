"""Long streams, patterns on them, and an oracle that walks back from each last event.

It is for sequences of single events that agree on at most one key, so it can be obvious, and knows
of no stacks; it is compared with the naive matcher on short streams.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

NAMES = ("A", "B", "C", "D")


class Event(NamedTuple):
    row: int
    ts: int
    type: str
    id: Any
    v: int


# ---------------------------------------------------------------- streams

SCHEMA = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("v", pa.int64())])


def events_of(seed: int, size: int, keys: str) -> list[Event]:
    """A stream in order of time, with ties; keys are few, or each is soon gone for ever."""
    random, ts = Random(seed), 0
    live = list(range(4))
    events = []
    for row in range(size):
        ts += random.choice((0, 1, 1, 2, 3))
        place = random.randrange(4)
        if keys != "few" and random.random() < 0.2:
            live[place] = row + 4  # a key that was never there before
        key: Any = f"k{live[place]}" if keys == "strings" else live[place]
        if random.random() < 0.03:
            key = None
        events.append(Event(row, ts, random.choice(NAMES), key, random.randrange(4)))
    return events


def table_of(events: Sequence[Event], keys: str) -> pa.Table:
    kind = pa.string() if keys == "strings" else pa.int64()
    rows = [event._asdict() for event in events]
    return pa.Table.from_pylist(rows, schema=SCHEMA.append(pa.field("id", kind)))


# ---------------------------------------------------------------- patterns


class Part(NamedTuple):
    """A component: a variable, its type, and, if negative, the condition on which it forbids."""

    variable: str
    type: str
    negated: bool
    least: int = 0  # of v, for a negative one

    @property
    def text(self) -> str:
        return f"!({self.type} {self.variable})" if self.negated else f"{self.type} {self.variable}"


@dataclass(frozen=True)
class Pattern:
    """A query of this family; `ordered` asks that v does not fall from event to event."""

    parts: tuple[Part, ...]
    keys: str  # by which events have the same id: "test", "conditions" on the positive ones, "none"
    ordered: bool
    window: int | None
    unit: str = ""  # or EVENTS, or EVENTS PER PARTITION
    inclusive: bool = False
    names: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        positives = tuple(part.variable for part in self.parts if not part.negated)
        object.__setattr__(self, "names", positives)

    @property
    def is_keyed(self) -> bool:
        """Whether no event of another id can matter to a match."""
        return self.keys == "test"

    @property
    def text(self) -> str:
        where = ["[id]"] if self.keys == "test" else []
        for one, two in zip(self.names, self.names[1:], strict=False):
            where += [f"{two}.id = {one}.id"] if self.keys == "conditions" else []
            where += [f"{one}.v <= {two}.v"] if self.ordered else []
        where += [f"{p.variable}.v >= {p.least}" for p in self.parts if p.negated and p.least]
        clauses = [
            f"EVENT SEQ({', '.join(part.text for part in self.parts)})",
            f"WHERE {' AND '.join(where)}" if where else "",
            f"WITHIN {self.window} {self.unit}" if self.window else "",
            "INCLUSIVE" if self.window and self.inclusive else "",
        ]
        return " ".join(filter(None, clauses))


ORDERED = st.sampled_from([False, False, True])


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    types = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3))
    parts = [Part(name, kind, False) for name, kind in zip("abc", types, strict=False)]
    for variable in "xy"[: draw(st.sampled_from([0, 1, 1, 2]))]:
        place = draw(st.integers(0, len(parts)))
        kind, least = draw(st.sampled_from(NAMES)), draw(st.sampled_from([0, 3, 2, 3]))
        parts.insert(place, Part(variable, kind, True, least))
    keys = draw(st.sampled_from(["none", "none", "conditions", "test", "test", "test"]))
    units = [""]
    if not parts[-1].negated:
        units += ["EVENTS"] + ["EVENTS PER PARTITION"] * (keys == "test")
    unit = draw(st.sampled_from(units))
    at_an_end = parts[0].negated or parts[-1].negated
    bounded = at_an_end or keys != "test" or draw(st.integers(0, 4)) > 0
    window = draw(st.integers(6, 50)) if bounded else None
    if window is not None and (unit.endswith("PARTITION") or (at_an_end and keys != "test")):
        window = (
            len(types) + window // 8
        )  # the whole window of a longer one is seldom without an event
    return Pattern(tuple(parts), keys, draw(ORDERED), window, unit, draw(st.booleans()))


# ---------------------------------------------------------------- the oracle


class Expected(NamedTuple):
    """A match: rows in the order of the pattern, and when it is known."""

    detected_at: int
    rows: tuple[int, ...]

    @property
    def order(self) -> tuple[Any, ...]:
        """Rows are positions here: the stream is sorted."""
        last, *earlier = reversed(self.rows)
        return self.detected_at, last, [-row for row in earlier]


class Oracle:
    """The matches of a pattern in a stream."""

    def __init__(self, pattern: Pattern, events: Sequence[Event]) -> None:
        self.pattern = pattern
        self.positives = [part for part in pattern.parts if not part.negated]
        self.events = events
        # The events that can be in one match, or forbid it, with their times.
        self.scopes: dict[Any, list[Event]] = {}
        seen: Counter[Any] = Counter()
        self.ranks: dict[int, int] = {}
        for event in events:
            self.scopes.setdefault(event.id if pattern.is_keyed else None, []).append(event)
            self.ranks[event.row] = seen[event.id]
            seen[event.id] += 1
        if pattern.is_keyed and len(pattern.parts) > 1:
            self.scopes.pop(None, None)
        self.times = {key: [e.ts for e in scope] for key, scope in self.scopes.items()}

    def matches(self) -> list[Expected]:
        found = [
            Expected(self._detected_at(bound), tuple(event.row for event in bound))
            for key in self.scopes
            for last in self.scopes[key]
            if last.type == self.positives[-1].type
            for bound in self._bindings(key, (last,))
            if not self._is_forbidden(key, bound)
        ]
        return sorted(found, key=lambda match: match.order)

    def _bindings(self, key: Any, bound: tuple[Event, ...]) -> Iterator[tuple[Event, ...]]:
        """All ways to go on, from these last events, to the first."""
        if len(bound) == len(self.positives):
            if self._holds(bound[0], bound[-1]):
                yield bound
            return
        wanted = self.positives[-len(bound) - 1].type
        before = bisect_left(self.times[key], bound[0].ts)
        scope = self.scopes[key]
        for event in (scope[place] for place in range(before - 1, -1, -1)):
            if not self._holds(event, bound[-1]):
                return
            if event.type == wanted and self._fits(event, bound[0]):
                yield from self._bindings(key, (event, *bound))

    def _fits(self, event: Event, after: Event) -> bool:
        """The conditions on two that follow each other."""
        if self.pattern.ordered and event.v > after.v:
            return False
        return self.pattern.keys != "conditions" or (event.id == after.id and event.id is not None)

    def _holds(self, first: Event, last: Event) -> bool:
        """Whether two events are in one window."""
        pattern = self.pattern
        if pattern.window is None:
            return True
        apart = last.ts - first.ts
        if pattern.unit == "EVENTS":
            apart = last.row - first.row
        elif pattern.unit:
            if None in (first.id, last.id):
                return False
            apart = self.ranks[last.row] - self.ranks[first.row]
        return apart < pattern.window or (pattern.inclusive and apart == pattern.window)

    def _is_forbidden(self, key: Any, bound: tuple[Event, ...]) -> bool:
        passed = 0
        for part in self.pattern.parts:
            if part.negated and any(
                event.type == part.type and event.v >= part.least
                for event in self._gap(key, bound, passed)
            ):
                return True
            passed += not part.negated
        return False

    def _gap(self, key: Any, bound: tuple[Event, ...], passed: int) -> Iterator[Event]:
        """The events between two of the match, or within the window before or after it."""
        scope, times = self.scopes[key], self.times[key]
        if passed == len(bound):
            start = bisect_right(times, bound[-1].ts)
            for event in (scope[place] for place in range(start, len(scope))):
                if not self._holds(bound[0], event):
                    return
                yield event
            return
        end = bisect_left(times, bound[passed].ts)
        if passed:
            yield from scope[bisect_right(times, bound[passed - 1].ts) : end]
            return
        for event in (scope[place] for place in range(end - 1, -1, -1)):
            if not self._holds(event, bound[-1]):
                return
            yield event

    def _detected_at(self, bound: tuple[Event, ...]) -> int:
        if self.pattern.parts[-1].negated:
            assert self.pattern.window is not None
            return bound[0].ts + self.pattern.window
        return bound[-1].ts
