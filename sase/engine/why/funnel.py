"""The funnel: how far partial matches come, and at what those that end there are stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sase.binding import BoundQuery
from sase.engine.events import Events
from sase.engine.why.budget import Count
from sase.engine.why.candidates import Candidates
from sase.engine.why.parts import Kind, Part, without
from sase.engine.why.relaxing import beginning
from sase.engine.why.searching import Search

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Step:
    """A part, and how many events are still the last of a partial match once it must hold."""

    part: Part
    left: Count


@dataclass(frozen=True)
class Level:
    """A positive component: its events that pass, those that come late enough, and what is left.

    `partial` are the partial matches that end with one; `steps` has the parts that decide.
    """

    candidates: Candidates
    in_order: int
    steps: tuple[Step, ...]
    reached: Count
    partial: Count


def funnel_of(
    query: BoundQuery, parts: Sequence[Part], candidates: Sequence[Candidates], search: Search
) -> tuple[Level, ...]:
    """The levels of all positive components."""
    positive = [each for each in candidates if not each.component.negated]
    in_order = _in_order(search.events, [each.at for each in positive])
    found: list[Level] = []
    for number, each in enumerate(positive, start=1):
        is_over = bool(found) and found[-1].reached.is_none
        if is_over or not in_order[number - 1]:
            level = Level(each, in_order[number - 1], (), Count(0), Count(0))
        else:
            level = _level(number, each, in_order[number - 1], query, parts, search)
        found.append(level)
    return tuple(found)


def _level(
    number: int,
    candidates: Candidates,
    in_order: int,
    query: BoundQuery,
    parts: Sequence[Part],
    search: Search,
) -> Level:
    """The steps of a level, each with one more part; they end with the whole."""
    is_last = number == len(query.positives)
    whole = query if is_last else beginning(query, number)
    found = search.count(whole)
    if found.lasts.number == in_order:
        return Level(candidates, in_order, (), Count(in_order), found.matches)
    deciding = _deciding(number, query, parts)
    steps = []
    for place, part in enumerate(deciding, start=1):
        left_out = deciding[place:]
        left = search.count(without(whole, left_out)) if left_out else found
        steps.append(Step(part, left.lasts))
    return Level(candidates, in_order, tuple(_known(steps)), found.lasts, found.matches)


def _known(steps: Sequence[Step]) -> list[Step]:
    """The steps, of which an ended one leaves at least what the next one does."""
    found: list[Step] = []
    for step in reversed(steps):
        least = found[-1].left.number if found else 0
        if not step.left.is_exact and step.left.number < least:
            step = Step(step.part, Count(least, is_exact=False))
        found.append(step)
    return found[::-1]


def _deciding(number: int, query: BoundQuery, parts: Sequence[Part]) -> list[Part]:
    """The parts that come in at a level, in the order in which they are looked at."""
    indexes = [each.index for each in query.positives]
    here, before = indexes[number - 1], set(indexes[: number - 1])
    is_last = number == len(indexes)
    later = (Kind.CONSTANT, Kind.NEGATION, Kind.HAVING)
    found = [
        part
        for part in parts
        if (part.kind in (Kind.TEST, Kind.WINDOW) and number > 1)
        or (part.kind is Kind.RELATION and {here} <= set(part.components) <= {here, *before})
    ]
    return found + [part for part in parts if is_last and part.kind in later]


def _in_order(events: Events, passing: Sequence[Numbers]) -> list[int]:
    """How many candidates of each level come after one of every level before."""
    counts, earliest = [], -1
    for at in passing:
        ranks = at if events.tie is None else events.tie[at]
        later = ranks[ranks > earliest]
        counts.append(len(later))
        if not len(later):
            return counts + [0] * (len(passing) - len(counts))
        earliest = int(later.min())
    return counts
