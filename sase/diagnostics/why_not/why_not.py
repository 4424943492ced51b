"""The explanation as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from sase.diagnostics.why_not.ablation import Without
from sase.diagnostics.why_not.budget import Count
from sase.diagnostics.why_not.candidates import Candidates
from sase.diagnostics.why_not.funnel import Level


@dataclass(frozen=True, eq=False)
class WhyNot:
    """Why a query finds what it finds: the funnel, what each part stops, and the near misses.

    `rows` were read, `looked_at` of them satisfied the restrictions. `components` are the events of
    each component, `levels` the funnel, `left_out` the matches without each part; `fewest` the
    parts to leave out where no single one helps. `near_misses` is a pyarrow table, nearest first,
    and `words` says it in sentences. Where the budget ended some search `is_complete` is false, and
    its numbers are what was found until then. `shown` are the attributes that the text shows.
    """

    matches: Count
    rows: int
    looked_at: int
    components: tuple[Candidates, ...]
    levels: tuple[Level, ...]
    left_out: tuple[Without, ...]
    fewest: Without | None
    near_misses: pa.Table
    words: tuple[str, ...]
    is_complete: bool
    shown: tuple[str, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        from sase.diagnostics.why_not.showing import as_text

        return as_text(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "matches": _count(self.matches),
            "rows": self.rows,
            "looked_at": self.looked_at,
            "components": [_component(each) for each in self.components],
            "funnel": [_level(each) for each in self.levels],
            "left_out": [_without(each) for each in self.left_out],
            "fewest": None if self.fewest is None else _without(self.fewest),
            "near_misses": self.near_misses.to_pylist(),
            "words": list(self.words),
            "is_complete": self.is_complete,
        }


def _count(count: Count) -> dict[str, Any]:
    # Python makes no text of integers with more digits.
    has_digits = count.number < 10**4000
    return {
        "number": count.number if has_digits else None,
        "text": str(count),
        "is_exact": count.is_exact,
    }


def _component(candidates: Candidates) -> dict[str, Any]:
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


def _level(level: Level) -> dict[str, Any]:
    return {
        "variable": level.candidates.component.variable,
        "in_order": level.in_order,
        "steps": [{"part": step.part.text, "left": _count(step.left)} for step in level.steps],
        "reached": _count(level.reached),
        "partial_matches": _count(level.partial),
    }


def _without(left_out: Without) -> dict[str, Any]:
    return {
        "parts": [part.text for part in left_out.parts],
        "instead": left_out.instead or None,
        "matches": _count(left_out.matches),
    }
