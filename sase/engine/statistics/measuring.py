"""Measure statistics on a sample of a query's input: events of types, and attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sase.binding.bound import BoundComponent, EquivalenceTest
from sase.binding.conditions.parts import references
from sase.binding.types import Kind
from sase.engine.columns import EventColumn, Events
from sase.engine.columns.arrays import Numbers, TypeCodes
from sase.engine.statistics.agreements import agreements
from sase.engine.statistics.distinct import agreeing, distinct, occurrences
from sase.engine.statistics.population import Population, Tests, conjuncts
from sase.engine.statistics.sampling import draw_sample
from sase.engine.statistics.selectivities import selectivities
from sase.planning.engine_plan import EnginePlan
from sase.planning.split import window_of
from sase.planning.statistics import (
    ALL_EVENTS,
    Admission,
    AttributeStatistics,
    Statistics,
    TypeStatistics,
)

# ---------------------------------------------------------------- attributes

NUMERIC = (Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL)
STEPS = 10
# Types measured for a component that admits all.
MOST_TYPES = 20
# Types with fewer sampled rows are counted among all events, PIECE at a time.
HARDLY, PIECE = 16, 1 << 16


def by_type(population: Population, tests: Tests, events: Events) -> tuple[TypeStatistics, ...]:
    """Measure each type in the scattered rows of a sample.

    Rare types of the query are counted among all events, since a plan may start from them.
    """
    sample = population.sample
    names, codes = sample.events.type_names, sample.events.types[: sample.scattered]
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    wanted = _wanted(population.components, names, counts)
    measuring = _AttributeSample(population, tests)
    rows = np.round(counts / sample.part).astype(np.int64)
    if not sample.is_all:
        for code in wanted:
            if counts[code] < HARDLY:
                rows[code] = _count(events.types, code)
    return tuple(
        TypeStatistics(
            names[code],
            int(rows[code]),
            tuple(measuring.of(code)) if code in wanted and counts[code] else (),
        )
        for code in np.flatnonzero(rows).tolist()
    )


def _count(types: TypeCodes, code: int) -> int:
    """Count the events of a type piece by piece, so that intermediate data stay in the cache."""
    pieces = range(0, len(types), PIECE)
    return sum(int(np.count_nonzero(types[at : at + PIECE] == code)) for at in pieces)


def _wanted(
    components: Sequence[BoundComponent], names: Sequence[str], counts: Numbers
) -> set[int]:
    """The types of the query's components; for those that admit all, the most frequent."""
    found: set[int] = set()
    for component in components:
        if component.types is None:
            found.update(np.argsort(-counts, kind="stable")[:MOST_TYPES].tolist())
        else:
            found.update(code for code, name in enumerate(names) if name in component.types)
    return found


class _AttributeSample:
    """The scattered rows of a population by type, and the codes of their attributes."""

    def __init__(self, population: Population, tests: Tests) -> None:
        self._population, self._known = population, population.coding.type_dictionary
        self._events = population.sample.events
        self._tests = {t.attribute: t for t in tests if t.value is None and not t.attributes}
        rows = population.scattered
        types = self._events.types[population.block.places[rows]]
        # Sorted by type, then sample order, so that each type is a slice.
        order = np.argsort(types, kind="stable")
        self._rows, self._types = rows[order], types[order]

    def of(self, code: int) -> Iterator[AttributeStatistics]:
        """Measure the attributes that a type declares."""
        begin, end = np.searchsorted(self._types, [code, code + 1])
        name = self._events.type_names[code]
        known = self._known.codes.get(name, self._known.unknown_type)
        for attribute in self._population.plan.attributes:
            declared = self._known.declare(attribute)
            has_it = attribute in self._events.columns or (name, attribute) in self._events.by_type
            if has_it and (declared is None or declared[known]):
                column = self._events.column(attribute, name)
                yield self._of(attribute, column, self._rows[begin:end])

    def _of(self, name: str, column: EventColumn, rows: Numbers) -> AttributeStatistics:
        # Equal for equal values, negative for NULL.
        test = self._tests.get(name) or EquivalenceTest(name, None, column.type, ())
        codes = np.sort(self._population.codes((test,))[rows])
        nulls = int(np.searchsorted(codes, 0))
        counts = occurrences(codes[nulls:])
        return AttributeStatistics(
            name,
            nulls / len(codes),
            distinct(counts, self._population.sample.part),
            agreeing(counts),
            _quantiles(column.take(self._population.block.places[rows])),
            column.plain,
        )


def _quantiles(column: EventColumn) -> tuple[float, ...]:
    """Return the least and greatest number, and those at equal steps between."""
    if column.type.kind not in NUMERIC:
        return ()
    values = np.sort(column.values if column.valid is None else column.values[column.valid])
    if not len(values):
        return ()
    places = np.linspace(0, len(values) - 1, STEPS + 1).round().astype(np.int64)
    scale = 10.0 ** (column.type.scale or 0)
    return tuple((values[places] / scale).tolist())


# ---------------------------------------------------------------- measuring

SAMPLE = 20_000


def measured(
    plan: EnginePlan,
    events: Events,
    *,
    tests: Sequence[EquivalenceTest] | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
) -> Statistics:
    """Measure statistics of loaded events, for a query by its basic plan.

    About `sample` rows are drawn, or all if there are no more. The cost depends on the sample, not
    on the number of events, except for rare types, which are counted among all. `tests` are the
    scan's unless others are given.
    """
    if not len(events):
        return Statistics(0, source=ALL_EVENTS)
    rng = np.random.default_rng(seed)
    tests = plan.scan.tests if tests is None else tuple(tests)
    named = (each.attribute for c in conjuncts(plan) for each in references(c.condition))
    texts = {name for name in named if name is not None}
    rows = draw_sample(events, window_of(plan.operators), sample, rng, texts)
    population = Population(plan, rows, tests)
    return Statistics(
        rows=len(events) + events.left_out,
        first=int(events.ts[0]),
        last=int(events.ts[-1]),
        types=by_type(population, tests, events),
        admissions=tuple(
            Admission(component.variable, share)
            for component in population.components
            if (share := population.admission(component)) is not None
        ),
        agreements=tuple(agreements(population, tests, rng)),
        selectivities=tuple(selectivities(population, tests, rng)),
        source=ALL_EVENTS if rows.is_all else "a sample",
        sampled=len(events) if rows.is_all else len(rows.events),
    )
