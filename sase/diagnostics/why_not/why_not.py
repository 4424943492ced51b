"""The explanation as a value, as plain data, and as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from typing import Any

import pyarrow as pa

from sase.diagnostics.why_not.ablation import Ablation
from sase.diagnostics.why_not.budget import Count
from sase.diagnostics.why_not.candidates import ComponentCandidates
from sase.diagnostics.why_not.funnel import FunnelLevel, FunnelStep
from sase.engine.results.arrow_columns import python_values, structs
from sase.engine.results.repr import text_table
from sase.engine.results.timeline import Timeline, fresh_hatch, page
from sase.printable import printable, printable_lines

# The most events of a series in the text.
MOST_EVENTS = 4
NO_PICTURE = Timeline((), 0, (), (), 0, 1, title="no near miss")
FUNNEL = ["component", "events", "pass", "in order", "reach it", "partial"]


@dataclass(frozen=True, eq=False)
class WhyNot:
    """Why a query finds its matches and no others: the funnel, ablations, and near misses.

    Of `rows` read, `looked_at` satisfied the restrictions. `components` counts the events of each
    component, `levels` is the funnel, `left_out` the matches without each part; `fewest` are the
    parts to leave out if no single one helps. `near_misses` is a pyarrow table, nearest first;
    `words` are sentences. If the budget stopped a search, `is_complete` is false and numbers are
    lower bounds. `shown` are the attributes in the text. `timeline` is a picture of the near misses
    along time, or if there is none, of a partial match and the component that it lacks. For a
    pattern with choices, each of the `branches` has all this, and the whole has only the matches
    and the words.

    Examples:
        >>> events = [{"ts": 1, "type": "A"}, {"ts": 99, "type": "B"}]
        >>> why = sase.why("EVENT SEQ(A a, B b) WITHIN 10", events)
        >>> str(why.matches), {str(each): str(each.matches) for each in why.left_out}
        ('0', {'WITHIN 10': '1'})
    """

    matches: Count
    rows: int
    looked_at: int
    components: tuple[ComponentCandidates, ...]
    levels: tuple[FunnelLevel, ...]
    left_out: tuple[Ablation, ...]
    fewest: Ablation | None
    near_misses: pa.Table
    words: tuple[str, ...]
    is_complete: bool
    shown: tuple[str, ...] = field(default=(), repr=False)
    timeline: Timeline = field(default=NO_PICTURE, repr=False)
    branches: tuple[WhyNot, ...] = ()

    @property
    def pattern(self) -> str:
        """The pattern in short; of a branch only its own components."""
        parts = (f"!({c.text})" if c.component.negated else c.text for c in self.components)
        return f"SEQ({', '.join(parts)})"

    def __repr__(self) -> str:
        """Return the text, as its event values are escaped for terminals."""
        return str(self)

    def __str__(self) -> str:
        """Return the funnel, the events that each part rejects, near misses, and sentences."""
        if self.branches:
            return "\n\n".join(self._of_branches())
        blocks = [
            _table(FUNNEL, [*_funnel(self)]),
            list(_stops(self)),
            _table(["left out", "matches"], _left_out(self)),
            list(_near(self)),
            [*map(_sentence, self.words)],
        ]
        return "\n\n".join(printable_lines("\n".join(block)) for block in blocks if block)

    def _repr_html_(self) -> str:
        """Return the pictures, and the text."""
        return self._drawn(fresh_hatch())

    def _drawn(self, hatch: str) -> str:
        shown, pictures = self.branches or (self,), list[str]()
        for number, each in enumerate(shown, 1):
            if self.branches:
                of = f"branch {number} of {len(shown)}: {each.pattern}"
                pictures.append(f"<p>{escape(printable(of))}</p>")
            pictures.append(each.timeline.drawn(f"{hatch}-{number}"))
        return f"{''.join(pictures)}<pre>{escape(str(self))}</pre>"

    def to_html(self) -> str:
        """Return a page with the pictures and the text, which needs no other file."""
        return page(_sentence(self.words[0]), self._drawn("sase-hatch"))

    def _of_branches(self) -> Iterator[str]:
        """How often each branch matches, then each branch."""
        yield printable_lines("\n".join(map(_sentence, self.words)))
        for number, each in enumerate(self.branches, 1):
            yield printable(f"branch {number} of {len(self.branches)}: {each.pattern}")
            yield str(each)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data."""
        return {
            "matches": _count(self.matches),
            "rows": self.rows,
            "looked_at": self.looked_at,
            "components": [_component(each) for each in self.components],
            "funnel": [_level(each) for each in self.levels],
            "left_out": [_without(each) for each in self.left_out],
            "fewest": None if self.fewest is None else _without(self.fewest),
            "near_misses": python_values(structs(self.near_misses)),
            "words": list(self.words),
            "is_complete": self.is_complete,
            "branches": [{"pattern": b.pattern, **b.to_dict()} for b in self.branches],
        }


def _count(count: Count) -> dict[str, Any]:
    # Python refuses to convert longer integers to text.
    has_digits = count.number < 10**4000
    return {
        "number": count.number if has_digits else None,
        "text": str(count),
        "is_exact": count.is_exact,
    }


def _component(candidates: ComponentCandidates) -> dict[str, Any]:
    return {
        "variable": candidates.component.variable,
        "component": candidates.text,
        "negated": candidates.component.negated,
        "events": candidates.events,
        "passing": candidates.passing,
        "first": candidates.first,
        "unknown_types": list(candidates.unknown),
        "stopped": [
            {
                "part": each.part.text,
                "events": each.number,
                "by_it_alone": each.alone,
                "as_first": each.as_first,
                "instead": None if each.seen is None else str(each.seen),
            }
            for each in candidates.stopped
        ],
    }


def _level(level: FunnelLevel) -> dict[str, Any]:
    return {
        "variable": level.candidates.component.variable,
        "in_order": level.in_order,
        "steps": [{"part": step.part.text, "left": _count(step.left)} for step in level.steps],
        "reached": _count(level.reached),
        "partial_matches": _count(level.partial),
    }


def _without(left_out: Ablation) -> dict[str, Any]:
    return {
        "parts": [part.text for part in left_out.parts],
        "instead": left_out.instead or None,
        "matches": _count(left_out.matches),
    }


# ---------------------------------------------------------------- as text


def _sentence(words: str) -> str:
    text = words[0].upper() + words[1:]
    return text if text.endswith("?") else f"{text}."


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    return list(text_table([header, *rows])) if rows else []


def _funnel(why: WhyNot) -> Iterator[list[str]]:
    levels = {level.candidates.component.index: level for level in why.levels}
    for each in why.components:
        name = f"!({each.text})" if each.component.negated else each.text
        counts = ["", "", ""]
        if (level := levels.get(each.component.index)) is not None:
            counts = [f"{level.in_order:,}", str(level.reached), str(level.partial)]
        yield [name, f"{each.events:,}", f"{each.passing:,}", *counts]


def _stops(why: WhyNot) -> Iterator[str]:
    """Say for each component which parts reject its events, alone and together."""
    levels = {level.candidates.component.index: level for level in why.levels}
    for each in why.components:
        for stopped in each.stopped:
            seen = f": {stopped.seen}" if stopped.seen is not None else ""
            seen = ": NULL agrees with nothing" if stopped.by_null else seen
            first = " from being the first" if stopped.as_first else ""
            yield f"{each.text}: {stopped.part.text} stops {stopped.number:,}{first}{seen}"
        level = levels.get(each.component.index)
        if level is not None and level.steps:
            steps = ", ".join(
                f"{step.left} with {step.part.text}" for step in _until_none(level.steps)
            )
            what = each.text if each.component.minimum else f"{each.text} or before"
            yield f"{what}: {level.in_order:,} in order, {steps}"


def _until_none(steps: Sequence[FunnelStep]) -> Iterator[FunnelStep]:
    """Yield the steps up to the first that leaves nothing."""
    for step in steps:
        yield step
        if step.left.is_none:
            return


def _left_out(why: WhyNot) -> list[list[str]]:
    rows = [
        [str(each), str(each.matches)]
        for each in (*why.left_out, *([] if why.fewest is None else [why.fewest]))
    ]
    return [["nothing", str(why.matches)], *rows] if rows else []


def _near(why: WhyNot) -> Iterator[str]:
    names = why.near_misses.column_names[4:]
    if why.near_misses.num_rows:
        yield "near misses, nearest first"
    for row in python_values(structs(why.near_misses)):
        by = f", {row['by']}" if row["by"] else ""
        yield f"  stopped by {row['stopped_by']}{by}"
        for name, number in zip(names, row["rows"].values(), strict=True):
            if isinstance(number, list):
                yield from _series(name, number, row[name], why.shown)
            elif number is not None:
                yield f"    {name}: row {number:,}  {_event(row[name], why.shown)}"


def _series(
    name: str, rows: list[int], events: list[dict[str, Any]], shown: Sequence[str]
) -> Iterator[str]:
    """List the events of a series: the first ones and the last."""
    hidden = range(MOST_EVENTS, len(rows))
    for place, (number, event) in enumerate(zip(rows, events, strict=True), start=1):
        if len(hidden) < 2 or place not in hidden:
            yield f"    {name}[{place}]: row {number:,}  {_event(event, shown)}"
        elif place == MOST_EVENTS:
            yield f"    … {len(hidden):,} more of {name}"


def _event(event: dict[str, Any], shown: Sequence[str]) -> str:
    return " ".join(f"{name}={_value(event[name])}" for name in shown if name in event)


def _value(value: Any) -> str:
    if isinstance(value, datetime):
        precision = "milliseconds" if value.microsecond else "seconds"
        return value.isoformat(" ", precision).replace("+00:00", "Z")
    return "NULL" if value is None else printable(str(value))
