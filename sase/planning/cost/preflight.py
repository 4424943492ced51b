"""Warn before a run that expects more matches than are allowed, with the cause and a remedy."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from sase.base.interface import option, spelled
from sase.lang.ast import StrategyName
from sase.planning.cost.cardinality import Cardinalities
from sase.planning.cost.cost import cost_of
from sase.planning.cost_values import Cost
from sase.planning.plan.nodes import (
    Operator,
    RunEvaluation,
    SequenceScan,
    Transformation,
    branches_of,
    find,
    reading,
    require,
)
from sase.planning.quantities import counted, size
from sase.planning.split import window_of
from sase.planning.statistics import Statistics

# Bytes of an event of a match, and of a column of RETURN, before results are made.
_EVENT, _COLUMN = 8, 16


def foreseen(
    plan: Operator, statistics: Statistics, most: int | None, memory: int, margin: int = 1
) -> str | None:
    """The warning for a run that expects more than `most`, or too many for memory by a margin."""
    cost = cost_of(plan, statistics)
    expected = cost.results
    if expected <= (margin * memory // bytes_of_a_match(plan, cost) if most is None else most):
        return None
    too_many = f"{size(memory)} can hold"
    if most is not None:
        too_many = spelled(f"max_matches={most:,}", f"--max-matches {most}")
    # For several branches the one with the most expected matches is the cause.
    worst = max(branches_of(plan), key=lambda branch: cost_of(branch, statistics).results)
    if find(worst, SequenceScan) is None:
        why = _of_runs(require(worst, RunEvaluation), most)
    else:
        figures = Cardinalities(worst, statistics)
        why = f"{_cause(figures)}; {_help(figures, expected, most)}"
    return f"about {counted(expected)} matches are expected, more than {too_many}: {why}"


def _of_runs(runs: RunEvaluation, most: int | None) -> str:
    """Cause and remedy of a query with Kleene closure or a strategy."""
    series = [each.variable for each in runs.components if each.is_series and each.maximum is None]
    is_any = runs.strategy is StrategyName.SKIP_TILL_ANY_MATCH
    cause = "each event of which may be the last of many"
    ways = []
    if series and is_any:
        cause = f"of the events that fit {' and '.join(series)} takes any part"
        ways.append(f"{option('output', 'compressed')} holds and counts them without a list")
    if is_any:
        ways.append("skip_till_next_match takes of a series all that fits")
        if series and not runs.has_groups:
            once = option("output", "non_overlap")
            ways.append(f"earliest_maximal with {once} finds each longest run once")
    ways.append("give it a window" if runs.window is None else "give it a smaller window")
    ways += ["set LIMIT", _in_batches(most)]
    return f"{cause}; {', '.join(ways[:-1])}, or {ways[-1]}"


def _in_batches(most: int | None) -> str:
    """A way to have matches that are not held, on the command line only below a limit."""
    on_command_line = "write them into a file with -o FILE" if most is None else "allow more"
    return spelled("read them batch after batch with to_reader()", on_command_line)


def bytes_of_a_match(plan: Operator, cost: Cost) -> int:
    """The bytes of a match in a list before results are made."""
    events: float = len(reading(plan).components)
    if find(plan, RunEvaluation) is not None:
        evaluation = cost.operator("RunEvaluation")
        assert evaluation is not None
        work = dict(evaluation.work)
        # Also for each component the start of its events, and the end of the match.
        events += 1 + (work["bound"] / work["built"] if work["built"] else 0)
    return _EVENT * ceil(events) + _COLUMN * len(require(plan, Transformation).columns or ())


def _cause(figures: Cardinalities) -> str:
    """The greatest number of choices for an event."""
    variables = [component.variable for component in figures.scan.components]
    reach = figures.reach(window_of(figures.plan))
    if len(variables) == 1:
        return f"every {variables[0]} is a match"
    choices = {
        variable: figures.tuples(level, reach) / max(figures.tuples(level + 1, reach), 1e-9)
        * figures.agreement(figures.decided, figures.scan.components[level : level + 2])
        for level, variable in enumerate(variables[:-1])
    }  # fmt: skip
    most = sorted(choices, key=lambda variable: -choices[variable])[:2]
    listed = " and ".join(f"about {counted(choices[name])} {name}" for name in most)
    return f"there are {listed} for each event that may follow"


def _help(figures: Cardinalities, expected: float, most: int | None) -> str:
    scan, window, ways = figures.scan, window_of(figures.plan), []
    if len(scan.components) > 1:
        if window is None:
            ways.append("give it a window")
        else:
            size = None if window.size is None else window.size // 2
            reach, half = figures.reach(window), figures.reach(replace(window, size=size))
            left = expected * figures.tuples(0, half) / figures.tuples(0, reach)
            ways += [f"half the window would leave about {counted(left)}"] * (half < reach)
        if not (scan.tests or scan.inferred):
            ways.append(
                "an equivalence test [attribute] keeps apart events that do not belong together"
            )
    ways.append("set LIMIT")
    ways.append(_in_batches(most) if most is None else "allow more")
    if require(figures.plan, Transformation).non_overlapping is None:
        ways.append(f"count and sample them without a list with {option('output', 'compressed')}")
    return f"{', '.join(ways[:-1])}, or {ways[-1]}"
