"""Which walks and runs one kernel takes from columns to results, by what their plan says alone.

The engine decides it by the plan and by the events (`sase/engine/pipeline/fused`), and does no less
of it than is expected here: it leaves events to the operators for keys with NULLs, or that some
types do not declare, say. What keeps lines apart it asks here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from sase.binding.bound import EquivalenceTest, WindowKind
from sase.lang.ast import StrategyName
from sase.planning import nodes
from sase.planning.physical.runs import RunsInLines, choose_runs

Tests: TypeAlias = tuple[EquivalenceTest, ...]


def is_fused(plan: nodes.Operator) -> bool:
    """Whether a plan tells events apart by type and key alone, and each sequence is a result."""
    top, *below = nodes.chain(plan)
    if not isinstance(top, nodes.Transformation) or len(below) != 2:
        return False
    construction, scan = below
    if not isinstance(construction, nodes.SequenceConstruction):
        return False  # negation above runs
    assert isinstance(scan, nodes.SequenceScan)
    checks = (construction.conditions, construction.equivalences, scan.conditions, scan.nothing)
    absent = construction.elements
    if any(
        each.alone or any(test.value is not None for test in each.equivalences) for each in absent
    ):
        return False  # the scan asks it of events of negative components
    windows = (scan.window, construction.window)
    is_ranked = any(each and each.kind is WindowKind.PARTITION_EVENTS for each in windows)
    is_plain = scan.stacks is nodes.Stacks.AIS and not construction.joins and not is_ranked
    return is_plain and _shows_all(top) and not any(checks) and _is_plain(scan.partitions)


def shares_runs(plan: nodes.Operator) -> bool:
    """Whether an event takes all runs of its key at once that wait for it."""
    top, *below = nodes.chain(plan)
    if not isinstance(top, nodes.Transformation) or len(below) != 1 or not _shows_all(top):
        return False
    (runs,) = below
    if not isinstance(runs, nodes.RunEvaluation) or runs.nothing:
        return False
    is_in_lines = isinstance(choose_runs(plan), RunsInLines)
    return is_in_lines and _is_plain([runs.partitions]) and kept_apart(runs) is None


def kept_apart(lines: nodes.RunEvaluation) -> str | None:
    """Why runs that never fork do not share what they take, if there is a reason.

    They share it where all that wait for a component take the same events, and a window ends them.
    It is not asked whether events are simultaneous, which keeps those of series apart, too.
    """
    last, series = lines.components[-1], lines.components[-2:-1]
    # An event of any type fits several.
    types = [name for each in lines.components for name in each.types or ("", "")]
    asks_more = {
        f"the strategy is {lines.strategy.value}": (
            lines.strategy is not StrategyName.SKIP_TILL_NEXT_MATCH
        ),
        "events are compared with others": bool(lines.conditions),
        "a type fits several components": len(types) != len({*types}),
        "the last component is a series": not last.is_single,
        "a series has a greatest length": any(
            not each.is_single and each.maximum is not None for each in series
        ),
        "no window ends runs": lines.window is None,
        "the window counts the events of a partition": lines.counts_in_partitions,
    }
    return next((reason for reason, holds in asks_more.items() if holds), None)


def _shows_all(top: nodes.Transformation) -> bool:
    """Whether all that is found is a result, and as it is."""
    is_output = top.having or top.columns or top.limit is not None or top.non_overlapping
    return not is_output


def _is_plain(keys: Sequence[Tests]) -> bool:
    """Whether there is one key at most, of attributes that bear one name and have any value."""
    if len(keys) > 1:
        return False
    return not any(test.attributes or test.value is not None for key in keys for test in key)
