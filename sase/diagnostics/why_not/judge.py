"""What fails in one match that is at hand: where, by how much, and with which values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from sase.binding import BoundQuery, Schema
from sase.binding.bound import Aggregate, Condition, Part, Reference
from sase.binding.parts import references
from sase.binding.text import value_text
from sase.binding.types import TIMES, DataType, Kind
from sase.diagnostics.strategies.interpreter import Bound
from sase.diagnostics.strategies.strategy_rules import Rules, Run
from sase.diagnostics.why_not.alternatives import number_text, quoted
from sase.diagnostics.why_not.distance import compared, gap, time_text
from sase.engine.columns import Events
from sase.engine.expressions.constants import NANOSECOND
from sase.engine.kernels.expressions.operations import EXACT
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.results.row_history import RowHistory

UNKNOWN = float("nan")
# Values of a test that are listed for a component.
LISTED = 3


@dataclass(frozen=True)
class Failure:
    """By how much something was missed, as a share of what was asked for, and that in words."""

    share: float
    text: str


class Judge:
    """The events of some matches as values, and what of a query they fail; places are positions.

    `work` bounds how often conditions are looked at: then nothing is said any more.
    """

    def __init__(
        self,
        query: BoundQuery,
        events: Events,
        schema: Schema,
        history: RowHistory,
        positions: Sequence[int],
        work: int,
    ) -> None:
        every = np.unique(np.array(positions, np.int64))
        self.query, self._history, self._work = query, history, work
        self.rules = Rules(query, events.at(every), schema)
        self._names = {each.index: each.variable for each in query.components}
        self._place = {position: place for place, position in enumerate(every.tolist())}
        self._positions = every

    @property
    def is_tired(self) -> bool:
        """Whether it says nothing any more."""
        return self._work <= 0

    def row(self, position: int) -> int:
        """The input row of an event."""
        return int(self._history.rows(np.array([position]))[0])

    def places(self, positions: Sequence[int]) -> tuple[int, ...]:
        """The places of events among those at hand."""
        return tuple(self._place[each] for each in positions)

    # ------------------------------------------------------------ conditions

    def holds(self, condition: Condition, series: Mapping[int, Sequence[int]]) -> bool:
        """Whether a condition holds, for every event that it speaks of."""
        values = self.rules.values
        return all(values.truth(condition, bound) for bound in self._cases(condition, series))

    def failure(
        self, condition: Condition, series: Mapping[int, Sequence[int]], unit: float | None
    ) -> Failure | None:
        """Where a condition is missed by most, if it is; times are measured beside a unit."""
        values, worst, count = self.rules.values, None, 0
        for bound in self._cases(condition, series):
            if self.is_tired:
                return None
            if values.truth(condition, bound):
                continue
            found, count = self._missed(condition, bound, unit), count + 1
            if worst is None or found.share > worst.share:
                worst = found
        if worst is None or count == 1:
            return worst
        return Failure(worst.share, f"{worst.text}, and {count - 1:,} more such")

    def _cases(self, condition: Condition, series: Mapping[int, Sequence[int]]) -> Iterator[Bound]:
        """What a condition speaks of: each event of some series, or each but the first."""
        at_hand = {index: self.places(events) for index, events in series.items()}
        parts: dict[int, list[Part]] = {}
        for each in references(condition):
            parts.setdefault(each.component, []).append(each.part)
        ranges = {
            index: range(any(each.is_earlier for each in of), len(at_hand.get(index, ())))
            for index, of in parts.items()
            if any(each.rank == Part.CURRENT.rank for each in of)
        }
        for chosen in product(*ranges.values()):
            self._work -= 1
            yield Bound(at_hand, dict(zip(ranges, chosen, strict=True)))

    def _missed(self, condition: Condition, bound: Bound, unit: float | None) -> Failure:
        read = dict.fromkeys(references(condition))
        text = ", ".join(f"{self._named(each)} is {self._shown(each, bound)}" for each in read)
        for index, number in bound.at.items():
            if len(bound.series[index]) > 1:
                text += f" at row {self.row(int(self._positions[bound.series[index][number]])):,}"
                break
        values = [self.rules.values.value(each, bound) for each in compared(condition)]
        if not values or None in values:
            return Failure(UNKNOWN, text)
        is_time = compared(condition)[0].type.kind in TIMES
        by, beside = gap(condition, values), max(abs(float(each)) for each in values)
        if is_time:
            beside = UNKNOWN if unit is None else unit * 1e9
        share = float(by) / beside if beside else 0.0
        how = time_text(round(by)) if is_time else f"{float(by):.6g}"
        return Failure(share, f"{text}: by {how}")

    def _named(self, reference: Reference | Aggregate) -> str:
        is_length = isinstance(reference, Aggregate) and reference.attribute is None
        if is_length and reference.part is Part.ALL:
            return f"{self._names[reference.component]}.len"
        return value_text(reference, self._names)

    def _shown(self, reference: Reference | Aggregate, bound: Bound) -> str:
        return shown_value(self.rules.values.value(reference, bound), reference.type)

    # ------------------------------------------------------------ equivalence tests

    def disagreement(self, number: int, series: Mapping[int, Sequence[int]]) -> Failure | None:
        """What the events have instead of one value under a test, if they do not agree."""
        test, codes = self.query.equivalences[number], self.rules.codes[number]
        if test.value is None and len(self.query.components) < 2:
            (only,) = self.query.components
            if only.is_single:
                return None  # an event alone agrees with itself
        places = [each for events in series.values() for each in self.places(events)]
        known = {codes[each] for each in places if codes[each] >= 0 or codes[each] == NOTHING}
        values = self.rules.values
        self._work -= len(places)
        texts, is_fixed_elsewhere = [], False
        for component in self.query.positives:
            attribute = test.attribute_of(component.index)
            if attribute is None or test.declared[component.index] is False:
                continue
            column = values.of(component.index, attribute, test.type.kind)
            own = [column[each] for each in self.places(series[component.index])]
            if test.value is not None:
                wanted = values.value(test.value, Bound({}))
                is_fixed_elsewhere |= any(each != wanted for each in own)
            distinct = [shown_value(each, test.type) for each in dict.fromkeys(own)]
            if distinct:
                more = ", …" if len(distinct) > LISTED else ""
                listed = ", ".join(distinct[:LISTED])
                texts.append(f"{component.variable}.{attribute} is {listed}{more}")
        if len(known) < 2 and NOTHING not in known and not is_fixed_elsewhere:
            return None
        return Failure(UNKNOWN, ", ".join(texts))

    def agrees(self, component: int, events: Sequence[int], position: int) -> bool:
        """Whether an event of a component passes the tests with the events of a match."""
        earlier, place = list(self.places(events)), self._place[position]
        (of,) = (each for each in self.query.components if each.index == component)
        return self.rules.agrees(of, earlier, place)

    def run_of(self, run: Run) -> Run:
        """A match by its places."""
        return tuple(self.places(events) for events in run)


def shown_value(value: Any, data_type: DataType) -> str:
    """A value as a query writes it, or as a person reads it."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return str(value).upper()
    if data_type.kind is Kind.INTERVAL:
        return f"-{time_text(-value)}" if value < 0 else time_text(value)
    if data_type.kind is Kind.TIMESTAMP:
        return number_text(EXACT + NANOSECOND, value, data_type)
    if isinstance(value, Fraction):
        return str(Decimal(value.numerator) / Decimal(value.denominator))
    return f"{value:.10g}" if isinstance(value, float) else str(value)
