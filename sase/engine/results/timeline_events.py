"""Gather the events around matches from the input that the matches hold, for a timeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sase.base.texts import did_you_mean
from sase.binding.bound import BoundComponent, BoundWindow, WindowKind
from sase.cached_property import cached_property
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.operators.bindings.bindings import Bindings, as_bindings
from sase.engine.operators.bindings.unions import levels_of
from sase.engine.operators.contract import size_of
from sase.engine.results.arrow_columns import python_values
from sase.engine.results.batch import MatchBatch
from sase.engine.results.funnel import duration_of, shown_duration
from sase.engine.results.repr import cell_text
from sase.engine.results.timeline import (
    Absence,
    Density,
    ShownEvent,
    ShownMatch,
    Stop,
    Timeline,
)
from sase.errors import PlanError
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.negatives import NegativeElement
from sase.planning.split import negations_of, window_of

# The matches that may be drawn, the events that are looked at for a row, those of them that are
# drawn, and the bars of a density.
MOST, LOOKED, DRAWN, BARS = 500, 1 << 20, 2_000, 60
# Matches are aligned if the time of all is longer than that of one by this factor.
APART = 20
INT64 = -(2**63), 2**63 - 1

GONE = "skipped events are not drawn where the rows between the events of a match are not held"
LEFT_OUT = (
    "the events were not sorted, so pale events of types that the query does not name are not drawn"
)
CUT = f"of a row, at most {DRAWN:,} pale events are drawn, among its first {LOOKED:,} of all keys"
IMPRECISE = "with imprecise time, events have no single time to be drawn at"
IN_GROUPS = "absences inside of repeated groups are not drawn"
PER_PARTITION = "a window in EVENTS PER PARTITION is not drawn"


def timeline_of(
    parts: Sequence[MatchBatch], key: object, n: int, notes: Iterable[str] = ()
) -> Timeline:
    """The timeline of the first `n` matches of a key, from all matches."""
    check_drawn(parts, n)
    every = [HeldEvents(part) for part in parts]
    wanted = None if key is None else every[0].wanted(key)
    said = dict.fromkeys(notes)
    shown, starts, ends, before = list[ShownMatch](), list[Numbers](), list[Numbers](), 0
    for each in every:
        chosen = each.of_key(wanted)
        begins, lasts, _ = each.part.moments(each.matches[:, chosen])
        starts, ends = [*starts, begins], [*ends, lasts]
        places = chosen[: n - len(shown)].tolist()
        shown += [each.match(place, before + place + 1, said) for place in places]
        before += each.matches.size
    first, last = np.concatenate(starts), np.concatenate(ends)
    if not shown:
        return Timeline((), 0, (), (), 0, 1, key=wanted, notes=tuple(said))
    is_aligned, (begin, end) = _extent(shown)
    lane = [event for match in shown for event in (*match.events, *match.skipped)]
    if wanted is not None:
        # Each part has its own history, but parts of one run share it.
        histories = {id(each.part.history): each for each in every}.values()
        lane += [e for each in histories for e in each.between(begin, end, wanted, said)]
    events = {event.row: event._replace(variable="") for event in lane}
    return Timeline(
        tuple(shown),
        len(first),
        () if is_aligned else tuple(sorted(events.values())),
        every[0].ticks(begin, end, is_aligned),
        begin,
        end,
        is_aligned,
        every[0].density(first, last) if len(first) > len(shown) else None,
        wanted,
        tuple(said),
    )


def check_drawn(parts: Sequence[MatchBatch], n: object) -> None:
    """Refuse a number of matches that is not drawn, and imprecise time."""
    if type(n) is not int or not 1 <= n <= MOST:
        raise PlanError(f"n={n!r}: from 1 to {MOST} matches are drawn: give such a number")
    if any(part.shape.schema.until is not None for part in parts):
        raise PlanError(IMPRECISE)


@dataclass(frozen=True)
class StopPosition:
    """The reason for a stop, and its position; events against it, by position and variable."""

    reason: str
    at: int
    against: tuple[tuple[int, str], ...] = ()
    missing: str = ""
    is_match: bool = False


def timeline_of_stopped(part: MatchBatch, stops: Sequence[StopPosition], title: str) -> Timeline:
    """The timeline of near misses, of added matches, or of a partial match and its key's events."""
    held, said = HeldEvents(part), dict[str, None]()
    shown = [held.stopped(place, stop, said) for place, stop in enumerate(stops)]
    is_aligned, (begin, end) = _extent(shown)
    lane = [e for each in shown for e in (*each.events, *each.skipped, *each.against)]
    if stops[0].missing:
        lane += held.between(begin, end, held.key_of(held.matches.events), said)
    events = {event.row: event._replace(variable="") for event in lane}
    lanes = () if is_aligned else tuple(sorted(events.values()))
    ticks = held.ticks(begin, end, is_aligned)
    count, notes = len(shown), tuple(said)
    return Timeline(
        tuple(shown), count, lanes, ticks, begin, end, is_aligned, notes=notes, title=title
    )


def _extent(shown: Sequence[ShownMatch]) -> tuple[bool, tuple[int, int]]:
    """Whether matches are aligned, and the time that is drawn.

    Windows count up to a quarter of the time of the events.
    """
    ends = [each.ends for each in shown]
    whole = max(end for _, end in ends) - min(begin for begin, _ in ends)
    is_aligned = len(shown) > 1 and whole > APART * np.median([end - begin for begin, end in ends])
    shifts = [each.events[0].time if is_aligned else 0 for each in shown]
    begin = min(each[0] - shift for each, shift in zip(ends, shifts, strict=True))
    end = max(each[1] - shift for each, shift in zip(ends, shifts, strict=True))
    windows = [m.window[1] - shift for m, shift in zip(shown, shifts, strict=True) if m.window]
    furthest = min(max(windows, default=end), end + max((end - begin) // 4, 1))
    return bool(is_aligned), (begin, max(end, furthest, begin + 1))


class HeldEvents:
    """The matches of a batch, and the events that its history holds."""

    def __init__(self, part: MatchBatch) -> None:
        self.part, self._history, self._plan = part, part.history, part.shape.plan

    @cached_property
    def matches(self) -> Bindings:
        """The matches by the variables of the whole pattern."""
        return as_bindings(self.part.positions).general

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        """The attributes on which the events of a match agree."""
        return tuple(t.attribute for t in self._plan.scan.tests if not t.attributes)

    def wanted(self, key: object) -> dict[str, object]:
        """The values of a key by column; a single value is one of the only equivalence test."""
        if not isinstance(key, Mapping):
            if len(self._keys) != 1:
                known = f"tests {', '.join(self._keys)}" if self._keys else "has none"
                raise PlanError(
                    f"key={key!r}: a value by itself is of the only equivalence test, and the query"
                    f" {known}: name the column, as in  key={{'column': value}}"
                )
            return {self._keys[0]: key}
        if not key:
            raise PlanError("key={}: a key has a value for at least one column: leave it out")
        for name in key:
            if name not in self._keys:
                self.check_column("key", name)
        return dict(key)

    def check_column(self, argument: str, name: object) -> None:
        """Refuse a column that the matches do not hold."""
        names = self._history.names(None)
        if name not in names:
            hint = (*did_you_mean(str(name), names), f"there are {', '.join(names)}")[0]
            raise PlanError(
                f"{argument}: the matches hold no column `{name}`; {hint}; of files, only the"
                " columns that the query names are held: name it in RETURN"
            )

    def shown(self, times: Numbers) -> list[Any]:
        """Raw times as Python has them."""
        return [*python_values(self.part.shown(times))]

    def positions_between(
        self, begin: int, end: int, wanted: Mapping[str, object] | None
    ) -> Numbers:
        """The events of a key with times in a range, both included."""
        held = np.concatenate([*self._ranges(begin, end)])
        return held[self._agree(held, wanted or {})]

    def _ranges(self, begin: int, end: int) -> Iterator[Numbers]:
        """The events with times in a range, by held piece."""
        ends = np.clip(np.array([begin, end], object), *INT64).astype(np.int64)
        for piece in self._history.pieces:
            first = np.searchsorted(piece.events.ts, ends[0])
            last = np.searchsorted(piece.events.ts, ends[1], "right")
            yield np.arange(piece.begin + first, piece.begin + last)

    def of_key(self, wanted: Mapping[str, object] | None) -> Numbers:
        """The matches with an event of the key, by place."""
        if wanted is None:
            return np.arange(self.matches.size)
        return np.unique(self.matches.matches[self._agree(self.matches.events, wanted)])

    def _agree(self, positions: Numbers, wanted: Mapping[str, object]) -> Mask:
        """Whether events have these values."""
        found = np.ones(len(positions), np.bool_)
        places = self._history.places(positions)
        for name, value in wanted.items():
            column = self.column(name, places)
            if isinstance(value, pa.Scalar):
                found &= pc.equal(column, value).fill_null(False).to_numpy()
                continue
            try:
                scalar = pa.scalar(value, column.type)
                equal = pc.equal(column, scalar) if scalar.as_py() == value else None
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                equal = None
            if equal is None or value is None:
                raise PlanError(
                    f"key: {value!r} is no value of `{name}`, which has the type {column.type}:"
                    " give one of this type"
                )
            found &= equal.fill_null(False).to_numpy()
        return found

    def column(self, name: str, places: Numbers) -> pa.ChunkedArray:
        """An attribute as values that Arrow compares."""
        column = self._history.column(name, places, None)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return column.cast(pa.float32()) if pa.types.is_float16(column.type) else column

    def _held(self, begin: int, end: int) -> Numbers:
        """The positions of held events from one position to another."""
        ends = ((max(begin, p.begin), min(end, p.end)) for p in self._history.pieces)
        return np.concatenate([np.arange(*each) for each in ends] or [np.empty(0, np.int64)])

    def _events(self, positions: Numbers, variables: Iterable[str] = ()) -> tuple[ShownEvent, ...]:
        times, (codes, names) = self._history.times(positions), self._history.types(positions)
        types = [*names, "no type"]  # with a negative code
        texts, rows = self._texts(times), self._history.rows(positions).tolist()
        kinds = [types[max(code, -1)] for code in codes.tolist()]
        bound = [*variables] or [""] * len(rows)
        return tuple(map(ShownEvent, times.tolist(), texts, kinds, rows, bound))

    def _texts(self, times: Numbers) -> list[str]:
        return [cell_text(each) for each in self.shown(times)]

    # ------------------------------------------------------------ a match

    def match(self, place: int, number: int, notes: dict[str, None]) -> ShownMatch:
        """A match by its place; parts that are not drawn are added to the notes."""
        one, plan = self.matches[:, np.array([place])], self._plan
        if plan.union is not None:
            branch = int(one.branches[0])
            levels = levels_of(plan.union)[branch]
            plan, one = plan.branches[branch], levels.native(one)
        events, window = one.events, window_of(plan.operators)
        if any(map(_has_absences, plan.positives)):
            notes[IN_GROUPS] = None
        found = (self._absence(one, each, window) for each in negations_of(plan.operators))
        absences = tuple(sorted(found, key=lambda each: (each.begin, each.end)))
        band = None
        if window is not None and window.kind is WindowKind.PARTITION_EVENTS:
            notes[PER_PARTITION] = None
        elif window is not None:
            band = self._time(int(events[0])), self._reach(int(events[0]), window, 1)
        bound = self._events(events, [_name(plan, one, n) for n in range(len(events))])
        return ShownMatch(number, bound, self._skipped(events, notes), absences, band)

    def stopped(self, place: int, stop: StopPosition, notes: dict[str, None]) -> ShownMatch:
        """A near miss by its place, with its stop."""
        match = self.match(place, place + 1, notes)
        positions, names = [*zip(*stop.against, strict=True)] or ((), ())
        against = self._events(np.array(positions, np.int64), names)
        rows, at = {event.row for event in against}, self._time(stop.at)
        if stop.missing and match.window is not None:
            at = max(at, match.window[1])
        skipped = tuple(event for event in match.skipped if event.row not in rows)
        shown = Stop(stop.reason, at, against, stop.missing, stop.is_match)
        return replace(match, skipped=skipped, stop=shown)

    def key_of(self, events: Numbers) -> dict[str, object]:
        """The values on which the events of a match agree, as far as an event has them."""
        places, found = self._history.places(events), dict[str, object]()
        for name in self._keys:
            own = self.column(name, places).drop_null()
            # Python does not have all values of Arrow. NaN equals no value.
            own = own.filter(pc.equal(own, own)) if len(own) else own
            found |= {name: own[0]} if len(own) else {}
        return found

    def _skipped(self, events: Numbers, notes: dict[str, None]) -> tuple[ShownEvent, ...]:
        first, last = int(events[0]), int(events[-1])
        end = min(last + 1, first + LOOKED)
        self.note_left_out(notes)
        around = self._held(first, end)
        if len(around) < end - first:
            notes[GONE] = None
        if self._keys:
            around = around[self._agree(around, self.key_of(events))]
        skipped = np.setdiff1d(around, events)
        if end <= last or len(skipped) > DRAWN:
            notes[CUT] = None
        return self._events(skipped[:DRAWN])

    def note_left_out(self, notes: dict[str, None]) -> None:
        """Note that events were left out when the rows were sorted."""
        if any(piece.events.left_out for piece in self._history.pieces):
            notes[LEFT_OUT] = None

    def _absence(
        self, one: Bindings, negation: NegativeElement, window: BoundWindow | None
    ) -> Absence:
        """The time in which a match has no event of a negative component or sequence.

        It is between the last event before it and the first one after it. Without one of them it is
        as long as the window.
        """
        is_later = one.known_states > (-1 if negation.after is None else negation.after)
        earlier, later = one.events[~is_later], one.events[is_later]
        if not len(earlier):
            end = self._time(int(later.min()))
            return Absence(negation.name, min(self._reach(int(later.max()), window, -1), end), end)
        begin = self._time(int(earlier.max()))
        if len(later):
            return Absence(negation.name, begin, self._time(int(later.min())))
        return Absence(negation.name, begin, self._reach(int(earlier.min()), window, 1))

    def _reach(self, position: int, window: BoundWindow | None, sign: int) -> int:
        """The time to which a window reaches, forwards or backwards, from an event."""
        if window is None or window.kind is WindowKind.PARTITION_EVENTS:
            return self._time(position)
        if window.kind is WindowKind.TIME:
            return self._time(position) + sign * size_of(window)
        last = position + sign * (size_of(window) - 1)
        held = self._held(min(position, last), max(position, last) + 1)
        return self._time(int(held[-1 if sign > 0 else 0]))

    def _time(self, position: int) -> int:
        return int(self._history.times(np.array([position]))[0])

    # ------------------------------------------------------------ all events

    def between(
        self, begin: int, end: int, wanted: Mapping[str, object], notes: dict[str, None]
    ) -> Iterator[ShownEvent]:
        """The events of a key, of which the earliest time is in a range."""
        self.note_left_out(notes)
        for held in self._ranges(begin, end):
            shown = held[:LOOKED][self._agree(held[:LOOKED], wanted)]
            if len(held) > LOOKED or len(shown) > DRAWN:
                notes[CUT] = None
            yield from self._events(shown[:DRAWN])

    def ticks(self, begin: int, end: int, is_aligned: bool) -> tuple[tuple[int, str], ...]:
        """Some times in a range, with texts."""
        times = sorted({begin + (end - begin) * n // 3 for n in range(4)})
        unit = next(each.events.resolution_ns for each in self._history.pieces)
        if is_aligned:
            return tuple((each, _since(each, unit)) for each in times)
        second = 0 if unit is None else 10**9 // unit
        if second and end - begin > 600 * second:
            times = [each - each % second for each in times]
        texts = self._texts(np.clip(np.array(times, object), *INT64).astype(np.int64))
        if len({text[:11] for text in texts}) == 1 and texts[0][10:11] == " ":
            texts[1:] = [text[11:] for text in texts[1:]]
        return tuple(zip(times, texts, strict=True))

    def density(self, first: Numbers, last: Numbers) -> Density:
        """How many matches are under way, by the times of their first and last events."""
        begin, end = int(first.min()), int(last.max())
        size = end - begin + 1  # both included
        bars = min(BARS, size)
        edges = [begin + size * n // bars for n in range(bars + 1)]
        begun = np.searchsorted(np.sort(first), [edge - 1 for edge in edges[1:]], "right")
        over = np.searchsorted(np.sort(last), edges[:-1], "left")
        texts = self._texts(np.array([begin, end]))
        return Density(begin, end, tuple((begun - over).tolist()), (texts[0], texts[1]))


def _since(raw: int, unit: int | None) -> str:
    return ("−" if raw < 0 else "+") + shown_duration(duration_of(abs(raw), unit))


def _has_absences(component: BoundComponent) -> bool:
    branches = () if component.group is None else component.group.branches
    return any(each.negations or any(e.negated for e in each.elements) for each in branches)


def _name(plan: EnginePlan, one: Bindings, number: int) -> str:
    """The variable of an event of a match; in a repeated group the one inside."""
    component = plan.positives[int(one.known_states[number])]
    if component.group is None or one.slots is None:
        return component.variable
    inside = component.group.variables[int(one.slots[number])]
    return f"{component.variable}.{inside.variable}"
