"""The public function that runs a pattern under each strategy and compares the matches."""

from __future__ import annotations

import time as clocks
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from sase.api.checks import check_output, limits_of
from sase.api.compiled_query import CompiledQuery, compile_query
from sase.api.execution import run
from sase.api.plan import DEFAULT_PLAN
from sase.base.interface import option
from sase.binding import BoundQuery
from sase.binding.input_options import InputKeywords, InputOptions, takes_input_options
from sase.engine.pipeline.limits import Limits
from sase.engine.sources.discovered import Discovered
from sase.errors import (
    BudgetError,
    BudgetWarning,
    MemoryLimitError,
    PlanError,
    TimeLimitError,
)
from sase.lang.ast import STRATEGIES, Query, Strategy, StrategyName
from sase.lang.parser import parse_query
from sase.lang.printer import to_text

if TYPE_CHECKING:
    from sase.diagnostics.strategies.comparison import (
        Comparison,
        Difference,
        EndedBy,
        StrategyResult,
    )
    from sase.engine.report import Report
    from sase.engine.results.matches import Matches

# The number of matches of a strategy up to which they are counted.
MOST = 1_000_000
# Rows and matches of a small input, and the number of its matches that are shown.
FEW_ROWS, HELD, SHOWN = 1_000, 20_000, 10
QUICK = 1.0
NO_PARTITIONS = (
    "partition_contiguity is left out: the query has no equivalence test such as [id], by which"
    " events would be of one partition"
)
ADDED = "the matches that each strategy adds"
TOO_LARGE = f"there are too many events to hold, so {ADDED} are not shown"
NOT_TOLD = "the added matches are not shown"
NOT_TOLD_OF = f"{ADDED} are not shown for"
# From this multiple of the matches of skip till next match on, combinations are many.
MANY_COMBINATIONS = 100
LONGEST = (
    "most matches of skip_till_any_match are combinations of the same events: to find each longest"
    " run once, write  earliest_maximal  with a window, and ask for"
)
NO_LIMIT = "LIMIT is left out: each strategy has other first matches"


@takes_input_options
def compare(
    query: str,
    events: object,
    *,
    outputs: Sequence[str] = ("all",),
    show: int | None = None,
    max_matches: int = MOST,
    timeout: object = None,
    max_memory: object = None,
    clock: Callable[[], float] = clocks.perf_counter,
    params: Mapping[str, object] | None = None,
    plan: str = DEFAULT_PLAN,
    **options: Unpack[InputKeywords],
) -> Comparison:
    """Compare the matches and the run time of a pattern under each of the four strategies.

    Each strategy in turn replaces the strategy of the query. `outputs` are the forms of results to
    count. If the events are few, or if `show` is given, the comparison lists up to `show` matches
    of each strategy that a stricter strategy does not have, each with the reason. It does not count
    more than `max_matches` matches of a strategy. `timeout` and `max_memory` limit each run. If a
    limit ends a run, the number of matches is reported as "more than" the number found so far. The
    other keywords are those of `match`.

    Examples:
        >>> events = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "A"}, {"ts": 3, "type": "B"}]
        >>> comparison = sase.compare("EVENT SEQ(A a, B b)", events)
        >>> [(each.strategy, each.matches) for each in comparison.measured]
        [('strict_contiguity', 1), ('skip_till_next_match', 2), ('skip_till_any_match', 2)]
    """
    if max_matches < 1 or (show is not None and show < 0):
        raise PlanError("max_matches is positive, and show is not negative")
    for output in outputs:
        check_output(output)
    limits = limits_of(timeout, max_memory)
    source = Discovered.of(events, InputOptions(**options))
    # The query is bound without changes first, so that errors quote its own text.
    own = compile_query(query, source, params=params, plan=plan)
    if own.bound.confidence is not None:
        such = option("time", source.schema.time)
        raise PlanError(
            "strategies are compared, and with imprecise time there is one, skip_till_any_match:"
            f" name the time that the others are to go by, as in  {such}"
        )
    return _Strategies(own, clock, limits).comparison(outputs, show, max_matches)


class _Strategies:
    """A query under each possible strategy."""

    def __init__(self, own: CompiledQuery, clock: Callable[[], float], limits: Limits) -> None:
        self.limits = limits
        tree, self.source, self.clock = parse_query(own.query), own.source, clock
        has_partitions = bool(own.bound.equivalences)
        self.queries = {
            each: own if with_strategy(tree, each) == tree else own.of_text(under(tree, each))
            for each in dict.fromkeys((*STRATEGIES, own.bound.strategy))
            if has_partitions or each is not StrategyName.PARTITION_CONTIGUITY
        }
        self.beyond = next(_beyond(own.bound), None)
        self.notes = [] if has_partitions else [NO_PARTITIONS]
        self.notes += [] if tree.limit is None else [NO_LIMIT]
        self.of_query = [each.sentence for each in own.bound.warnings]
        self.warnings = list[str]()
        self.rows = 0

    def comparison(self, outputs: Sequence[str], show: int | None, most: int) -> Comparison:
        """Run every strategy and compare the results."""
        from sase.diagnostics.strategies.comparison import Comparison, show_option

        measured = [self._measured(s, each, most) for s in self.queries for each in outputs]
        if self._combines(measured):
            self.notes.append(f"{LONGEST}  {option('output', 'non_overlap')}")
        differences: tuple[Difference, ...] = ()
        if self.beyond is not None:
            self.notes.append(f"{NOT_TOLD_OF} {self.beyond}")
        elif show is None and self.rows > FEW_ROWS:
            self.notes.append(f"{ADDED} are shown for few events, or with  {show_option()}")
        else:
            # A strategy with too many matches to count has too many to compare.
            ended = {each.strategy for each in measured if each.ended is not None}
            differences = self._differences(SHOWN if show is None else show, ended)
        notes = (*self.of_query, *self.warnings, *self.notes)
        return Comparison(self.rows, tuple(measured), differences, notes)

    def _combines(self, measured: Sequence[StrategyResult]) -> bool:
        """Whether few events make very many matches, and a longest run can replace them."""
        found = {each.strategy: each.matches for each in measured if each.output == "all"}
        few = found.get(StrategyName.SKIP_TILL_NEXT_MATCH.value, 0)
        many = found.get(StrategyName.SKIP_TILL_ANY_MATCH.value, 0)
        components = self.queries[StrategyName.SKIP_TILL_ANY_MATCH].bound.components
        return (
            0 < few * MANY_COMBINATIONS <= many
            and any(each.is_series for each in components)
            and not any(each.group is not None for each in components)
        )

    def _measured(self, strategy: StrategyName, output: str, most: int) -> StrategyResult:
        """Run a strategy; run it again if kernels were compiled, or if the run is short."""
        from sase.diagnostics.strategies.comparison import StrategyResult
        from sase.engine.kernels.jit.compiler import compilations

        with warnings.catch_warnings():
            # The comparison itself reports too many matches.
            warnings.simplefilter("ignore", BudgetWarning)
            query = self.queries[strategy].returning(output)
            matches = run(query, max_matches=most, limits=self.limits)
        while True:
            before = compilations()
            found, seconds, outcome = self._counted(matches)
            if compilations() == before:
                break
        if seconds < QUICK:
            # The first run also reads compiled kernels from the disk.
            seconds = min(seconds, self._counted(matches)[1])
        ended, report = None, None
        if isinstance(outcome, BudgetError):
            ended = _bound(outcome, found, most)
            if ended in ("time", "memory"):
                self.notes.append(f"{strategy.value}: {outcome}")
        else:
            report = outcome
            self.rows = max(self.rows, report.rows)
            self._note(strategy, report)
        return StrategyResult(
            strategy=strategy.value,
            output=output,
            matches=found,
            ended=ended,
            seconds=seconds,
            runs=None if report is None else _runs(report),
        )

    def _note(self, strategy: StrategyName, report: Report) -> None:
        """Note the warnings of the first run; other strategies give the same warnings."""
        if not self.warnings:
            of_query = {each.sentence for each in self.queries[strategy].bound.warnings}
            self.warnings = [each for each in report.warnings if each not in of_query]

    def _counted(self, matches: Matches) -> tuple[int, float, Report | BudgetError]:
        """Count matches and seconds until the search ends, with its report or its error."""
        found = 0

        def count(number: int) -> None:
            nonlocal found
            found = number

        begin = self.clock()
        try:
            outcome: Report | BudgetError = matches.first(0, count).report
        except BudgetError as problem:
            outcome = problem
        return found, self.clock() - begin, outcome

    def _differences(self, show: int, ended: set[str]) -> tuple[Difference, ...]:
        """The differences between adjacent strategies; notes name those with too many matches."""
        from sase.diagnostics.strategies.comparison import Differences, FoundMatches, runs_of

        strictest = self.queries[StrategyName.STRICT_CONTIGUITY]
        known = Differences(strictest.bound, strictest.unoptimized, self.source.events, show)
        if not known.is_known:
            self.notes.append(TOO_LARGE)
            return ()
        found = []
        for strategy, query in self.queries.items():
            matches = None
            if strategy.value not in ended:
                matches = run(query.returning("all", HELD + 1), limits=self.limits)
            if matches is None or len(matches) > HELD:
                self.notes.append(f"{strategy.value} has too many matches: {NOT_TOLD}")
            else:
                found.append(FoundMatches(strategy, matches, runs_of(matches)))
        return tuple(known.between(found))


def _beyond(query: BoundQuery) -> Iterator[str]:
    """The features of a query for which strategies are not compared."""
    if query.strategy not in STRATEGIES:
        yield query.strategy.value


def _bound(problem: BudgetError, found: int, most: int) -> EndedBy:
    """The limit that ended a search."""
    if isinstance(problem, TimeLimitError):
        return "time"
    if isinstance(problem, MemoryLimitError):
        return "memory"
    return "runs" if found < most else "matches"


def _runs(report: Report) -> int | None:
    """The number of runs; None if the plan has no runs."""
    runs = [counted["runs"] for _, counted in report.counters if "runs" in counted]
    return sum(runs) if runs else None


def under(tree: Query, strategy: StrategyName) -> str:
    """The text of a query with another strategy."""
    return to_text(with_strategy(tree, strategy))


def with_strategy(tree: Query, strategy: StrategyName) -> Query:
    """A query with another strategy, and without LIMIT."""
    return replace(tree, strategy=Strategy(strategy), limit=None)
