"""The complexity of a query for an explanation, with the bounds for the events at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, prod

from sase.binding.bound import BoundComponent, BoundQuery, WindowKind
from sase.planning.quantities import counted
from sase.planning.reasoning.complexity import Complexity, complexity_of
from sase.planning.statistics import Statistics


@dataclass(frozen=True, slots=True)
class ExplainedComplexity:
    """The class of a query and why, the bound on its matches as a formula, and for these events.

    `begin` are the variables with which a match can begin. `runs` and `matches` are logarithms of
    base 10; None without statistics.
    """

    kind: str
    reason: str
    begin: tuple[str, ...]
    formula: str
    growth: str
    cheaper: tuple[str, ...]
    branch: int | None = None
    runs: float | None = None
    matches: float | None = None


def explained_complexity(query: BoundQuery, statistics: Statistics | None) -> ExplainedComplexity:
    """The complexity of the branch that costs most; the numbers are those of all branches."""
    found = complexity_of(query)
    worst, runs, matches = found.worst, None, None
    if statistics is not None and statistics.rows:
        runs, matches = _bounds(found, query, statistics)
    return ExplainedComplexity(
        worst.kind.value,
        worst.reason,
        tuple(each.variable for each in worst.first),
        worst.formula,
        worst.growth.value,
        worst.cheaper,
        found.branches.index(worst) + 1 if query.branches else None,
        runs,
        matches,
    )


def _bounds(
    found: Complexity, query: BoundQuery, statistics: Statistics
) -> tuple[float | None, float | None]:
    share = _window_share(query, statistics)
    agreements = [
        _agreement(test.attribute, statistics) for test in query.equivalences if not test.value
    ]
    shares = {each.variable: each.share for each in statistics.admissions}

    def total(component: BoundComponent) -> float:
        return statistics.rows_of(component.types) * shares.get(component.variable, 1.0)

    def near(component: BoundComponent) -> float:
        return total(component) * share * prod(agreements)

    runs, matches = found.runs(total, near), found.matches(total, near)
    return (None if runs == -inf else runs), (None if matches == -inf else matches)


def _window_share(query: BoundQuery, statistics: Statistics) -> float:
    """The share of the events of a stream, or of a key, that lie in a window."""
    window = query.window
    if window is None or window.size is None:
        return 1.0
    whole = statistics.span if window.kind is WindowKind.TIME else statistics.rows
    return min(window.size / max(whole or 1, 1), 1.0)


def _agreement(attribute: str, statistics: Statistics) -> float:
    """The share of the events that have the key of an event."""
    known = [each.agreement for each in statistics.attributes(attribute)]
    return max((each for each in known if each is not None), default=1.0)


def complexity_lines(complexity: ExplainedComplexity) -> Iterator[str]:
    """The lines of an explanation."""
    branch = "" if complexity.branch is None else f"branch {complexity.branch}: "
    yield f"complexity: {branch}{complexity.kind}: {complexity.reason}"
    begin = " or ".join(complexity.begin)
    number = ""
    if complexity.matches is not None:
        number = f"; about {_number(complexity.matches)} in all, if events are spread evenly"
    grows = f"{complexity.growth} in the window"
    if complexity.growth == "constant":
        grows = "for any window"
    yield f"  matches that begin with each {begin}: at most {complexity.formula}, {grows}{number}"
    if complexity.cheaper:
        yield f"  cheaper: {'; '.join(complexity.cheaper)}"


def _number(logarithm: float) -> str:
    return counted(10.0**logarithm) if logarithm < 15 else f"10^{logarithm:.0f}"
