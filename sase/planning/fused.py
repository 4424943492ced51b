"""Which walks and runs one kernel takes from columns to results, by what their plan says alone.

The engine decides it by the plan and by the events (`sase/engine/pipeline/fused`), and does no less
of it than is expected here: it leaves events to the operators for keys with NULLs, or that some
types do not declare, say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from sase.binding.bound import EquivalenceTest, WindowKind
from sase.lang.ast import StrategyName
from sase.planning import nodes

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
    """Whether an event takes all runs of its key at once that wait for it, and these end in time.

    It is not asked whether events are simultaneous, which keeps runs of series apart.
    """
    top, *below = nodes.chain(plan)
    if not isinstance(top, nodes.Transformation) or len(below) != 1 or not _shows_all(top):
        return False
    (runs,) = below
    if not isinstance(runs, nodes.RunEvaluation) or runs.window is None or runs.nothing:
        return False
    is_next = runs.strategy is StrategyName.SKIP_TILL_NEXT_MATCH and not runs.conditions
    if not is_next or len(runs.components) < 2:
        return False
    types = [name for each in runs.components for name in each.types or ("", "")]
    *_, series, last = runs.components
    is_plain = runs.is_in_lines and not runs.is_of_sets and len(types) == len({*types})
    is_whole = last.is_single and (series.is_single or series.maximum is None)
    return is_plain and is_whole and not runs.counts_in_partitions and _is_plain([runs.partitions])


def _shows_all(top: nodes.Transformation) -> bool:
    """Whether all that is found is a result, and as it is."""
    is_output = top.having or top.columns or top.limit is not None or top.non_overlapping
    return not is_output


def _is_plain(keys: Sequence[Tests]) -> bool:
    """Whether there is one key at most, of attributes that bear one name and have any value."""
    if len(keys) > 1:
        return False
    return not any(test.attributes or test.value is not None for key in keys for test in key)
