"""Describe how one match fails: where, by how much, and with which values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from sase.binding.bound import Aggregate, BoundComponent, Condition, Part, Reference
from sase.binding.conditions.parts import conjoined, values_read
from sase.binding.types import TIMES
from sase.binding.values.text import value_text
from sase.diagnostics.why_not.interpreter import (
    UNKNOWN,
    Interpreter,
    MatchBinding,
    compared,
    distance,
    time_scale,
)
from sase.diagnostics.why_not.match_search import Match, events_of
from sase.diagnostics.why_not.search import RelaxedSearch
from sase.diagnostics.why_not.value_format import format_time, format_value
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.results.row_history import RowHistory

# The most values listed for a component.
LISTED = 3
WHOLE = 1e15  # smaller integers are shown in full


@dataclass(frozen=True)
class Failure:
    """The shortfall as a share of the required amount, and as text; events against the match."""

    share: float
    text: str
    against: tuple[int, ...] = ()


def miscount(component: BoundComponent, match: Match) -> Failure | None:
    """Describe the number of events that a component lacks or has too many, if any."""
    number, bound, what = len(match[component.index]), component.minimum, "few"
    if component.maximum is not None and number > component.maximum:
        bound, what = component.maximum, "many"
    elif number >= bound:
        return None
    by = abs(number - bound)
    return Failure(by / bound, f"{component.variable}.len is {number:,}: {by:,} too {what}")


def _distance_text(by: float) -> str:
    """Format a distance: small integers in full, others with their first digits."""
    return f"{by:.0f}" if by.is_integer() and by < WHOLE else f"{by:.6g}"


class MatchJudge:
    """Rates matches of events at `positions`; evaluates conditions at most `work` times."""

    def __init__(
        self, search: RelaxedSearch, history: RowHistory, positions: Sequence[int], work: int
    ) -> None:
        self._positions = np.unique(np.array(positions, np.int64))
        self._query, self._history, self._work = search.query, history, work
        # The scale of time distances, in nanoseconds.
        self._unit = time_scale(search.query, search.schema)
        events = search.events.at(self._positions)
        self._interpreter = Interpreter(search.query, events, search.schema)
        attributes = self._interpreter.attributes
        self._codes = [attributes.codes_of(each).tolist() for each in search.query.equivalences]
        self._names = {each.index: each.variable for each in search.query.components}
        self._place = {position: n for n, position in enumerate(self._positions.tolist())}

    @property
    def is_exhausted(self) -> bool:
        """Whether the limit of evaluations is reached."""
        return self._work <= 0

    def _places(self, positions: Sequence[int]) -> tuple[int, ...]:
        return tuple(self._place[each] for each in positions)

    # ------------------------------------------------------------ conditions

    def holds(self, condition: Condition, match: Match) -> bool:
        """Whether a condition holds for every event that it ranges over."""
        return all(
            self._interpreter.truth(condition, each) for each in self._cases(condition, match)
        )

    def failure(
        self, condition: Condition, match: Match, confidence: float | None = None
    ) -> Failure | None:
        """The case in which a condition fails by most, or None; with a confidence if imprecise.

        A condition on the confidence alone is not described.
        """
        worst, count = None, 0
        for plain in self._cases(condition, match):
            if self.is_exhausted:
                return None
            case = plain if confidence is None else replace(plain, confidence=confidence)
            if self._interpreter.truth(condition, case):
                continue
            found, count = self._missed(condition, case), count + 1
            if worst is None or found.share > worst.share:
                worst = found
        if worst is None or count == 1:
            return worst
        return Failure(worst.share, f"{worst.text}, and {count - 1:,} more such")

    def _cases(self, condition: Condition, match: Match) -> Iterator[MatchBinding]:
        series = {index: self._places(events) for index, events in match.items()}
        for case in self._interpreter.cases(condition, series):
            self._work -= 1
            yield case

    def _missed(self, condition: Condition, case: MatchBinding) -> Failure:
        read = dict.fromkeys(values_read(condition))
        if not read:
            return Failure(UNKNOWN, "")
        text = ", ".join(f"{self._named(each)} is {self._shown(each, case)}" for each in read)
        several = (case.series[index][n] for index, n in case.at.items() if case.series[index][1:])
        place = next(several, None)
        if place is not None:
            text += f" at row {self._history.rows(self._positions[[place]])[0]:,}"
        operands = compared(condition)
        values = [self._interpreter.value(each, case) for each in operands]
        if not values or None in values:
            return Failure(UNKNOWN, text)
        by, scale = distance(condition, values), max(abs(float(each)) for each in values)
        if isnan(by):
            return Failure(UNKNOWN, text)  # infinite
        how = _distance_text(float(by))
        if operands[0].type.kind in TIMES:
            scale = self._unit
            how = format_time(round(by))
        return Failure(float(by) / scale if scale else 0.0, f"{text}: by {how}")

    def _named(self, reference: Reference | Aggregate) -> str:
        is_length = isinstance(reference, Aggregate) and reference.attribute is None
        if is_length and reference.part is Part.ALL:
            return f"{self._names[reference.component]}.len"
        return value_text(reference, self._names)

    def _shown(self, reference: Reference | Aggregate, case: MatchBinding) -> str:
        value = self._interpreter.value(reference, case)
        if isinstance(reference, Aggregate) and isinstance(value, float):
            return f"{value:.10g}"
        return format_value(value, reference.type)

    def first_failure(
        self, condition: Condition, match: Match, confidence: float | None = None
    ) -> Failure | None:
        """The failure of the first operand of a conjunction that fails."""
        failures = (self.failure(each, match, confidence) for each in conjoined(condition))
        return next((each for each in failures if each is not None), None)

    # ------------------------------------------------------------ equivalence tests

    def disagreement(self, number: int, match: Match) -> Failure | None:
        """Describe the values under a test on which the events do not agree, if any."""
        test, codes = self._query.equivalences[number], self._codes[number]
        first, *others = self._query.components
        if test.value is None and first.is_single and not others:
            return None  # an event alone agrees with itself
        places = self._places(events_of(match))
        self._work -= len(places)
        # Events of a type that does not declare it agree with all.
        declaring = {each for each in places if codes[each] >= 0 or codes[each] == NOTHING}
        known = {codes[each] for each in declaring}
        texts, fails = [], len(known) > 1 or NOTHING in known
        for component in self._query.positives:
            attribute = test.attribute_of(component.index)
            if attribute is None:
                continue
            column = self._interpreter.column(component.index, attribute, test.type.kind)
            own = [column[n] for n in self._places(match[component.index]) if n in declaring]
            if test.value is not None:
                literal = self._interpreter.value(test.value, MatchBinding({}))
                fails |= any(each != literal for each in own)
            distinct = [format_value(each, test.type) for each in dict.fromkeys(own)]
            if distinct:
                more = ", …" if len(distinct) > LISTED else ""
                listed = ", ".join(distinct[:LISTED])
                texts.append(f"{component.variable}.{attribute} is {listed}{more}")
        return Failure(UNKNOWN, ", ".join(texts)) if fails else None
