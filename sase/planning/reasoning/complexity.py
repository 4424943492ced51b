"""The complexity of a query, from its text alone: its class, and how many runs and matches it has.

The classes are those of SASE++ (section 3, Figure 2) for the question whether there is a match. The
bounds are those of SASE+ (Propositions 4.1 and 4.2) and of Table 3 of SASE++, for each component
instead of for all alike. docs/complexity.md explains both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import e, factorial, inf, lgamma, log, log10

from sase.base.interface import option
from sase.binding import bound
from sase.binding.bound import BoundComponent, BoundQuery, Part
from sase.binding.values.text import condition_text
from sase.lang.ast import StrategyName
from sase.planning.plan.traversal import within

_CONTIGUITY = (StrategyName.STRICT_CONTIGUITY, StrategyName.PARTITION_CONTIGUITY)
_ANY = (StrategyName.SKIP_TILL_ANY_MATCH, StrategyName.EARLIEST_MAXIMAL)
# Events of a series that a condition compares with one that is added.
_EARLIER = (Part.PREVIOUS, Part.BEFORE_CURRENT, Part.UP_TO_CURRENT)


class ComplexityClass(Enum):
    """A class of problems, by its name in the paper; each contains those before."""

    FIRST_ORDER = "AC0"
    REGULAR = "regular"
    CONTIGUOUS = "NC1"
    NEXT = "DSPACE[log n]"
    ANY = "NSPACE[log n]"

    @property
    def rank(self) -> int:
        """Its place among the classes."""
        return tuple(ComplexityClass).index(self)


class WindowGrowth(Enum):
    """How the matches of a window grow with the number of its events."""

    CONSTANT = "constant"
    POLYNOMIAL = "polynomial"
    EXPONENTIAL = "exponential"

    @property
    def rank(self) -> int:
        """Its place, from slow to fast growth."""
        return tuple(WindowGrowth).index(self)


class FactorForm(Enum):
    """A bound on the ways to continue a run, as a formula of n events and a number k."""

    CONSTANT = "{k}"
    POWER = "n^k"
    EXPONENTIAL = "k^n"
    ORDERS = "e · n!"


@dataclass(frozen=True, slots=True)
class Factor:
    """By how many the events of some components may multiply each run."""

    components: tuple[BoundComponent, ...]
    form: FactorForm
    k: int = 1
    # Whether the events may also be none.
    or_none: bool = False

    @property
    def is_one(self) -> bool:
        """Whether each run is continued in one way."""
        return self.form is FactorForm.CONSTANT and self.k == 1

    @property
    def growth(self) -> WindowGrowth:
        """How it grows with the number of events."""
        if self.form is FactorForm.CONSTANT:
            return WindowGrowth.CONSTANT
        return (
            WindowGrowth.POLYNOMIAL if self.form is FactorForm.POWER else WindowGrowth.EXPONENTIAL
        )

    def __str__(self) -> str:
        events = "|" + " ∪ ".join(each.variable for each in self.components) + "|"
        match self.form:
            case FactorForm.CONSTANT:
                return str(self.k)
            case FactorForm.POWER:
                power = "" if self.k == 1 else f"^{self.k}"
                return f"(1 + {events}){power}" if self.or_none else events + power
            case FactorForm.EXPONENTIAL:
                return f"{self.k}^{events}"
        return f"e · {events}!"

    def logarithm_of(self, near: Count) -> float:
        """The logarithm of the bound for the numbers of events."""
        events = sum(map(near, self.components))
        match self.form:
            case FactorForm.CONSTANT:
                return log10(self.k)
            case FactorForm.POWER:
                return self.k * _log(events + self.or_none)
            case FactorForm.EXPONENTIAL:
                return events * log10(self.k)
        return log10(e) + lgamma(events + 1) / log(10)


@dataclass(frozen=True, slots=True)
class BranchComplexity:
    """The class of a branch of a pattern, with the feature that puts it there, and the bounds."""

    kind: ComplexityClass
    reason: str
    first: tuple[BoundComponent, ...]
    # By element: a component, or the members of a set and the number of their orders.
    elements: tuple[tuple[Factor, ...], ...]
    cheaper: tuple[str, ...]

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The factors of the bound on matches."""
        return tuple(each for element in self.elements for each in element if not each.is_one)

    @property
    def growth(self) -> WindowGrowth:
        """How matches grow with the window."""
        growths = (each.growth for each in self.factors)
        return max(growths, key=lambda each: each.rank, default=WindowGrowth.CONSTANT)

    @property
    def formula(self) -> str:
        """The bound on the matches that begin with an event; `|a|` are the events of a window."""
        return " · ".join(map(str, self.factors)) or "1"

    def matches(self, total: Count, near: Count) -> float:
        """The logarithm (of base 10) of a bound on the matches.

        `total` is the number of events of a component in the input, and `near` the greatest number
        in a window.
        """
        every = (each.logarithm_of(near) for each in self.factors)
        return sum(every, start=self._begun(total))

    def runs(self, total: Count, near: Count) -> float:
        """The logarithm of a bound on the runs: those that end in each element of the pattern."""
        before = self._begun(total)
        every = [before]
        for element in self.elements:
            own = [each.logarithm_of(near) for each in element]
            # Of the members of a set that is not finished some have bound nothing.
            open_ones = own if len(own) == 1 else [_log_of_sum([0.0, each]) for each in own]
            every.append(before + sum(open_ones))
            before += sum(own)
        return _log_of_sum(every)

    def _begun(self, total: Count) -> float:
        return _log(sum(map(total, self.first)))


@dataclass(frozen=True, slots=True)
class Complexity:
    """The complexity of a query: that of its branches."""

    branches: tuple[BranchComplexity, ...]

    @property
    def worst(self) -> BranchComplexity:
        """The branch of the greatest class and growth."""
        return max(self.branches, key=lambda each: (each.kind.rank, each.growth.rank))

    def matches(self, total: Count, near: Count) -> float:
        """The logarithm of a bound on the matches of all branches."""
        return _log_of_sum([each.matches(total, near) for each in self.branches])

    def runs(self, total: Count, near: Count) -> float:
        """The logarithm of a bound on the runs of all branches."""
        return _log_of_sum([each.runs(total, near) for each in self.branches])


# The number of events of a component.
Count = Callable[[BoundComponent], float]


def complexity_of(query: BoundQuery) -> Complexity:
    """The complexity of a query."""
    return Complexity(tuple(_of_branch(each) for each in query.branches or (query,)))


# ---------------------------------------------------------------- classes


def _of_branch(query: BoundQuery) -> BranchComplexity:
    kind, reason = _class_of(query)
    first, elements = _elements(query)
    factors = [each for element in elements for each in element]
    return BranchComplexity(kind, reason, first, elements, tuple(_cheaper(query, factors)))


def _class_of(query: BoundQuery) -> tuple[ComplexityClass, str]:
    """The class of a branch, and the feature that puts it there."""
    series = [each.variable for each in query.positives if each.is_series or each.group]
    if not series:
        return ComplexityClass.FIRST_ORDER, "there is no series"
    compared = next(_of_earlier_events(query), None)
    if compared is None:
        reason = f"{series[0]} is a series, and no condition reads several of its events"
        return ComplexityClass.REGULAR, reason
    reason = f"{compared} reads other events of a series"
    if _is_any(query):
        return ComplexityClass.ANY, f"{reason}, and any event may be skipped"
    if query.strategy in _CONTIGUITY:
        return ComplexityClass.CONTIGUOUS, f"{reason}, and no event is skipped"
    return ComplexityClass.NEXT, f"{reason}, and only events that do not fit are skipped"


def _of_earlier_events(query: BoundQuery) -> Iterator[str]:
    """The conditions that compare an event of a series with others of it, or compute over them."""
    names = {each.index: each.variable for each in query.every}
    parts = within((query.conjuncts, query.components, query.negations))
    conditions = [each.condition for each in parts if isinstance(each, _CONJUNCTS)]
    for condition in [*conditions, *([query.having] if query.having else [])]:
        if any(map(_is_over_series, within(condition))):
            yield condition_text(condition, names)


_CONJUNCTS = (bound.Conjunct, bound.IterationConjunct)


def _is_over_series(value: object) -> bool:
    if isinstance(value, bound.Aggregate):
        return not (value.function == "count" and value.attribute is None)
    if not isinstance(value, bound.Reference):
        return False
    inner = None if value.inner is None else value.inner.part
    return value.part in _EARLIER or inner in _EARLIER


# ---------------------------------------------------------------- bounds


def _elements(
    query: BoundQuery,
) -> tuple[tuple[BoundComponent, ...], tuple[tuple[Factor, ...], ...]]:
    """The components of which a match may begin with an event, and the factors of each element."""
    positives = query.positives
    elements = [[positives[n] for n in places] for places in bound.elements_of(positives)]
    first = list[BoundComponent]()
    for element in elements:
        first += element
        if any(each.minimum != 0 and not each.is_counted for each in element):
            break
    found = list[tuple[Factor, ...]]()
    is_waiting = False
    for place, element in enumerate(elements):
        # The first event is counted by itself.
        is_begin = place == 0 and len(element) == 1 and element[0].is_single
        is_plain = all(each.is_single and each.group is None for each in element)
        if not is_begin:
            is_free = is_waiting or not is_plain and len(element) > 1
            factors = [_factor(each, query, is_free) for each in element]
            if len(element) > 1 and not _is_any(query):
                orders = Factor(tuple(element), FactorForm.CONSTANT, factorial(len(element)))
                factors.append(orders)
            found.append(tuple(factors))
        # A run that may stay here skips events that only the next element takes.
        is_waiting = not is_plain and query.strategy is StrategyName.SKIP_TILL_NEXT_MATCH
    return tuple(first), tuple(found)


def _is_any(query: BoundQuery) -> bool:
    """Whether a run may skip an event that it also binds, or events have no order."""
    if query.strategy is StrategyName.PARTITION_CONTIGUITY:
        # An event without the attribute is of no partition.
        declared = (t.declared[each.index] for t in query.equivalences for each in query.positives)
        return any(each is False for each in declared)
    return query.strategy in _ANY or query.confidence is not None


def _factor(component: BoundComponent, query: BoundQuery, is_free: bool) -> Factor:
    """The factor of a component.

    It `is_free` if a run decides at which event the component begins, and not the strategy.
    """
    own, is_any = (component,), _is_any(query)
    if component.group is not None:
        variables, branches = component.group.variables, component.group.branches
        if not is_any and len(branches) == 1 and all(each.is_single for each in variables):
            # A run decides only which iteration is the last, and perhaps the first.
            return Factor(variables, FactorForm.POWER, 1 + is_free, or_none=True)
        # Each event is in no iteration, or of a variable of the last one or of a new one.
        return Factor(variables, FactorForm.EXPONENTIAL, 2 * len(variables) + 1)
    if component.is_series and is_any:
        if component.is_sequence:
            return Factor(own, FactorForm.ORDERS)
        most = component.maximum
        if most is None:
            return Factor(own, FactorForm.EXPONENTIAL, 2)
        return Factor(own, FactorForm.POWER, most, or_none=True)
    if component.is_series:
        return Factor(own, FactorForm.POWER, 1 + is_free, or_none=True)
    if component.is_optional:
        if is_any or is_free:
            return Factor(own, FactorForm.POWER, or_none=True)
        return Factor(own, FactorForm.CONSTANT, 2)
    return Factor(own, FactorForm.POWER if is_any or is_free else FactorForm.CONSTANT)


def _log(number: float) -> float:
    return log10(number) if number > 0 else -inf


def _log_of_sum(logarithms: list[float]) -> float:
    """The logarithm of a sum of numbers, given their logarithms."""
    most = max(logarithms)
    if most == -inf:
        return most
    return most + log10(sum(10 ** (each - most) for each in logarithms))


# ---------------------------------------------------------------- remedies


def _cheaper(query: BoundQuery, factors: Sequence[Factor]) -> Iterator[str]:
    """Changes of the query that lower the bound."""
    exponential = [
        each
        for each in factors
        if each.form is FactorForm.EXPONENTIAL and not each.components[0].group
    ]
    if query.strategy is StrategyName.SKIP_TILL_ANY_MATCH and exponential and not query.confidence:
        yield "skip_till_next_match takes every event of a series that fits"
        compressed = option("output", "compressed")
        yield f"{compressed} counts and samples the matches without a list"
    if all(each.growth is WindowGrowth.CONSTANT for each in factors):
        return
    if query.window is None:
        yield "a window limits the events that count"
    if not query.equivalences and not any(map(_is_equality, within(query.conjuncts))):
        yield "an equivalence test [attribute] counts the events of each key by itself"


def _is_equality(value: object) -> bool:
    """Whether this is a condition that attributes of two events are equal."""
    return (
        isinstance(value, bound.Comparison)
        and value.operator == "="
        and isinstance(value.left, bound.Reference)
        and isinstance(value.right, bound.Reference)
    )
