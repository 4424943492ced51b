"""Statistics of events, on which plans and estimates depend: a frozen value.

`sase.engine.statistics` measures them. Shares are fractions from 0 to 1. Counts of a sample are
scaled to the whole input. Its shares are never 0 or 1 only because the sample lacks some events.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

T = TypeVar("T")
# How likely two events agree on an attribute without statistics.
UNKNOWN_AGREEMENT = 0.01


@dataclass(frozen=True, slots=True)
class AttributeStatistics:
    """An attribute of the events of a type.

    `nulls` is the share of NULL and `distinct` the number of values. `agreement` is how likely two
    events agree: the sum of the squares of the shares, 1 / `distinct` without skew. `quantiles` of
    numbers are from the least to the greatest, with equal numbers of events between them. Texts are
    `plain` if the input has them row by row, not as codes of a dictionary.
    """

    name: str
    nulls: float = 0.0
    distinct: int | None = None
    agreement: float | None = None
    quantiles: tuple[float, ...] = ()
    plain: bool = False

    def __post_init__(self) -> None:
        _check_shares(self.nulls, self.agreement)
        _check_counts(self.distinct)


@dataclass(frozen=True, slots=True)
class TypeStatistics:
    """The events of a type."""

    name: str
    rows: int
    attributes: tuple[AttributeStatistics, ...] = ()

    def __post_init__(self) -> None:
        _check_counts(self.rows)

    def attribute(self, name: str) -> AttributeStatistics | None:
        """The statistics of an attribute."""
        return next((each for each in self.attributes if each.name == name), None)


@dataclass(frozen=True, slots=True)
class Admission:
    """The share of the events of its types that pass the conditions on a single component."""

    variable: str
    share: float

    def __post_init__(self) -> None:
        _check_shares(self.share)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How likely random events, one of each variable, agree on all of some attributes.

    They have the types of the variables, pass the conditions on single variables, are in pattern
    order, and lie within the window if that makes a difference.
    """

    attributes: tuple[str, ...]
    variables: tuple[str, ...]
    share: float

    def __post_init__(self) -> None:
        _check_shares(self.share)


@dataclass(frozen=True, slots=True)
class Selectivity:
    """The share of random events of its variables that satisfy a condition, given as text.

    They are in pattern order, and satisfy the window and the equivalence tests if there are enough
    such events.
    """

    condition: str
    share: float

    def __post_init__(self) -> None:
        _check_shares(self.share)


# The source of statistics over all events.
ALL_EVENTS = "all events"


@dataclass(frozen=True, slots=True)
class Statistics:
    """The events as a whole and by type, and the shares that pass the parts of a query.

    `source` is "footers", "all events", or "a sample" of `sampled` events. `first` and `last` are
    times in raw units. `loaded` says that a plan is made for all events in memory at once; it is
    neither measured nor stored.
    """

    rows: int
    first: int | None = None
    last: int | None = None
    types: tuple[TypeStatistics, ...] = ()
    admissions: tuple[Admission, ...] = ()
    agreements: tuple[Agreement, ...] = ()
    selectivities: tuple[Selectivity, ...] = ()
    source: str = ""
    sampled: int = 0
    loaded: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        _check_counts(self.rows, self.sampled)

    @property
    def span(self) -> int | None:
        """The time from the first event to the last, both included."""
        return None if self.first is None or self.last is None else self.last - self.first + 1

    def type(self, name: str) -> TypeStatistics | None:
        """The statistics of a type."""
        return next((each for each in self.types if each.name == name), None)

    def rows_of(self, types: Iterable[str] | None) -> float:
        """The number of events of some types; of all if their types are unknown."""
        if types is None or not self.types:
            return float(self.rows)
        return float(sum(each.rows for each in map(self.type, types) if each is not None))

    def attributes(
        self, name: str, types: Iterable[str] | None = None
    ) -> Iterator[AttributeStatistics]:
        """The statistics of an attribute in some types, or in each."""
        known = self.types if types is None else map(self.type, types)
        found = (each.attribute(name) for each in known if each is not None)
        return (each for each in found if each is not None)

    @property
    def coded(self) -> Statistics:
        """The statistics after plain texts have been coded."""

        def of_type(known: TypeStatistics) -> TypeStatistics:
            attributes = tuple(replace(each, plain=False) for each in known.attributes)
            return replace(known, attributes=attributes)

        return replace(self, types=tuple(map(of_type, self.types)))

    def pair_agreement(self, name: str, types: Iterable[str] | None = None) -> float:
        """How likely two events of some types agree on an attribute.

        If no two events of one type agree, that says nothing about two types, which may have the
        same values: then each value is equally likely.
        """
        shares = [
            1 / each.distinct if each.agreement == 0 and each.distinct else each.agreement
            for each in self.attributes(name, types)
            if each.agreement is not None
        ]
        return max(shares, default=UNKNOWN_AGREEMENT)

    def admission(self, variable: str) -> float | None:
        """The share that passes the conditions on a single component."""
        return next((a.share for a in self.admissions if a.variable == variable), None)

    def unevenness(self, name: str, types: Iterable[str] | None = None) -> float:
        """How much more likely two events agree than if values were equally frequent."""
        known = self.attributes(name, types)
        found = [
            each.agreement * each.distinct for each in known if each.agreement and each.distinct
        ]
        return max(min(found, default=1.0), 1.0)

    def agreement(self, attributes: Iterable[str], variables: Iterable[str]) -> float | None:
        """How likely events of some variables agree on some attributes."""
        wanted = (frozenset(attributes), frozenset(variables))
        known = ((frozenset(a.attributes), frozenset(a.variables), a) for a in self.agreements)
        return next((each.share for *key, each in known if tuple(key) == wanted), None)

    def selectivity(self, condition: str) -> float | None:
        """The share that satisfies a condition."""
        return next((s.share for s in self.selectivities if s.condition == condition), None)


def united(parts: Sequence[Statistics]) -> Statistics:
    """The statistics of several queries on the same events; for a part of both, those of the first.

    The statistics of an attribute are those of the first query that has them.
    """
    first = parts[0]
    types: dict[str, TypeStatistics] = {}
    for each in (known for part in parts for known in part.types):
        before = types.get(each.name, each)
        names = {attribute.name for attribute in before.attributes}
        more = tuple(attribute for attribute in each.attributes if attribute.name not in names)
        types[each.name] = replace(before, attributes=(*before.attributes, *more))
    return replace(
        first,
        types=tuple(types.values()),
        admissions=_firsts((part.admissions for part in parts), lambda each: each.variable),
        agreements=_firsts(
            (part.agreements for part in parts), lambda each: (each.attributes, each.variables)
        ),
        selectivities=_firsts((part.selectivities for part in parts), lambda each: each.condition),
    )


def _firsts(parts: Iterable[tuple[T, ...]], key: Callable[[T], Hashable]) -> tuple[T, ...]:
    found: dict[Hashable, T] = {}
    for each in (each for part in parts for each in part):
        found.setdefault(key(each), each)
    return tuple(found.values())


def _check_shares(*shares: float | None) -> None:
    for share in shares:
        if share is not None and not 0 <= share <= 1:
            raise ValueError(f"a share is from 0 to 1, and not {share}")


def _check_counts(*counts: int | None) -> None:
    for count in counts:
        if count is not None and count < 0:
            raise ValueError(f"a number of rows or values is not negative, and not {count}")
