"""Near misses: what a query finds without one part, and that part alone stops; nearest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.binding import BoundQuery
from sase.binding.bound import Column, Condition, Reference, WindowKind
from sase.binding.parts import references
from sase.binding.types import TIMES
from sase.binding.types import Kind as ValueKind
from sase.diagnostics.why_not.alternatives import number_text, quoted
from sase.diagnostics.why_not.candidates import Attributes
from sase.diagnostics.why_not.distance import (
    compared,
    distance,
    measured,
    scale,
    span_text,
    time_text,
)
from sase.diagnostics.why_not.query_parts import Kind, Part, without
from sase.diagnostics.why_not.relaxation import (
    as_positive,
    differing,
    keys_of,
    opposite,
    with_condition,
)
from sase.diagnostics.why_not.search import Search
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.bindings import Bindings
from sase.engine.operators.contract import size_of, span_of
from sase.engine.operators.transformation import Results

Numbers: TypeAlias = NDArray[np.int64]
Reals: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
# Which results are misses; by how much, as a share of what was asked for, and absolutely.
Rating: TypeAlias = Callable[[Results], tuple[Mask, Reals, Reals]]
# A miss without a measure counts as one by a whole window, or by as much as the value itself; to
# agree in nothing is less of a miss still.
WHOLE, APART = 1.0, 2.0
# Windows that are tried one after the other, as multiples; at last none.
WIDER = (2, 10, 100)
LONGEST = 2**63 - 1
EXACTLY = "by the last instant: a window is less than its length"
# Matches among which those with two reasons are told from those with one.
LOOKED_UP = 1 << 16


@dataclass(frozen=True, eq=False)
class Misses:
    """Those that one part stops, nearest first: the query that finds them, and their positions.

    `shares` are the misses relative to what was asked for, NaN where there is no measure; `by` says
    what was there instead and by how much it missed.
    """

    part: Part
    query: BoundQuery
    positions: Numbers | Bindings
    shares: Reals
    by: tuple[str, ...]


class NearMisses:
    """Finds the near misses of each part of a query."""

    def __init__(self, query: BoundQuery, search: Search, attributes: Attributes, near: int):
        self.query, self.search, self.attributes, self.near = query, search, attributes, near
        self._names = {each.index: each.variable for each in query.components}

    def of(self, part: Part) -> Misses | None:
        """Those that a part stops; None where that cannot be told."""
        relaxed = without(self.query, [part])
        match part.kind:
            case Kind.WINDOW:
                return self._outside(part, relaxed)
            case Kind.NEGATION:
                return self._forbidden(part, relaxed)
            case Kind.TEST:
                return self._disagreeing(part, relaxed)
            case Kind.HAVING:
                assert self.query.having is not None
                return self._failing(part, relaxed, self.query.having)
            case Kind.OWN | Kind.RELATION:
                return self._failing(part, relaxed, self.query.conjuncts[part.number].condition)
        return None

    # ------------------------------------------------------------ the kinds of parts

    def _outside(self, part: Part, relaxed: BoundQuery) -> Misses | None:
        window = self.query.window
        assert window is not None
        size, most = size_of(window), span_of(window)
        if len(self.query.positives) < 2:
            return None
        of_each = measured(window, self.query, self.attributes)

        def rate(results: Results) -> tuple[Mask, Reals, Reals]:
            spans = of_each[results.last] - of_each[results.first]
            by = (spans - size).astype(np.float64)
            return spans > most, by / size, by

        for factor in (*WIDER, None):
            # What lies beyond a wider window is further away than all that lies in it.
            wider = replace(window, size=min(size * factor, LONGEST)) if factor else None
            found, by = self._nearest(replace(relaxed, window=wider), rate, is_measured=True)
            if len(found) == self.near or not self.search.is_whole:
                break
        text = [
            f"by {span_text(int(each), window, self.search.schema)}" if each else EXACTLY
            for each in by
        ]
        return Misses(part, relaxed, found.matrix, by / size, tuple(text))

    def _forbidden(self, part: Part, relaxed: BoundQuery) -> Misses:
        # With its event in the match those of other negative components in the same gap would have
        # less room: whether they forbid the match too is asked of the query without it.
        others = self._beside(part)
        query = as_positive(without(self.query, others), part.number)
        allowed = self._first(relaxed) if others else None
        level = [each.index for each in query.positives].index(part.number)
        found, count = np.empty((len(query.positives), 0), np.int64), 0
        for results in self.search.results(query):
            positions = results.matrix
            if allowed is not None:
                rows = _as_rows(np.delete(positions, level, axis=0))
                positions = positions[:, np.isin(rows, allowed)]
            found = np.concatenate([found, positions], axis=1)
            count += len(results)
            # Several events may forbid the same match: one is shown.
            _, first = np.unique(np.delete(found, level, axis=0), axis=1, return_index=True)
            found = found[:, np.sort(first)[: self.near]]
            if found.shape[1] == self.near or self.search.is_enough(count):
                break
        shares = np.full(found.shape[1], np.nan)
        return Misses(part, query, found, shares, ("",) * found.shape[1])

    def _beside(self, part: Part) -> list[Part]:
        """The other negative components between the same positive ones."""
        gaps, gap = dict[int, int](), 0
        for component in self.query.components:
            gap += not component.negated
            gaps[component.index] = gap
        return [
            Part(Kind.NEGATION, each.index, "")
            for each in self.query.negatives
            if gaps[each.index] == gaps[part.number] and each.index != part.number
        ]

    def _first(self, query: BoundQuery) -> NDArray[np.void]:
        """The first matches of a query as rows to be looked up."""
        found, count = [np.empty((len(query.positives), 0), np.int64)], 0
        for results in self.search.results(query):
            found.append(results.matrix)
            count += len(results)
            if count >= LOOKED_UP:
                break
        return _as_rows(np.concatenate(found, axis=1))

    def _disagreeing(self, part: Part, relaxed: BoundQuery) -> Misses | None:
        test = self.query.equivalences[part.number]
        if test.value is None and len(self.query.components) == 1:
            return None  # an event alone agrees with itself
        if test.value is not None:
            condition = differing(test, self.query)
            query = with_condition(relaxed, condition, self.search.schema)
            found, _ = self._nearest(query, _unmeasured, is_measured=False)
        else:
            query, of_each = relaxed, self.attributes.codes([test])

            def rate(results: Results) -> tuple[Mask, Reals, Reals]:
                codes, (_, shares, by) = of_each[results.matrix], _unmeasured(results)
                known = np.where(codes >= 0, codes, codes.max(axis=0))
                return (codes == NOTHING).any(axis=0) | (np.ptp(known, axis=0) > 0), shares, by

            found, _ = self._nearest(query, rate, is_measured=False)
        text = self._values(list(keys_of(test, self.query)), found)
        return Misses(part, query, found.matrix, np.full(len(found), np.nan), tuple(text))

    def _failing(self, part: Part, relaxed: BoundQuery, condition: Condition) -> Misses:
        values = compared(condition)
        asked = with_condition(relaxed, opposite(condition), self.search.schema)
        columns = tuple(Column(f"#{n}", each) for n, each in enumerate(values))
        unit = self._unit(values[0].type.kind) if values else None

        def rate(results: Results) -> tuple[Mask, Reals, Reals]:
            given = list(results.values)
            with np.errstate(invalid="ignore", over="ignore"):  # what is infinite has no share
                by = distance(condition, given)
                beside = scale(given) if unit is None else np.full(len(by), unit)
                shares = np.divide(by, beside, out=np.zeros(len(by)), where=beside != 0)
            return np.ones(len(by), np.bool_), shares, by

        query = replace(asked, columns=columns) if values else asked
        found, by = self._nearest(query, rate if values else _unmeasured, is_measured=bool(values))
        shares = rate(found)[1] if values else np.full(len(found), np.nan)
        read = list(dict.fromkeys(e for e in references(condition) if isinstance(e, Reference)))
        text = self._values(read, found)
        if values:
            ends = [self._by(each, values[0].type.kind) for each in by]
            text = [f"{each}{end}" for each, end in zip(text, ends, strict=True)]
        return Misses(part, replace(asked, columns=None), found.matrix, shares, tuple(text))

    # ------------------------------------------------------------ what they share

    def _nearest(
        self, query: BoundQuery, rate: Rating, *, is_measured: bool
    ) -> tuple[Results, Reals]:
        """The nearest of what a query finds; without a measure the first."""
        kept: list[Results] = []
        shares, by, count = np.empty(0), np.empty(0), 0
        for results in self.search.results(query):
            count += len(results)
            is_miss, share, each = rate(results)
            kept.append(results.at(is_miss))
            shares, by = np.append(shares, share[is_miss]), np.append(by, each[is_miss])
            together = _together(kept)
            order = np.argsort(np.nan_to_num(shares, nan=WHOLE), kind="stable")[: self.near]
            kept = [together.at(order)]
            shares, by = shares[order], by[order]
            if not is_measured and len(order) == self.near:
                break
            if self.search.is_enough(count):
                break
        if not kept:
            levels, columns = len(query.positives), len(query.columns or ())
            empty = np.empty((levels, 0), np.int64)
            kept = [Results(empty, (np.empty((0, 2), np.int64),) * columns)]
        return kept[0], by

    def _unit(self, kind: ValueKind) -> float | None:
        """The seconds beside which a time is large or small: those of the window, if there is one.

        None for numbers.
        """
        if kind not in TIMES:
            return None
        window, unit = self.query.window, self.search.schema.nanoseconds
        if window is None or window.kind is not WindowKind.TIME or unit is None:
            return float("nan")
        return size_of(window) * unit / 1e9

    def _by(self, by: float, kind: ValueKind) -> str:
        if np.isnan(by):
            return ""
        return f": by {time_text(round(by * 1e9)) if kind in TIMES else f'{by:.6g}'}"

    def _values(self, read: Sequence[Reference], found: Results) -> list[str]:
        """What events have instead, as text."""
        levels = [each.index for each in self.query.positives]
        columns = [self._texts(each, found.matrix[levels.index(each.component)]) for each in read]
        return [
            ", ".join(
                f"{self._names[each.component]}.{each.attribute} is {column[row]}"
                for each, column in zip(read, columns, strict=True)
            )
            for row in range(len(found))
        ]

    def _texts(self, reference: Reference, positions: Numbers) -> list[str]:
        column = self.attributes.encoded(reference.attribute, positions)
        if column is not None:
            texts = (column.dictionary[n].as_py() if n >= 0 else None for n in column.values)
            return ["NULL" if text is None else quoted(text) for text in texts]
        lane = self.attributes.lane(reference.attribute, positions)
        tags = np.broadcast_to(lane.tag, len(positions)).tolist()
        valid = [True] * len(positions) if lane.valid is None else lane.valid.tolist()
        kind = reference.type
        found = []
        for value, tag, is_known in zip(lane.values.tolist(), tags, valid, strict=True):
            if not is_known:
                found.append("NULL")
            elif kind.kind is ValueKind.STRING:
                found.append(quoted(self.attributes.text_of(value) or ""))
            elif kind.kind is ValueKind.BOOLEAN:
                found.append(str(bool(value)).upper())
            else:
                found.append(number_text(tag, value, kind))
        return found


def ranked(misses: Sequence[Misses], near: int) -> list[tuple[int, int]]:
    """The nearest of all: the number of a part's misses, and the place in them."""
    places = [
        (share, place, number)
        for number, each in enumerate(misses)
        for place, share in enumerate(_ranked(each.shares, each.part.kind).tolist())
    ]
    return [(number, place) for _, place, number in sorted(places)[:near]]


def _ranked(shares: Reals, kind: Kind) -> Reals:
    return np.where(np.isnan(shares), APART if kind is Kind.TEST else WHOLE, shares)


def _as_rows(positions: Numbers) -> NDArray[np.void]:
    """Matches as values that can be compared."""
    rows = np.ascontiguousarray(positions.T)
    return rows.view([(f"f{n}", np.int64) for n in range(rows.shape[1])]).ravel()


def _unmeasured(results: Results) -> tuple[Mask, Reals, Reals]:
    nothing = np.full(len(results), np.nan)
    return np.ones(len(results), np.bool_), nothing, nothing


def _together(results: Sequence[Results]) -> Results:
    positions = np.concatenate([each.positions for each in results], axis=1)
    columns = zip(*(each.values for each in results), strict=True)
    return Results(positions, tuple(np.concatenate(each) for each in columns))
