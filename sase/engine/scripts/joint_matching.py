"""One matching for statements that differ only in window, last type, variables, and RETURN.

It uses the longest of their windows. If query 1 has that window, it gets all matches. Query 2 gets
those matches that last no longer than the next shorter window, and so on. If the statements differ
in the types of the last event or in conditions on it, the matches are first split by these. A
statement that was added later gets only matches of events from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Column, Conjunct, Expression, WindowKind
from sase.binding.values.text import condition_text
from sase.engine.blocks.block import Block, EventRange
from sase.engine.blocks.dictionary import PlanDictionary, TypeDictionary
from sase.engine.columns import Events
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.expressions import RowFilter
from sase.engine.kernels.sentinels import EARLIEST
from sase.engine.operators.transformation import Results, ReturnedValue
from sase.engine.pipeline.matcher import Matcher
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.pipeline.warnings import never_occurred
from sase.engine.report import Report
from sase.engine.results.batch import MatchBatch, ResultSchema
from sase.engine.results.matches import Matches
from sase.engine.results.row_history import RowHistory
from sase.engine.scripts.asking import Asking
from sase.engine.scripts.matching_forms import (
    AddedAt,
    JointNames,
    MatchingForm,
    differ_at_last,
    is_constant,
)
from sase.planning.engine_plan import EnginePlan


class JointMatching:
    """The matching of some statements; each statement reads its matches of a call once.

    The `matcher` is of their joint plan. It gets events under the name of the `first` statement.
    Some statements were `added` later.
    """

    def __init__(
        self,
        plans: Mapping[str, EnginePlan],
        matcher: Matcher,
        added: Mapping[str, AddedAt] = MappingProxyType({}),
        *,
        drops: bool = False,
    ) -> None:
        self.matcher, self.first, self.added = matcher, next(iter(plans)), added
        # Whether the matching drops conditions on the last event, and splits matches by them.
        self.drops = drops or differ_at_last(plans.values())
        forms = [(name, MatchingForm(plan)) for name, plan in plans.items()]
        views = (_MatchView(n, form, matcher, added.get(n, AddedAt())) for n, form in forms)
        self._views = sorted(views, key=lambda each: (-(each.form.span or 0), each.added.position))
        # The statements by types of the last event, and by conditions on it.
        self._by_last = dict[tuple[tuple[str, ...], LastTest | None], list[_MatchView]]()
        tests = dict[tuple[Conjunct, ...], LastTest]()
        for view in self._views:
            asked = view.form.asked_last if self.drops else ()
            test = tests.setdefault(asked, LastTest(asked, view.form.plan)) if asked else None
            self._by_last.setdefault((view.types, test), []).append(view)
        # The number of matches of the longest window so far.
        self.found = 0
        self._waiting: dict[str, Matches | None] = {}

    @property
    def types(self) -> tuple[str, ...]:
        """The types that last events may have, also of statements that were removed."""
        return self.matcher.pipeline.plan.positives[-1].types or ()

    @property
    def names(self) -> tuple[str, ...]:
        """The statements, that of the longest window first."""
        return tuple(view.name for view in self._views)

    @property
    def asking(self) -> Asking:
        """The conditions on single events; if last events are split, those of any statement."""
        own = Asking.of(self.matcher.pipeline.plan)
        if not self.drops:
            return own
        each = [Asking.of(view.form.plan) for view in self._views]
        asked = frozenset(some for one in each for some in one.asked or ())
        return Asking(asked, own.is_all and all(one.is_all for one in each), told_apart=True)

    def named(self, found: Collection[str]) -> JointNames:
        """The names and facts to save, for those of its statements that are in `found`."""
        added = {name: at for name, at in self.added.items() if name in found}
        return JointNames(tuple(found), self.types, added, self.drops)

    def asked_last(self, name: str) -> str:
        """The conditions of a statement on the last event, as text, if others do not have them."""
        form = next(view.form for view in self._views if view.name == name)
        names = {form.last.index: form.last.variable}
        asked = form.asked_last if self.drops else ()
        return " AND ".join(condition_text(each.condition, names) for each in asked)

    def report(self, name: str) -> Report:
        """The report of a statement, of all that was searched so far."""
        view = next(each for each in self._views if each.name == name)
        return view.report(self.matcher.report())

    def note(self, name: str) -> str:
        """With whom a later statement is matched, as text; empty for the others."""
        others = ", ".join(each for each in self.names if each != name)
        return f"matched together with {others}" if name in self.added and others else ""

    def waits(self, name: str) -> bool:
        """Whether a statement has not read its last matches."""
        return name in self._waiting

    def told(self, name: str, find: Callable[[Matcher], Matches | None]) -> Matches | None:
        """The matches of a statement; the first statement that reads runs the matcher for all."""
        if name not in self._waiting:
            found = find(self.matcher)
            self._waiting = dict.fromkeys(self.names) if found is None else self._dealt(found)
        return self._waiting.pop(name)

    def _dealt(self, matches: Matches) -> dict[str, Matches | None]:
        """Give each statement the matches that last no longer than its window."""
        dealt = dict[str, Matches | None]()
        (whole,) = matches.parts
        assert isinstance(whole, MatchBatch), "matches of a push are not made yet"
        self.found += len(whole)
        is_any = all(types == self.types for types, _ in self._by_last)
        by_type = {} if is_any else _by_type(whole)
        for (types, test), alike in self._by_last.items():
            kept = whole if types == self.types else _ending_in(whole, types, by_type)
            if test is not None and len(kept):
                kept = kept.where(test.holds(whole, self.matcher.pipeline))
            for _, same in groupby(alike, key=lambda view: view.form.span):
                views = [*same]
                if views[0] is not self._views[0] and len(kept):
                    kept = kept.where(views[0].keeps(whole.history))
                told = kept
                for since, added in groupby(views, key=lambda view: view.added.position):
                    told = told.where(_beginning_at(since)) if since and len(told) else told
                    for view in added:
                        dealt[view.name] = Matches.of([view.shown(told)], view.reporting(matches))
        return dealt


def added_to(pipeline: Pipeline) -> AddedAt:
    """The position and counts at which a statement joins a matching that runs."""
    quarantine, arrived = pipeline.quarantine, pipeline.reorder_buffer.arrived
    bad = 0 if quarantine is None else quarantine.total
    return AddedAt(pipeline.at.events, arrived, bad, pipeline.warnings.standing)


def _beginning_at(position: int) -> Callable[[Results], Mask]:
    """A filter for matches of events from a position on alone."""
    return lambda results: np.asarray(results.first >= position)


def _by_type(matches: MatchBatch) -> dict[str, list[Results]]:
    """Matches by the type of their last event."""
    parts = dict[str, list[Results]]()
    for results in matches.results:
        if not len(results):
            continue
        codes, names = matches.history.types(results.last)
        if (codes == codes[:1]).all():
            parts.setdefault(names[int(codes[0])], []).append(results)
            continue
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(names) + 1)).tolist()
        for name, begin, end in zip(names, bounds[:-1], bounds[1:], strict=True):
            if begin < end:
                parts.setdefault(name, []).append(results.at(order[begin:end]))
    return parts


def _ending_in(
    matches: MatchBatch, types: tuple[str, ...], by_type: Mapping[str, list[Results]]
) -> MatchBatch:
    """The matches with a last event of some types."""
    if len(types) == 1:
        return replace(matches, results=tuple(by_type.get(types[0], ())))
    wanted = frozenset(types)
    return matches.where(lambda results: matches.history.is_type(results.last, wanted))


class LastTest:
    """Conditions of a statement on the last event of a match that the matching does not check."""

    def __init__(self, asked: tuple[Conjunct, ...], plan: EnginePlan) -> None:
        self._coding = PlanDictionary(TypeDictionary(plan.schema), streaming=True)
        texts = self._coding.texts
        self._filters = [RowFilter(each.condition, {}, texts) for each in asked]

    def holds(self, matches: MatchBatch, pipeline: Pipeline) -> Callable[[Results], Mask]:
        """A filter of the matches of a pipeline by these conditions."""

        def kept(results: Results) -> Mask:
            last, places = np.unique(results.last, return_inverse=True)
            held: Mask = matches.history.judged(last, self._truth, pipeline.load_again)[places]
            return held

        return kept

    def _truth(self, events: Events, places: Numbers) -> Mask:
        self._coding.end_round()
        span = EventRange(events, 0, len(events), 0, 0)
        block = Block(span, places, places, events.ts[places], places, places, self._coding)
        found = np.ones(len(places), np.bool_)
        for test in self._filters:
            vectors = {need: block.vector(need[1]) for need in test.columns}
            found &= test.truth(vectors, block.types)
        return found


class _MatchView:
    """The view of a statement on the matches of a longer window, with columns of its own."""

    def __init__(self, name: str, form: MatchingForm, matcher: Matcher, added: AddedAt) -> None:
        self.name, self.form, self._pipeline = name, form, matcher.pipeline
        self.added = added
        # Warnings given before it was added, which hold for it, too.
        self._standing = added.standing
        self._shape = ResultSchema.of(form.plan, matcher.pipeline.dictionary.texts)
        self.types = form.last.types or ()
        own = {name for each in form.plan.components for name in each.types or ()}
        joint = matcher.pipeline.plan
        every = {name for each in joint.components for name in each.types or ()}
        self._others = tuple(map(never_occurred, sorted(every - own)))
        places = {value: place for place, value in enumerate(form.evaluated)}
        self._columns = [self._column(each, places) for each in form.columns or ()]

    def _column(self, column: Column, places: Mapping[Expression, int]) -> int | NDArray[np.int64]:
        """The place of a column among the computed values, or the same value for all matches."""
        if not is_constant(column.value):
            return places[column.value]
        levels = len(self.form.plan.positives)
        value = ReturnedValue(column, self._pipeline.context)
        return value.evaluate(np.zeros((levels, 1), np.int64))

    def keeps(self, history: RowHistory) -> Callable[[Results], Mask]:
        """A filter for matches that last no longer than the window of the statement."""
        span, window = self.form.span, self.form.window

        def kept(results: Results) -> Mask:
            if span is None or window is None:
                return np.ones(len(results), np.bool_)
            first, last = results.first, results.last
            if window.kind is WindowKind.TIME:
                first, last = history.times(first), history.times(last)
            # The difference may leave int64, the least first measure may not.
            least = np.where(last < EARLIEST + span, EARLIEST, last - span)
            return np.asarray(first >= least)

        return kept

    def reporting(self, matches: Matches) -> Callable[[], Report]:
        """A function that makes the report of shared matches."""
        standing, self._standing = self._standing, ()
        is_whole = self._pipeline.state.is_finished
        return lambda: self._reported(matches.report, standing, is_whole=is_whole)

    def report(self, joint: Report) -> Report:
        """The report of all that was searched, for this statement."""
        return self._reported(joint, (), is_whole=self._pipeline.state.is_finished)

    def _reported(self, joint: Report, standing: tuple[str, ...], *, is_whole: bool) -> Report:
        """A report of rows since it was added, without warnings of types that others look for."""
        every, added = dict.fromkeys((*standing, *joint.warnings)), self.added
        warnings = tuple(each for each in every if not each.startswith(self._others))
        if warnings == joint.warnings and not added.rows:
            return joint
        bad = joint.bad - added.bad if is_whole else joint.bad
        return replace(joint, warnings=warnings, rows=joint.rows - added.rows, bad=bad)

    def shown(self, matches: MatchBatch) -> MatchBatch:
        """Matches with the columns of the statement."""
        self._shape = self._shape.with_types(self._pipeline.loader.known)
        results = tuple(replace(each, values=self._values(each)) for each in matches.results)
        shape = replace(self._shape, texts=matches.shape.texts)
        return replace(matches, shape=shape, results=results)

    def _values(self, results: Results) -> tuple[NDArray[np.int64], ...]:
        return tuple(
            results.values[each]
            if isinstance(each, int)
            else np.broadcast_to(each, (len(results), 2))
            for each in self._columns
        )
