"""Conditions and values over series, as tables for kernels."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Aggregate, BoundComponent, EquivalenceTest, Part
from sase.cached_property import cached_property
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions import Lowered, lower_terms, make_stack
from sase.engine.expressions.comparisons import (
    NOT_DIRECT,
    BoundAt,
    DirectComparison,
    direct_comparison,
)
from sase.engine.expressions.compiled_aggregates import CompiledAggregate, compiled_aggregate
from sase.engine.expressions.layout import ProgramLayout
from sase.engine.expressions.series import (
    NO_SETS,
    Fills,
    GroupPlace,
    NodeWords,
    SeriesLayout,
    SetWords,
    Term,
    words_read,
)
from sase.engine.kernels.expressions.checks import UNDECLARED
from sase.engine.kernels.expressions.slow_paths import ordered, rounded
from sase.engine.kernels.jit.compiler import address_of
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene import run_nodes as of
from sase.engine.kernels.kleene.predicates import (
    evaluate_condition,
    update_aggregate,
)
from sase.engine.kernels.kleene.run_nodes import Machine, Pattern
from sase.engine.kernels.runs.graph import (
    FIRST_KNOWN,
    OF_FIRST_ITERATION,
    Groups,
    Members,
    RunGraph,
)
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.contract import Context
from sase.engine.operators.programs.machinery import Machinery
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.engine.snapshots.saved_state import Saved

# The automaton of a pattern, and the words of nodes for its groups and for the members of sets.
Automaton: TypeAlias = tuple[RunGraph, Groups, Members]


@dataclass(frozen=True, eq=False)
class SeriesCode:
    """The code of terms by moment, the same for all runs of a plan.

    `ranges` says whether a condition ranges over the events of a series, `asks` whether one needs a
    program. `defined` are the aggregates that users added, `compiled` the functions at their
    addresses. `gates` are the rows of direct comparisons with their moments, `reads` the fills of
    programs with their moments. `confidence` is the word with the confidence of a match, NOTHING if
    it is not read. The `automaton` of finished matches checks nothing on its way.
    """

    tests: tuple[EquivalenceTest, ...]
    attributes: tuple[str, ...]
    tables: Numbers
    lowered: Lowered
    sets: NDArray[np.uint8]
    root: Numbers
    ranges: bool
    asks: bool
    learns: bool
    terms: tuple[object, ...]
    moments: tuple[int, ...]
    gates: tuple[tuple[int, int], ...]
    reads: tuple[tuple[int, Fills], ...]
    compiled: tuple[CompiledAggregate, ...]
    defined: tuple[Aggregate, ...]
    confidence: int
    automaton: Automaton | None

    @classmethod
    def of(
        cls,
        context: Context,
        tests: Sequence[EquivalenceTest],
        terms: Sequence[Term],
        moments: int,
        *,
        of_runs: bool,
        states: PatternStates | None = None,
    ) -> SeriesCode:
        """Lower terms; the event buffer keeps the columns that they read."""
        ordered = sorted(terms, key=lambda term: term.moment)
        base = context.layout([term.term for term in ordered])
        layouts, fills, words = _laid_out(context, ordered, base, len(tests), states)
        components = context.components if states is None else states.flat
        pairs = [(each.term, layout) for each, layout in zip(ordered, layouts, strict=True)]
        lowered, starts = lower_terms(pairs)
        compared = [_compared(each, states) if of_runs else NOT_DIRECT for each in fills]
        compiled = tuple(compiled_aggregate(user) for _, user in words.defined)
        counts = np.bincount([each.moment for each in ordered], minlength=moments)[:moments]
        tables = packed(
            np.stack(pattern_of(components), axis=1),
            np.array([context.keep_test(test) for test in tests], np.int64),
            *_changes(words, len(components), compiled, mixes=base.mixes),
            np.append(0, np.cumsum(counts)),
            *conditions_of(starts, fills, compared),
            np.array(words.columns, np.int64),
            np.array([each.value.value for each in compiled], np.int64),
        )
        first, numbered = int(tables[0, of.CHECKS]), enumerate(zip(ordered, compared, strict=True))
        return cls(
            tuple(tests),
            tuple(context.buffer.attributes),
            tables,
            lowered,
            _sets(words, context.dictionary.type_dictionary.unknown_type + 1),
            _initial(words, len(tests)),
            any(each.loops for each in fills),
            NOT_DIRECT in compared,
            any(kind > of.COUNT for _, kind, *_ in words.changes),
            tuple(each.term for each in ordered),
            tuple(each.moment for each in ordered),
            tuple((term.moment, first + n) for n, (term, other) in numbered if other != NOT_DIRECT),
            tuple((each.moment, fill) for each, fill in zip(ordered, fills, strict=True)),
            compiled,
            tuple(aggregate for aggregate, _ in words.defined),
            words.confidence,
            None if states is None else _automaton(states, ordered, words, of_runs=of_runs),
        )

    def keep(self, context: Context) -> None:
        """Keep in the event buffer the columns that the code reads, in the expected rows."""
        for attribute in self.attributes:
            context.buffer.keep_attribute(attribute)
        for test in self.tests:
            context.keep_test(test)

    def without(self, terms: Container[object]) -> Numbers:
        """The tables without some terms, which are not evaluated."""
        tables = self.tables.copy()
        for row, term in enumerate(self.terms, int(tables[0, of.CHECKS])):
            if term in terms:
                tables[row, of.PLAIN] = of.NOT_ASKED
        return frozen(tables)

    def gate(self, level: int) -> int:
        """The row of the first direct comparison at a further event of a level."""
        return next(
            (row for moment, row in self.gates if moment == of.MOMENTS * level + of.TAKE), NOTHING
        )

    def comparison(self, row: int) -> tuple[int, str]:
        """The accepted orders of a direct comparison, and the attribute of the new event."""
        accepted, column = self.tables[row, of.PLAIN : of.PLAIN + 2].tolist()
        return accepted, self.attributes[column]

    def compared_part(self, row: int) -> Part | None:
        """The event that a further event is compared with in its series, if by one attribute."""
        _, column, source, _, other, _ = self.tables[row, of.PLAIN :].tolist()
        parts = {of.EVENT_BEFORE: Part.PREVIOUS, of.KNOWN_EVENT: Part.FIRST}
        return parts.get(source) if column == other else None

    def still_read(self, moments: Container[int]) -> list[int]:
        """The columns of nodes that the tests and the conditions of some moments read."""
        found = set(range(len(self.tests)))
        for moment, fill in self.reads:
            if moment in moments:
                assert not fill.loops, "a condition that ranges over events reads every node"
                found |= {word for row in fill.rows for word in words_read(row)}
        return [of.HEAD + word for word in sorted(found)]


class SeriesProgram:
    """Terms by moment, equivalence tests decided event by event, and the node layout of both."""

    def __init__(
        self,
        context: Context,
        tests: Sequence[EquivalenceTest],
        terms: Sequence[Term],
        moments: int,
        *,
        of_runs: bool = False,
        states: PatternStates | None = None,
    ) -> None:
        self._context, self._states = context, states
        # The columns kept so far determine those of the rest.
        kept = tuple(context.buffer.attributes), tuple(key.tests for key in context.buffer.keys)
        self.code = context.cached(
            (tuple(tests), tuple(terms), moments, of_runs, states, kept),
            lambda: SeriesCode.of(context, tests, terms, moments, of_runs=of_runs, states=states),
        )
        self.code.keep(context)
        self.stack = make_stack(self.code.lowered.depth, len(self.code.defined))
        context.watch(dict(self.code.lowered.arithmetic), self.stack)
        context.watch_aggregates(self.code.defined, self.stack)
        self.width = len(self.code.root)

    def machine(self) -> Machine:
        """The current arrays."""
        return self._machinery.machine(self._context)

    @cached_property
    def _machinery(self) -> Machinery:
        """The constant parts of machines."""
        code, fills = self.code, [fill for _, fill in self.code.reads]
        return Machinery(
            evaluate_condition if code.asks else None,
            update_aggregate if code.learns else None,
            code.tables,
            code.sets,
            code.lowered.program,
            self.stack,
            rows=max([each.size for each in fills], default=1) + 1,
            cursors=2 + max([len(each.loops) for each in fills], default=0),
        )

    @property
    def cursors(self) -> Numbers:
        """The cursors of running conditions; the last is for the given iteration."""
        return self._machinery.cursors

    def check_values(self, saved: Saved, nodes: Numbers) -> None:
        """Check the least and greatest values in nodes of a checkpoint."""
        names, tables = list(self._context.buffer.attributes), self.code.tables
        for kind, word, column, *_ in tables[
            tables[0, of.CHANGES] : tables[0, of.MOMENTS_AT]
        ].tolist():
            if kind in (of.LEAST, of.MOST):
                tags, values = nodes[:, of.HEAD + word], nodes[:, of.HEAD + word + 1]
                saved.live.check_values(saved, names[column], tags, values)

    def cells(self, nodes: int) -> Numbers:
        """Memory for nodes; the first is the root."""
        cells = np.zeros((nodes, self.width), np.int64)
        cells[of.ROOT] = self.code.root
        if self._states is not None and self._states.members is not None:
            self._states.members.prepare(cells[of.ROOT])
        return cells

    @property
    def automaton(self) -> Automaton:
        """The automaton of the pattern."""
        assert self.code.automaton is not None
        return self.code.automaton


def _laid_out(
    context: Context,
    terms: Sequence[Term],
    base: ProgramLayout,
    tests: int,
    states: PatternStates | None,
) -> tuple[list[SeriesLayout], list[Fills], NodeWords]:
    """A layout and fills for each term, and the words of nodes."""
    levels = {each.index: context.level_of(each.index) for each in context.components}
    words, groups, sets = NodeWords(tests), dict[int, GroupPlace](), NO_SETS
    if states is not None:
        words, groups, members = NodeWords(states.words), states.places, states.members
        levels = states.numbers if groups else levels
        if members is not None:
            sets = SetWords(members.entries, members.element_of, members.before)
    fills = [Fills(term, levels, words, base, groups, sets) for term in terms]
    return [SeriesLayout.over(base, fills=each) for each in fills], fills, words


def _automaton(
    states: PatternStates, ordered: Sequence[Term], words: NodeWords, *, of_runs: bool
) -> Automaton:
    fresh = frozen(np.array(words.fresh, np.int64).reshape(-1, 3))
    awaited = frozen(np.array([each.awaited for each in ordered], np.int64))
    members = Members(awaited, NOTHING if states.members is None else states.members.at)
    graph = states.graph({each.moment for each in ordered} if of_runs else ())
    return graph, Groups(fresh, states.at), members


def _compared(fills: Fills, states: PatternStates | None) -> DirectComparison:
    """The comparison of an event with earlier values; at the end of a series there is no event."""
    moment = fills.term.moment
    at: BoundAt | None = BoundAt(*divmod(moment, of.MOMENTS))
    if states is not None:
        at = states.binding_at(moment)
    if at is None or at.moment == of.FINISH:
        return NOT_DIRECT
    return direct_comparison(fills.term.term, fills, at)


def _initial(words: NodeWords, tests: int) -> Numbers:
    """The words of the root."""
    root = np.zeros(of.HEAD + words.width, np.int64)
    root[of.LEVEL] = NOTHING
    root[of.HEAD : of.HEAD + tests] = UNDECLARED
    for _, kind, word, _, _ in words.changes:
        if kind in (of.FIRST_EVENT, of.LAST_EVENT, FIRST_KNOWN, OF_FIRST_ITERATION):
            root[of.HEAD + word] = NOTHING
    return root


def _sets(words: NodeWords, types: int) -> NDArray[np.uint8]:
    """The types that lack an attribute, by attribute that may be undeclared."""
    found = np.zeros((len(words.lacking), types), np.uint8)
    for row, (_, _, codes) in enumerate(words.lacking):
        found[row, sorted(codes)] = 1
    return frozen(found)


def pattern_of(components: Sequence[BoundComponent]) -> Pattern:
    """The least and the most events of each level, and whether it is a series."""
    most = [NOTHING if each.maximum is None else each.maximum for each in components]
    columns = [each.minimum for each in components], most, [not c.is_single for c in components]
    return Pattern(*(frozen(np.array(column, np.int64)) for column in columns))


def packed(*tables: NDArray[Any]) -> Numbers:
    """Join tables to one, under a row with their begins."""
    rows = [np.asarray(table, np.int64) for table in tables]
    rows = [table.reshape(-1, 1) if table.ndim == 1 else table for table in rows]
    found = np.zeros((1 + sum(map(len, rows)), of.TABLE_WIDTH), np.int64)
    begin = 1
    for number, table in enumerate(rows):
        found[0, number] = begin
        found[begin : begin + len(table), : table.shape[1]] = table
        begin += len(table)
    return frozen(found)


class _Program(Protocol):
    """The fills and loops of a program."""

    @property
    def rows(self) -> Sequence[tuple[int, ...]]:
        """Rows of source and target."""

    @property
    def loops(self) -> Sequence[tuple[int, ...]]:
        """Levels, and whether the first event is exempt."""


def conditions_of(
    starts: Sequence[int], programs: Sequence[_Program], compared: Sequence[DirectComparison] = ()
) -> tuple[Numbers, Numbers, Numbers]:
    """The begin, the loops, the fills, and the direct comparison of each program."""
    checks, loops, rows = list[list[int]](), list[tuple[int, ...]](), list[tuple[int, ...]]()
    compared = compared or [NOT_DIRECT] * len(programs)
    for start, each, other in zip(starts, programs, compared, strict=True):
        begin, first = len(loops), len(rows)
        loops += each.loops
        rows += each.rows
        checks.append([start, begin, len(loops), first, len(rows), *other])
    return (
        np.array(checks, np.int64).reshape(-1, of.TABLE_WIDTH),
        np.array(loops, np.int64).reshape(len(loops), -1 if loops else 0),
        np.array(rows, np.int64).reshape(len(rows), -1 if rows else 0),
    )


def _changes(
    words: NodeWords, levels: int, compiled: Sequence[CompiledAggregate], *, mixes: bool
) -> tuple[Numbers, Numbers]:
    """Lower the changes of each level; only if it `mixes`, compile kernels for scaled values."""
    calls = {of.SUM: rounded, of.SPREAD: rounded, of.LEAST: ordered, of.MOST: ordered}
    called = calls if mixes else {}
    changes = sorted(words.changes, key=lambda change: change[0])
    counts = np.bincount([change[0] for change in changes], minlength=levels)[:levels]
    kinds = {change[1] for change in changes}
    addresses = {kind: address_of(called[kind]) for kind in kinds & called.keys()}
    addresses |= {of.DEFINED + n: each.step.value for n, each in enumerate(compiled)}
    rows = [(*change[1:], addresses.get(change[1], 0)) for change in changes]
    table = np.array(rows, np.int64).reshape(-1, 5)
    return np.append(0, np.cumsum(counts)).astype(np.int64), table
