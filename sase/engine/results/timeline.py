"""Matches and near misses along time: events, absences and windows, as a value, text and picture.

The picture is SVG in which shapes and patterns, not colours alone, carry meaning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import NamedTuple
from uuid import uuid4

from sase.printable import printable, printable_lines

# Points of the picture: labels, the time axis, a row, the bars of the density, the margin.
LEFT, PLOT, ROW, BARS, MARGIN = 150, 640, 48, 44, 30
# The height of a line with a reason, and its most characters.
REASON, LONGEST = 16, 120
WIDTH = LEFT + PLOT + MARGIN
# Its contrast is at least 3:1 on white and on near black.
COLOUR = "#4b7bec"
# A shape for each of the first types, around (0, 0); all other types share the last one.
SHAPES = (
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    "M-5-5h10v10h-10z",
    "M0-6 6 5h-12z",
    "M0-6 6 0 0 6-6 0z",
    "M0 6 6-5h-12z",
    "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
    "M-6-6 0-2 6-6 2 0 6 6 0 2-6 6-2 0z",
    "M-3-3h6v6h-6z",
)
STYLE = """:root { color-scheme: light dark; }
body { background: Canvas; color: CanvasText; font: 1rem/1.5 system-ui, sans-serif; margin: 2rem; }
@media (prefers-color-scheme: dark) { body { background: #14181f; color: #e7ebf1; } }
pre { white-space: pre-wrap; }
@media (max-width: 40rem) { body { margin: 1rem; } pre { font-size: .7rem; } }"""


class ShownEvent(NamedTuple):
    """An event: its raw time and the same as text, type, input row, and variable if bound."""

    time: int
    at: str
    type: str
    row: int
    variable: str = ""


class Absence(NamedTuple):
    """A negative component or sequence, and the raw times between which it has no event."""

    name: str
    begin: int
    end: int


class Stop(NamedTuple):
    """The reason that stopped a near miss, or a match under another strategy, and its raw time.

    `against` are the events that forbid it. Of a partial match, `missing` is the component without
    an event, and the time is the end of its window.
    """

    reason: str
    at: int
    against: tuple[ShownEvent, ...] = ()
    missing: str = ""
    is_match: bool = False


@dataclass(frozen=True)
class ShownMatch:
    """A match by its number among all matches, and the events that it skipped.

    A near miss, a partial match, and a match that another strategy lacks have a `stop`. `skipped`
    are the events from its first to its last one that it does not bind, of its key if the query has
    one. `window` is the time in which the window lets events be, if it is drawn.
    """

    number: int
    events: tuple[ShownEvent, ...]
    skipped: tuple[ShownEvent, ...] = ()
    absences: tuple[Absence, ...] = ()
    window: tuple[int, int] | None = None
    stop: Stop | None = None

    @property
    def against(self) -> tuple[ShownEvent, ...]:
        """The events that forbid it."""
        return () if self.stop is None else self.stop.against

    @property
    def name(self) -> str:
        """Its kind, with its number where there may be several."""
        if self._is_match:
            return f"match {self.number:,}"
        assert self.stop is not None
        return "partial match" if self.stop.missing else f"near miss {self.number:,}"

    @property
    def _is_match(self) -> bool:
        return self.stop is None or self.stop.is_match

    @property
    def ends(self) -> tuple[int, int]:
        """The earliest and the latest time that is drawn of it, without its window."""
        own = [event.time for event in (*self.events, *self.against)]
        own += [self.stop.at] if self.stop else []
        times = (*own, *(time for each in self.absences for time in each[1:]))
        return min(times), max(times)

    @property
    def sentence(self) -> str:
        """The match as text."""
        bound = " → ".join(map(_named, self.events))
        no = "no" if self._is_match else "must have no"
        absent = "".join(f"; {no} {each.name}" for each in self.absences)
        counts = Counter(event.type for event in self.skipped)
        kinds = ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
        skipped = f"; skipped {kinds}" if kinds else ""
        against = f"; against it: {', '.join(map(_named, self.against))}" if self.against else ""
        reason = f"; {self.stop.reason}" if self.stop else ""
        return printable(f"{self.name}: {bound}{absent}{skipped}{against}{reason}")


class Density(NamedTuple):
    """The numbers of matches under way in equal parts of the time from `begin` to `end`."""

    begin: int
    end: int
    counts: tuple[int, ...]
    labels: tuple[str, str]


@dataclass(frozen=True)
class Timeline:
    """Some matches along time, and in a notebook a picture of them.

    `count` is the number of all matches, or of those of the `key`. `events` are the events of the
    key in the time that is drawn, or those of the drawn matches, skipped ones included. If the
    matches are far apart, they are `aligned`: times count from the first event of each, and there
    are no such events. `ticks` are raw times with their texts. `notes` name the parts that are not
    drawn. A `title` takes the place of the numbers of matches.

    Examples:
        >>> events = [{"ts": 1, "type": "A", "id": 7}, {"ts": 2, "type": "B", "id": 7}]
        >>> sase.match("EVENT SEQ(A a, B b) WHERE [id] WITHIN 10", events).timeline()
        1 match
        match 1: a A 1 (row 0) → b B 2 (row 1)
    """

    matches: tuple[ShownMatch, ...]
    count: int
    events: tuple[ShownEvent, ...]
    ticks: tuple[tuple[int, str], ...]
    begin: int
    end: int
    aligned: bool = False
    density: Density | None = None
    key: Mapping[str, object] | None = None
    notes: tuple[str, ...] = ()
    title: str = ""

    @property
    def heading(self) -> str:
        """The numbers of matches and of those that are drawn, or the title."""
        if self.title:
            return printable(self.title)
        of = ", ".join(f"{name} = {value}" for name, value in (self.key or {}).items())
        found = "1 match" if self.count == 1 else f"{self.count:,} matches"
        drawn = f", the first {len(self.matches):,} drawn" if len(self.matches) < self.count else ""
        return printable(f"{found}{f' of {of}' if of else ''}{drawn}")

    @property
    def lines(self) -> Iterator[str]:
        """The timeline as lines of text."""
        yield self.heading
        yield from (match.sentence for match in self.matches)
        yield from (f"note: {printable(note)}" for note in self.notes)

    def __str__(self) -> str:
        return printable_lines("\n".join(self.lines))

    def __repr__(self) -> str:
        """Return the text, as names of events are escaped for terminals."""
        return str(self)

    def _repr_html_(self) -> str:
        """Return the heading, the picture if there is a match, and the notes as paragraphs."""
        # Browsers draw none of a pattern in a hidden part of the page, so each picture has its own.
        return self.drawn(fresh_hatch())

    def drawn(self, hatch: str) -> str:
        """The same; the pattern of the picture has the name `hatch`."""
        notes = "".join(f"<p>{_text(note)}</p>" for note in self.notes)
        # On a narrow screen the picture scrolls: its text would be too small to be read.
        scrolled = '<div style="overflow-x:auto">'
        drawing = f"{scrolled}{_svg(self, hatch)}</div>" if self.matches else ""
        return f"<div><p><b>{_text(self.heading)}</b></p>{drawing}{notes}</div>"

    def to_html(self) -> str:
        """Return a page with the picture and the same as text, which needs no other file."""
        text = f"<summary>The same as text</summary><pre>{escape(str(self))}</pre>"
        return page(self.heading, f"{self.drawn('sase-hatch')}\n<details>{text}</details>")


def fresh_hatch() -> str:
    """A name of the hatching that no other picture of a document has."""
    return f"sase-hatch-{uuid4().hex[:12]}"


def page(title: str, body: str) -> str:
    """A page with a picture, which needs no other file."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{_text(title)}</title><style>\n{STYLE}\n</style></head>\n"
        f"<body>{body}</body></html>\n"
    )


# ---------------------------------------------------------------- the picture


def _svg(timeline: Timeline, hatch: str) -> str:
    """The picture; its pattern has the name `hatch`."""
    said = escape(". ".join(timeline.lines))
    drawing = _Drawing(timeline, hatch)
    body = "".join(drawing.parts())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{said}"'
        f' viewBox="0 0 {WIDTH} {drawing.height}" width="{WIDTH}"'
        ' style="min-width:40rem;max-width:100%"'
        ' fill="currentColor" font-family="sans-serif" font-size="12">'
        f'<defs><pattern id="{hatch}" width="7" height="7" patternUnits="userSpaceOnUse"'
        ' patternTransform="rotate(45)"><path d="M0 0V7" stroke="currentColor" stroke-width="2"'
        f' stroke-opacity=".35"/></pattern></defs>{body}</svg>'
    )


class _Drawing:
    """Draws the parts of a timeline from top to bottom; `height` is that of the drawn parts."""

    def __init__(self, timeline: Timeline, hatch: str) -> None:
        bound = (event for match in timeline.matches for event in match.events)
        others = (e for match in timeline.matches for e in (*match.skipped, *match.against))
        every = (*bound, *others, *timeline.events)
        self._timeline, self._types = timeline, [*dict.fromkeys(event.type for event in every)]
        self._hatching = f'fill="url(#{hatch})" stroke="currentColor" stroke-opacity=".5"'
        self.height = 8

    def parts(self) -> Iterator[str]:
        if self._timeline.density is not None:
            yield self._density()
        if self._timeline.events:
            yield self._lane()
        yield from map(self._match, self._timeline.matches)
        yield self._axis()
        yield self._legend()

    def _x(self, time: int) -> float:
        begin, end = self._timeline.begin, self._timeline.end
        return round(LEFT + PLOT * (min(max(time, begin), end) - begin) / (end - begin), 1)

    def _density(self) -> str:
        density = self._timeline.density
        assert density is not None
        top, most, width = self.height, max(density.counts), PLOT / len(density.counts)
        self.height += BARS + 26
        bars = "".join(
            f'<rect class="bin" data-count="{count}" x="{LEFT + n * width:.1f}"'
            f' y="{top + BARS - BARS * count / most:.1f}" width="{max(width - 1, 1):.1f}"'
            f' height="{BARS * count / most:.1f}" fill="{COLOUR}"/>'
            for n, count in enumerate(density.counts)
        )
        first, last = density.labels
        return (
            f'<g class="density">{_label(top + 12, f"all {self._timeline.count:,}")}'
            f"{_label(top + 28, f'at most {most:,} at once')}{bars}"
            f"{_small(LEFT, top + BARS + 14, first, 'start')}"
            f"{_small(LEFT + PLOT, top + BARS + 14, last, 'end')}</g>"
        )

    def _lane(self) -> str:
        """All events; those that no drawn match binds are pale."""
        middle = self._next_row()
        bound = {event.row for match in self._timeline.matches for event in match.events}
        others = (each for each in self._timeline.events if each.row not in bound)
        own = (each for each in self._timeline.events if each.row in bound)
        marks = self._marks(others, middle, 0, "skipped") + self._marks(own, middle, 0, "event")
        return f'<g class="lane">{_label(middle + 4, "events")}{marks}</g>'

    def _match(self, match: ShownMatch) -> str:
        middle, shift = self._next_row(), match.events[0].time if self._timeline.aligned else 0
        label = f"{match.number:,}" if match.stop is None else match.name
        found = [f"<title>{_text(match.sentence)}</title>", _label(middle + 4, label)]
        if self._timeline.aligned:
            found.append(_label(middle + 17, match.events[0].at))
        if match.window is not None:
            left, right = self._ends(*match.window, shift)
            found.append(_band("window", left, right, middle, 13, _DASHED))
            if match.window[1] - shift > self._timeline.end:
                found.append(f'<text class="beyond" x="{LEFT + PLOT}" y="{middle + 4}">→</text>')
        for absence in match.absences:
            left, right = self._ends(absence.begin, absence.end, shift)
            found.append(_band("absence", left, right, middle, 8, self._hatching))
            found.append(_small(round((left + right) / 2, 1), middle + 23, f"no {absence.name}"))
        first, last = self._ends(match.events[0].time, match.events[-1].time, shift)
        line = f'<path class="line" d="M{first} {middle}H{last}" stroke="{COLOUR}"'
        found.append(f'{line} stroke-width="2"/>')
        found.append(self._marks(match.skipped, middle, shift, "skipped"))
        found.append(self._marks(match.events, middle, shift, "event"))
        if match.stop is not None:
            found.append(self._stop(match.stop, last, middle, shift))
        return f'<g class="match" data-match="{match.number}">{"".join(found)}</g>'

    def _stop(self, stop: Stop, last: float, middle: int, shift: int) -> str:
        """The events against a near miss, a cross at the point of its end, and the reason."""
        self.height += REASON
        x, found = self._x(stop.at - shift), [self._marks(stop.against, middle, shift, "against")]
        if stop.missing:
            style = 'stroke="currentColor" stroke-dasharray="2 4"'
            found.append(f'<path class="missing" d="M{last} {middle}H{x}" {style}/>')
            found.append(_small(x, middle - 15, f"no {stop.missing}", "end"))
        cross = f"M{x - 9} {middle - 9}l18 18M{x - 9} {middle + 9}l18-18"
        found.append(f'<path class="stop" d="{cross}" stroke="currentColor" stroke-width="2"/>')
        cut = stop.reason if len(stop.reason) <= LONGEST else f"{stop.reason[: LONGEST - 1]}…"
        found.append(f'<g class="reason">{_small(LEFT, middle + 36, cut, "start")}</g>')
        return "".join(found)

    def _ends(self, begin: int, end: int, shift: int) -> tuple[float, float]:
        return self._x(begin - shift), self._x(end - shift)

    def _marks(self, events: Iterable[ShownEvent], middle: int, shift: int, kind: str) -> str:
        """The events of a row; of skipped events of one type and place, only one is drawn."""
        seen, found, free = set[tuple[float, str]](), list[str](), 0.0
        for event in events:
            x = self._x(event.time - shift)
            if kind == "skipped" and (x, event.type) in seen:
                continue
            seen.add((x, event.type))
            found.append(
                f'<path class="{kind}" data-row="{event.row}" d="{self._shape(event.type)}"'
                f' transform="translate({x} {middle}{_PALE[kind]}><title>'
                f"{_text(f'{event.variable} {event.type} {event.at}, row {event.row:,}'.strip())}"
                "</title></path>"
            )
            if event.variable and x >= free:
                found.append(_small(x, middle - 15, event.variable))
                free = x + 7 * len(event.variable) + 4
        return "".join(found)

    def _shape(self, type_name: str) -> str:
        return SHAPES[min(self._types.index(type_name), len(SHAPES) - 1)]

    def _axis(self) -> str:
        top = self.height + 6
        self.height += 32
        since = "since the first event" if self._timeline.aligned else ""
        places = ("start", *("middle",) * (len(self._timeline.ticks) - 2), "end")
        ticks = "".join(
            f'<path class="tick" d="M{self._x(time)} {top}v4" stroke="currentColor"/>'
            + _small(self._x(time), top + 16, text, place)
            for place, (time, text) in zip(places, self._timeline.ticks, strict=True)
        )
        line = f'<path d="M{LEFT} {top}h{PLOT}" stroke="currentColor"/>'
        return f'<g class="axis">{line}{ticks}{_label(top + 16, since)}</g>'

    def _legend(self) -> str:
        """The shape of each type; hatched and pale parts."""
        named = self._types
        if len(named) > len(SHAPES):
            named = [*named[: len(SHAPES) - 1], "others"]
        found, x = list[str](), LEFT
        self.height += 20
        for shape, name in zip(SHAPES, named, strict=False):
            width = 26 + round(8.5 * len(name))
            if x + width > WIDTH and x > LEFT:
                x, self.height = LEFT, self.height + 18
            found.append(f'<path d="{shape}" transform="translate({x} {self.height - 4})"/>')
            found.append(f'<text x="{x + 10}" y="{self.height}">{_text(name)}</text>')
            x += width
        self.height += 18
        said = "pale: skipped · hatched: absent · dashed: window"
        if any(match.stop for match in self._timeline.matches):
            said = f"{said} · cross: stopped there"
        found.append(_small(LEFT, self.height, said, "start"))
        self.height += 8
        return f'<g class="legend">{"".join(found)}</g>'

    def _next_row(self) -> int:
        """The middle of the next row."""
        self.height += ROW
        return self.height - ROW // 2


# The rest of a mark: a scale and a hollow shape for pale ones.
_PALE = {
    "event": f')" fill="{COLOUR}"',
    "against": ')" fill="none" stroke="currentColor" stroke-width="2"',
    "skipped": ') scale(.7)" fill="none" stroke="currentColor" stroke-opacity=".7"',
}
_DASHED = 'fill-opacity=".06" stroke="currentColor" stroke-opacity=".4" stroke-dasharray="3 3"'


def _band(kind: str, left: float, right: float, middle: int, size: int, style: str) -> str:
    width = max(round(right - left, 1), 1)
    return (
        f'<rect class="{kind}" x="{left}" y="{middle - size}" width="{width}"'
        f' height="{2 * size}" {style}/>'
    )


def _named(event: ShownEvent) -> str:
    return f"{event.variable} {event.type} {event.at} (row {event.row:,})".lstrip()


def _label(y: int, text: str) -> str:
    return f'<text x="{LEFT - 14}" y="{y}" text-anchor="end">{_text(text)}</text>'


def _small(x: float, y: int, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x}" y="{y}" font-size="10" text-anchor="{anchor}">{_text(text)}</text>'


def _text(text: str) -> str:
    return escape(printable(text))
