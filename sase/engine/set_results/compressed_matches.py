"""All matches of a query as a set that can be counted, sampled and iterated."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any, NoReturn, TypeAlias

import pyarrow as pa

from sase.base.texts import did_you_mean
from sase.binding.bound import BoundComponent
from sase.cached_property import cached_property
from sase.engine.match_graph.aggregates import Number
from sase.engine.match_graph.ranks import Estimate
from sase.engine.report import Report
from sase.engine.results.batch import MatchBatch, ResultBatch
from sase.engine.results.matches import Matches
from sase.engine.set_results.collapsed_table import collapsed_table
from sase.engine.set_results.counted import CountedMatches
from sase.engine.set_results.counted_union import CountedUnion
from sase.engine.set_results.listed import ListedMatches
from sase.errors import PlanError, SaseError
from sase.printable import printable

# The most matches examined one by one.
BUDGET = 100_000_000
FUNCTIONS = ("count", "sum", "min", "max", "avg")


# Answers questions about all matches, by a graph of events or by a search.
MatchSource: TypeAlias = CountedMatches | CountedUnion | ListedMatches


class CompressedMatches:
    """All matches of a query in the defined order, as a set that may be too large to list.

    Under skip till any match the set is a graph of events, if conditions on several events concern
    neighbours in a match, or lengths of series (with sets or repeated groups: lengths only). Then
    `counts_paths` is true, and no method examines single matches. Otherwise each question searches
    for the matches one by one, keeping them only if they are few; `reasons` say why. Methods that
    would examine more than `budget` matches refuse.

    Examples:
        >>> events = [{"ts": n, "type": "A", "v": n} for n in range(100)]
        >>> matches = sase.match("EVENT A+ a[]", events, output="compressed")
        >>> matches.count()
        1267650600228229401496703205375
        >>> matches.aggregate("max", "a[].v")
        99
    """

    def __init__(
        self,
        open_source: Callable[[], MatchSource],
        narrowed: Callable[[str], CompressedMatches],
        *,
        keys: tuple[str, ...] = (),
        most: int | None = None,
    ) -> None:
        self._open, self._narrowed, self._keys = open_source, narrowed, keys
        self._most = most

    @cached_property
    def _source(self) -> MatchSource:
        """Open the set on first use."""
        return self._open()

    @property
    def counts_paths(self) -> bool:
        """Whether counts are exact without examining single matches."""
        return not self.reasons

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why single matches must be examined, if so."""
        return self._source.reasons

    @property
    def report(self) -> Report:
        """The report of the run; its notes include `reasons`."""
        report = self._source.report
        return replace(report, notes=(*report.notes, *notes(self.reasons)))

    @property
    def names(self) -> list[str]:
        """The names of the positive components."""
        return self._source.nothing.names

    def count(self, budget: int | None = None) -> int:
        """The exact number of matches, of any size."""
        return self._source.count(self._budget(budget))

    def estimate(self, samples: int = 1_000, seed: int = 0) -> Estimate:
        """Estimate the number of matches, with 95 % confidence bounds.

        The result is exact if they can be counted. If HAVING or `where` needs whole matches, it is
        estimated by the share of samples that pass; other cases are refused.
        """
        if samples < 1:
            raise PlanError(f"{samples}: an estimate takes at least one sample")
        return self._source.estimate(samples, seed)

    def sample(
        self,
        number: int,
        seed: int = 0,
        budget: int | None = None,
        *,
        by_confidence: bool = False,
    ) -> Matches:
        """Draw independent matches, each equally likely; one may occur twice.

        With imprecise time, `by_confidence` draws a match in proportion to its confidence.
        """
        _check_number(number)
        most = self._budget(budget)
        if by_confidence:
            return self._matches(self._likely.sample(number, seed, most, by_confidence=True))
        return self._matches(self._source.sample(number, seed, most))

    def top(self, number: int, budget: int | None = None) -> Matches:
        """The matches of imprecise time with the greatest confidences, greatest first.

        Equal confidences keep the order of matches.
        """
        _check_number(number)
        return self._matches(self._likely.top(number, self._budget(budget)))

    @property
    def _likely(self) -> ListedMatches:
        """The source of matches with a confidence."""
        source = self._source
        if isinstance(source, ListedMatches) and source.nothing.shape.schema.is_imprecise:
            return source
        raise PlanError("the time of these events is precise: every match is certain")

    def first(self, number: int) -> Matches:
        """The first matches in order."""
        _check_number(number)
        return self._matches(self._source.first(number))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the matches in order, as dicts made on demand."""
        for part in self._source.parts():
            yield from part.table().to_pylist()

    def aggregate(self, function: str, of: str, budget: int | None = None) -> Number | None:
        """An aggregate over the events of a component in all matches together.

        `function` is count, sum, min, max or avg; `of` is an attribute such as "a[].price", or for
        `count` a component. An event counts once for each match that contains it.
        """
        if function not in FUNCTIONS:
            hint = did_you_mean(function, FUNCTIONS) or (f"there are {', '.join(FUNCTIONS)}",)
            raise PlanError(f"there is no aggregate `{function}` of all matches; {hint[0]}")
        level, name = self._parsed(of)
        if name is None and function != "count":
            raise PlanError(f"{function} is of an attribute, such as {of}.price")
        return self._source.aggregate(function, level, name, self._budget(budget))  # type: ignore[arg-type]

    def where(self, condition: str) -> CompressedMatches:
        """The matches that satisfy a condition on whole matches, by the rules of HAVING."""
        return self._narrowed(condition)

    def to_arrow(self, budget: int | None = None, *, by: str = "last") -> pa.Table:
        """The collapsed form: a row for each event at which matches end, in stream order.

        With by="first", a row for each pair of a first and a final event, as the paper prints it,
        with `ts_start` as first column.

        Columns: `ts_end`; `key` with the attributes of equivalence tests, if any, of the final
        event; `count` (int64, or text if one is larger); `rows` with, for each component, a list of
        the input rows in these matches; and without RETURN `events`.
        """
        if by not in ("first", "last"):
            raise PlanError(f"by={by!r}: the collapsed form is by the last event, or by the first")
        source, most = self._source, self._budget(budget)
        ends = source.ends(most) if by == "last" else source.pairs(most)
        return collapsed_table(ends, self._source.nothing, self._keys)

    def expand(self) -> Matches:
        """The matches one by one, as with `output="all"`."""

        def search() -> Generator[ResultBatch, None, Report]:
            yield from self._source.parts()
            return self._source.report

        return Matches(search, most=self._most)

    def __reduce__(self) -> NoReturn:
        raise SaseError(
            "a set of matches is not pickled or copied, since it has all events: do so with its"
            " results, such as  count() ,  to_arrow()  or  sample(…) , or with the query"
        )

    def __repr__(self) -> str:
        how = "counted as paths" if self.counts_paths else "looked at one by one"
        return f"<compressed matches of {printable(', '.join(self.names))}, {how}>"

    # ------------------------------------------------------------ helpers

    def _matches(self, parts: Iterator[MatchBatch]) -> Matches:
        found = list(parts) or [self._source.nothing]
        return Matches.of(found, Report())

    def _budget(self, given: int | None) -> int:
        return next((each for each in (given, self._most) if each is not None), BUDGET)

    def _parsed(self, of: str) -> tuple[int, str | None]:
        """The level and attribute of `of`."""
        variable, dot, name = of.partition(".")
        variable = variable.strip().removesuffix("[]")
        if variable not in self.names:
            hint = did_you_mean(variable, self.names) or (f"there are {', '.join(self.names)}",)
            raise PlanError(f"{of}: the pattern has no positive variable `{variable}`; {hint[0]}")
        level = self.names.index(variable)
        if not dot:
            return level, None
        self._check_attribute(self._source.nothing.shape.components[level], name)
        return level, name

    def _check_attribute(self, component: BoundComponent, name: str) -> None:
        history = self._source.nothing.history
        kind = history.type_of(name, component.types)
        if kind is None:
            known = history.names(component.types)
            hint = did_you_mean(name, known) or (f"there are {', '.join(known)}",)
            raise PlanError(f"{component.variable}.{name}: no event has this attribute; {hint[0]}")
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise PlanError(
                f"{component.variable}.{name} is of type {kind}: an aggregate over all matches is"
                " of integers or floats"
            )


def notes(reasons: tuple[str, ...]) -> Iterator[str]:
    """The reasons as a note."""
    if reasons:
        yield f"the matches are looked at one by one, since {'; '.join(reasons)}"


def _check_number(number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, Integral):
        raise PlanError(f"{number!r}: give a whole number of matches")
    if number < 0:
        raise PlanError(f"{number}: a number of matches is not negative")
