"""The events that a strategy does not let a match's run skip, with reasons in sentences.

A match determines its run, and so the events that the run ignores. Strategies differ only in
*ignore* (docs/semantics.md, Runs): a strategy has the match if it may ignore all of them; otherwise
those it may not are the reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise

import numpy as np

from sase.binding import BoundQuery, Schema
from sase.binding.bound import BoundComponent, Conjunct, ConjunctClass, When
from sase.cached_property import cached_property
from sase.diagnostics.strategies.interpreter import Interpreter, MatchBinding, Series
from sase.engine.columns import Events
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.contract import span_of
from sase.lang.ast import StrategyName

# The series of the positive components that a run has started or passed.
Run = tuple[Series, ...]
# The most rows in a sentence.
LISTED = 5


class StrategyRules:
    """Decides for a query and events which events its strategies let a run skip."""

    def __init__(self, query: BoundQuery, events: Events, schema: Schema) -> None:
        self.query, self.events = query, events
        self.interpreter = Interpreter(query, events, schema)
        self.ties = (np.arange(len(events)) if events.tie is None else events.tie).tolist()
        attributes = self.interpreter.attributes
        self.codes = [attributes.codes_of(test).tolist() for test in query.equivalences]
        checked = (When.EVENT, When.FIRST, When.EVERY, When.FURTHER)
        self.conjuncts = [
            each
            for each in query.conjuncts
            if each.kind is not ConjunctClass.NEGATIVE and each.when in checked
        ]

    def is_in_order(self, match: Run) -> bool:
        """Whether the events of a match are in the order of this query's components."""
        return all(one < other for one, other in pairwise(chain(*match)))

    def forbidden(self, strategy: StrategyName, match: Run) -> list[ForbiddenSkip]:
        """List the events that a match's run ignores and a strategy does not let it ignore."""
        found = []
        for run, position in self._ignored(match):
            match strategy:
                case StrategyName.STRICT_CONTIGUITY:
                    found.append(ForbiddenSkip(position))
                case StrategyName.PARTITION_CONTIGUITY:
                    found += [] if self._differs(run, position) else [ForbiddenSkip(position)]
                case StrategyName.SKIP_TILL_NEXT_MATCH:
                    found += self._must_take(run, position)
        return found

    def reasons(
        self,
        strategy: StrategyName,
        forbidden: Sequence[ForbiddenSkip],
        row_of: Callable[[int], int],
    ) -> tuple[str, ...]:
        """Return sentences why a strategy lacks a match; events are named by row."""
        tests = "".join(f"[{test.attribute}]" for test in self.query.equivalences)
        types = self.interpreter.type_names
        return reasons(strategy, forbidden, row_of, types.__getitem__, tests)

    def _ignored(self, match: Run) -> Iterator[tuple[Run, int]]:
        """The events between those of a match, each with the run before it."""
        run: Run = ()
        before: int | None = None
        for number, series in enumerate(match):
            for place, position in enumerate(series):
                if before is not None:
                    yield from ((run, each) for each in range(before + 1, position))
                run, before = (*match[:number], series[: place + 1]), position

    def _must_take(self, run: Run, position: int) -> list[ForbiddenSkip]:
        """The event that skip till next match forces the run to take or begin with."""
        last = self.query.positives[len(run) - 1]
        is_full = last.maximum is not None and len(run[-1]) >= last.maximum
        component = self.query.positives[len(run)] if is_full else last
        more = (*run, (position,)) if is_full else (*run[:-1], (*run[-1], position))
        may = self._may_bind(more, begins=is_full)
        return [ForbiddenSkip(position, component.variable, is_full)] if may else []

    # ------------------------------------------------------------ begin and take

    def _may_bind(self, run: Run, *, begins: bool) -> bool:
        """Whether the last event of a run could be bound there."""
        component = self.query.positives[len(run) - 1]
        *earlier, position = (each for series in run for each in series)
        name = self.interpreter.type_names[position]
        admitted = name is not None and (component.types is None or name in component.types)
        return (
            admitted
            and self.ties[earlier[-1]] < self.ties[position]
            and self.agrees(component, earlier, position)
            and self._is_within(earlier[0], position)
            and all(self._holds(each, run) for each in self._checked(component, begins))
        )

    def _checked(self, component: BoundComponent, begins: bool) -> list[Conjunct]:
        now = (When.EVENT, When.FIRST, When.EVERY) if begins else (When.EVERY, When.FURTHER)
        own = (each for each in self.conjuncts if each.component == component.index)
        return [each for each in own if each.when in now]

    def _holds(self, conjunct: Conjunct, run: Run) -> bool:
        """Evaluate a conjunct for the newest event of its component and all events of others."""
        series = dict(zip((each.index for each in self.query.positives), run, strict=False))
        assert conjunct.component is not None
        newest = {conjunct.component: len(run[-1]) - 1}
        cases = self.interpreter.cases(conjunct.condition, series, newest)
        return all(self.interpreter.truth(conjunct.condition, each) for each in cases)

    def agrees(self, component: BoundComponent, earlier: Sequence[int], position: int) -> bool:
        """Whether an event passes the equivalence tests with the other events of a run."""
        for test, codes in zip(self.query.equivalences, self.codes, strict=True):
            if codes[position] == NOTHING or not self._agree(codes, earlier, position):
                return False
            if test.value is not None and codes[position] >= 0:
                column = self.interpreter.column(component.index, test.attribute, test.type.kind)
                literal = self.interpreter.value(test.value, MatchBinding({}))
                if column[position] != literal:
                    return False
        return True

    def _agree(self, codes: list[int], earlier: Sequence[int], position: int) -> bool:
        """Whether events that declare an attribute agree in it."""
        code = codes[position]
        return code < 0 or all(codes[each] in (code,) or codes[each] < 0 for each in earlier)

    def _differs(self, run: Run, position: int) -> bool:
        """Whether an event belongs to another partition than a run."""
        earlier = [each for series in run for each in series]
        return any(
            codes[position] < 0 or not self._agree(codes, earlier, position) for codes in self.codes
        )

    def _is_within(self, first: int, last: int) -> bool:
        if self.query.window is None:
            return True
        measures, known = self._measures
        is_known = bool(known[first] and known[last])
        return is_known and int(measures[last] - measures[first]) <= span_of(self.query.window)

    @cached_property
    def _measures(self) -> tuple[Numbers, Mask]:
        """The window's measure of each event, and which events have one."""
        window, attributes = self.query.window, self.interpreter.attributes
        assert window is not None
        tests = self.query.equivalences
        return attributes.measures(window, tests), attributes.are_measured(window, tests)


# ---------------------------------------------------------------- reasons in sentences


@dataclass(frozen=True, slots=True)
class ForbiddenSkip:
    """An event that must not be skipped, and the variable that could bind it, if any."""

    position: int
    variable: str | None = None
    begins: bool = False


def reasons(
    strategy: StrategyName,
    forbidden: Sequence[ForbiddenSkip],
    row_of: Callable[[int], int],
    type_of: Callable[[int], str | None],
    tests: str,
) -> tuple[str, ...]:
    """Return a sentence for each group of similar events; `row_of` takes a position."""
    found = []

    def sort(skip: ForbiddenSkip) -> tuple[str | None, bool, str | None]:
        return skip.variable, skip.begins, type_of(skip.position) if skip.variable else None

    for (variable, begins, name), group in groupby(forbidden, sort):
        some = [row_of(each.position) for each in group]
        found.append(_sentence(strategy, some, variable, begins, name, tests))
    return tuple(dict.fromkeys(found))


def _sentence(
    strategy: StrategyName,
    rows: list[int],
    variable: str | None,
    begins: bool,
    name: str | None,
    tests: str,
) -> str:
    skipped, is_one = rows_text(rows), len(rows) == 1
    match strategy:
        case StrategyName.STRICT_CONTIGUITY:
            return f"not contiguous: {skipped} {'lies' if is_one else 'lie'} between"
        case StrategyName.PARTITION_CONTIGUITY:
            partition = "which is" if is_one else "which are"
            return (
                f"skips {skipped}, {partition} of the same partition {tests}:"
                " partition contiguity does not allow it"
            )
    what = f"{_article(name)} {name}" if is_one else f"each {_article(name)} {name}"
    could = f"could begin {variable}" if begins else f"{variable} could have taken"
    return f"skips {skipped}, {what} that {could}: skip till next match must take it"


def rows_text(rows: Sequence[int]) -> str:
    """List row numbers: the first ones, and the number of others."""
    if len(rows) == 1:
        return f"row {rows[0]:,}"
    listed = [f"{each:,}" for each in rows[:LISTED]]
    rest = len(rows) - LISTED
    if rest > 0:
        return f"rows {', '.join(listed)} and {rest:,} other{'s' if rest > 1 else ''}"
    return f"rows {', '.join(listed[:-1])} and {listed[-1]}"


def _article(name: str | None) -> str:
    return "an" if (name or "")[:1].lower() in tuple("aeiou") else "a"
