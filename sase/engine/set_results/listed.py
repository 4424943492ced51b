"""Matches that cannot be counted as paths: found one by one, kept only if few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import TypeVar

import numpy as np

from sase.base.interface import spelled
from sase.base.texts import digits
from sase.cached_property import cached_property
from sase.engine.columns.arrays import Floats, Numbers
from sase.engine.match_graph.aggregates import Function, Number, listed, plain
from sase.engine.match_graph.ranks import Estimate
from sase.engine.operators.bindings.bindings import as_bindings, begins_of, likely_of
from sase.engine.operators.transformation import Results
from sase.engine.report import Report
from sase.engine.results.batch import MatchBatch, ResultBatch
from sase.engine.results.matches import Matches
from sase.engine.set_results.collapsed_table import CollapsedForm, EventLists, check_size
from sase.engine.set_results.counted import CountedMatches
from sase.errors import BudgetError, PlanError, SaseError

P = TypeVar("P", bound=ResultBatch)
# Matches kept in memory, so that they are searched once.
HELD = 1_000_000
# Examining more takes hours, so it is refused in any case.
HOPELESS = 10**11
# Pairs buffered before a sort.
MANY = 1 << 18
# Combines a first and a final event into one number; positions are smaller.
FIRSTS = 1 << 31


class ListedMatches:
    """The matches of a plan that is searched for each question, unless they fit in memory.

    If only HAVING prevents counting, it filters the matches of `among`, which are all examined.
    """

    def __init__(
        self,
        matches: Matches,
        reasons: tuple[str, ...],
        *,
        holds: bool,
        among: CountedMatches | None = None,
    ) -> None:
        self._matches, self.reasons, self._holds = matches, reasons, holds
        self._among = among

    @property
    def report(self) -> Report:
        """The report of the run."""
        if self._matches.is_searched:
            return self._matches.report
        for _ in self._search():
            pass
        return self._matches.report

    @cached_property
    def nothing(self) -> MatchBatch:
        """An empty batch."""
        return replace(next(self.parts()), results=())

    def count(self, most: int) -> int:
        """The number of matches, counted by a search."""
        return sum(map(len, self._affordable(self._search(), most)))

    def estimate(self, samples: int, seed: int) -> Estimate:
        """The number of matches, by the share of samples of `among` that pass HAVING."""
        if self._among is None:
            raise PlanError(
                f"the number of matches cannot be estimated, since {self.reasons[0]}:  count()"
                " looks at them one by one"
            )
        return self._among.estimate(samples, seed)

    def sample(
        self, number: int, seed: int, most: int, *, by_confidence: bool = False
    ) -> Iterator[MatchBatch]:
        """Draw independent matches by rank; one further search finds them."""
        bounds = self._sums(most) if by_confidence else None
        total = self.count(most) if bounds is None else len(bounds)
        if number and not total:
            raise SaseError("there is no match to sample")
        random = Random(seed)
        if bounds is None:
            drawn_ranks = [random.randrange(total) for _ in range(number)]
        else:
            points = [random.random() * float(bounds[-1]) for _ in range(number)]
            drawn_ranks = np.searchsorted(bounds, points, side="right").tolist()
        ranks = np.array(drawn_ranks, np.int64)
        order = np.argsort(ranks, kind="stable")
        chosen, begin = list[MatchBatch](), 0
        for part in self.parts():
            for results in part.results:
                low, high = np.searchsorted(ranks[order], [begin, begin + len(results)])
                places = ranks[order[low:high]] - begin
                if len(places):
                    chosen.append(replace(part, results=(results.at(places),)))
                begin += len(results)
        every = tuple(each for part in chosen for each in part.results)
        found = replace(self.nothing, results=every)
        if not every:
            return iter([found])
        values = (np.concatenate(each) for each in zip(*(r.values for r in every), strict=True))
        drawn = Results(found.positions, tuple(values)).at(np.argsort(order, kind="stable"))
        return iter([replace(found, results=(drawn,))])

    def _sums(self, most: int) -> Floats:
        """The cumulative confidences of all matches."""
        found = [confidences_of(each) for each in self._every(most)]
        return np.cumsum(np.concatenate([np.empty(0), *found]))

    def _every(self, most: int) -> Iterator[Results]:
        return (each for part in self._affordable(self.parts(), most) for each in part.results)

    def top(self, number: int, most: int) -> Iterator[MatchBatch]:
        """The matches with the greatest confidences; ties in order."""
        best, waiting, count = list[Results](), list[Results](), 0
        for each in self._every(most):
            waiting.append(each)
            count += len(each)
            if count > MANY:
                best, waiting, count = _likeliest([*best, *waiting], number), [], 0
        best = _likeliest([*best, *waiting], number)
        return iter([replace(self.nothing, results=tuple(best))])

    def first(self, number: int) -> Iterator[MatchBatch]:
        """The first matches in order."""
        for part in self.parts():
            yield part.between(0, number)
            number -= len(part)
            if number <= 0:
                return

    def ends(self, most: int) -> CollapsedForm:
        """The collapsed form."""
        gathered = CollapsedBuilder(len(self.nothing.shape.components))
        for part in self._affordable(self.parts(), most):
            gathered.add(part)
            check_size(len(gathered))
        return gathered.ends()

    def pairs(self, most: int) -> CollapsedForm:
        """The collapsed form by first and final event."""
        gathered = CollapsedBuilder(len(self.nothing.shape.components), by_first=True)
        for part in self._affordable(self.parts(), most):
            gathered.add(part)
            check_size(len(gathered))
        return gathered.pairs()

    def aggregate(
        self, function: Function, level: int, name: str | None, most: int
    ) -> Number | None:
        """An aggregate over the events of a component in all matches together."""
        return listed(function, self._values(level, name, most))

    def _values(self, level: int, name: str | None, most: int) -> Iterator[Number | None]:
        component = self.nothing.shape.components[level]
        for part in self._affordable(self.parts(), most):
            for results in part.results:
                positions, _ = as_bindings(results.positions).of_level(level)
                if name is None:
                    yield from [1] * len(positions)
                else:
                    yield from plain(part.attribute(component, name, positions).to_pylist())

    # ------------------------------------------------------------ the search

    def _affordable(self, parts: Iterator[P], most: int) -> Iterator[P]:
        """The batches, unless their matches exceed the limit."""
        asked = 0 if self._among is None else self._among.count(0)
        if asked > min(most, HOPELESS):
            remedy = spelled(
                ', or have estimate() of the set, output="compressed", say about how'
                " many there are",
                ", or allow more with --max-matches" if asked <= HOPELESS else "",
            )
            raise BudgetError(
                f"{digits(asked)} matches would have to be looked at one by one, more than"
                f" {min(most, HOPELESS):,}, since {self.reasons[0]}: narrow the query{remedy}"
            )
        seen = 0
        for part in parts:
            seen += len(part)
            if seen > most:
                raise BudgetError(
                    f"more than {most:,} matches would have to be looked at one by one, since not"
                    f" all of the query can be counted with: {self.reasons[0]}; narrow the query,"
                    f" or allow more with {spelled('budget= or max_matches=', '--max-matches')}"
                )
            yield part

    def parts(self) -> Iterator[MatchBatch]:
        """All matches in order."""
        for part in self._search():
            assert isinstance(part, MatchBatch), "of events that are held nothing else is found"
            yield part

    def _search(self) -> Iterator[ResultBatch]:
        held, count = list[ResultBatch](), 0
        for part in self._matches.batches():
            count += len(part)
            if self._holds and count <= HELD:
                held.append(part)
            yield part
        if self._holds and count <= HELD:
            self._matches.keep(held)


def confidences_of(results: Results) -> Floats:
    """The confidences of results of imprecise time."""
    likely = likely_of(results.positions)
    assert likely is not None, "time is precise"
    return likely.confidences


def _likeliest(parts: list[Results], number: int) -> list[Results]:
    """The results with the greatest confidences, greatest first."""
    parts = [each for each in parts if len(each)]
    if not parts:
        return []
    confidences = np.concatenate(list(map(confidences_of, parts)))
    order = np.argsort(-confidences, kind="stable")[:number]
    return [Results.merged(parts, order)] if len(order) else []


class CollapsedBuilder:
    """Builds a collapsed form of matches that are examined one by one."""

    def __init__(self, levels: int, *, by_first: bool = False) -> None:
        self._by_first = by_first
        self._pairs = [_Pairs() for _ in range(levels)]
        self._counts: dict[int, int] = {}

    def __len__(self) -> int:
        """The approximate number of list entries."""
        return sum(map(len, self._pairs))

    def add(self, part: MatchBatch) -> None:
        """Add matches."""
        counts = self._counts
        for results in part.results:
            found = as_bindings(results.positions)
            rows = found.last * FIRSTS + found.first if self._by_first else found.last
            for row, number in zip(*np.unique(rows, return_counts=True), strict=True):
                counts[int(row)] = counts.get(int(row), 0) + int(number)
            for level, known in enumerate(self._pairs):
                events, ends = found.of_level(level)
                known.add(np.repeat(rows, ends - begins_of(ends)), events)

    def add_form(self, form: CollapsedForm, levels: Numbers) -> None:
        """Add the form of other matches; `levels` maps their levels."""
        rows = form.positions if form.firsts is None else form.positions * FIRSTS + form.firsts
        for row, number in zip(rows.tolist(), form.counts, strict=True):
            self._counts[row] = self._counts.get(row, 0) + number
        for level, lists in zip(levels.tolist(), form.lists, strict=True):
            self._pairs[level].add(np.repeat(rows, lists.sizes), lists.positions)

    def ends(self) -> CollapsedForm:
        """The collapsed form, in the order of final events."""
        ends = np.array(sorted(self._counts), np.int64)
        by_end = [self._counts[end] for end in ends.tolist()]
        return CollapsedForm(ends, by_end, tuple(known.lists(ends) for known in self._pairs))

    def pairs(self) -> CollapsedForm:
        """The form by final event, then first event."""
        rows = self.ends()
        lasts, firsts = np.divmod(rows.positions, FIRSTS)
        return replace(rows, positions=lasts, firsts=firsts)


class _Pairs:
    """Distinct pairs of a form's row and an event of its matches."""

    def __init__(self) -> None:
        self._pairs = np.empty((2, 0), np.int64)
        self._new: list[Numbers] = []

    def __len__(self) -> int:
        return self._pairs.shape[1]

    def add(self, lasts: Numbers, events: Numbers) -> None:
        """Add pairs."""
        self._new.append(np.stack([lasts, events]))
        if sum(each.shape[1] for each in self._new) > MANY + len(self):
            self._merge()

    def _merge(self) -> None:
        self._pairs = np.unique(np.concatenate([self._pairs, *self._new], axis=1), axis=1)
        self._new = []

    def lists(self, ends: Numbers) -> EventLists:
        """The events of each final event."""
        self._merge()
        cuts = np.searchsorted(self._pairs[0], np.append(ends, np.iinfo(np.int64).max))
        return EventLists(self._pairs[1], np.diff(cuts))
