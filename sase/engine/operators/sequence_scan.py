"""(SS→) Sequence scan: admit events, and push them onto the stacks or leaves of the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from sase.binding.bound import Condition
from sase.engine.blocks.block import Block, Watermark
from sase.engine.operators.active_stacks import ActiveStacks
from sase.engine.operators.conditions import ScanFilter
from sase.engine.operators.contract import (
    Context,
    Counters,
    Sequences,
    bound_within,
    measures_of,
    span_of,
)
from sase.engine.snapshots.layout import Count, Declared, Own
from sase.planning.plan.nodes import SequenceConstruction, SequenceScan

if TYPE_CHECKING:
    from sase.engine.operators.baselines.nfa_stack import NfaStack
    from sase.engine.operators.join_tree import JoinTree

# The classes that instances are pushed to, and that construction walks through.
StackArrays: TypeAlias = "ActiveStacks | NfaStack | JoinTree"


class SequenceScanState(Declared):
    """A running sequence scan."""

    layout = dict(seen=Count(), stacks=Own(path="stacks"))

    def __init__(
        self,
        node: SequenceScan,
        above: SequenceConstruction,
        context: Context,
        keep: Callable[[], StackArrays],
    ) -> None:
        self.node, self._window = node, node.window
        # Either window, since they are the same one.
        self.measured, self.span = node.window or above.window, span_of(node.window)
        # Match windows have decided the conditions on positive components.
        positive = () if node.input is not None else conditions_of_scan(node, above, context)
        self._conditions = ScanFilter(context, (*positive, *_negative(above, context)))
        self.stacks = keep()
        self._seen = 0
        self._analyzed = context if context.options.analyze else None

    def push(self, block: Block, below: Iterator[Sequences]) -> Iterator[Sequences]:
        """Push the admitted events of a block; the construction above builds sequences."""
        self._seen += len(block)
        if self.node.nothing is not None:
            return iter(())
        states = self._conditions.states(block)
        self.stacks.push(block, states, measures_of(block, self.measured), self.span)
        return iter(())

    def count(self, admitted: int) -> None:
        """Count the events that a fused kernel pushed onto the stacks."""
        self._seen += admitted

    def advance(self, watermark: Watermark, below: Iterator[Sequences]) -> Iterator[Sequences]:
        """Mark the instances as evictable that no later event reaches within the window."""
        self.evict(watermark.ts, watermark.position)
        return iter(())

    def evict(self, time: int, position: int) -> None:
        """Mark instances as evictable, for events from this time and position on."""
        if self._window is not None:
            self.stacks.evict(bound_within(time, position, self._window.kind, self.span))

    def horizon(self) -> int | None:
        """Free evicted instances; return the oldest live event."""
        return self.stacks.free()

    def counters(self) -> Counters:
        """Events of an admitted type, and the counters of the stacks."""
        found = {"events": self._seen, **self.stacks.counters()}
        if self._analyzed is not None:
            found["rejected_events"] = self._conditions.rejected
            found["most_stored_bytes"] = self._analyzed.buffer.size
        return found


def conditions_of_scan(
    node: SequenceScan, above: SequenceConstruction, context: Context
) -> Iterator[tuple[int, Condition]]:
    """The conditions on one event of a positive component: those pushed down, and fixed values."""
    for conjunct in node.conditions:
        assert conjunct.component is not None
        yield conjunct.component, conjunct.condition
    keys = [test for key in node.partitions for test in key]
    for test in dict.fromkeys([*node.values, *keys, *above.equivalences]):
        if test.value is not None:
            yield from context.values(test, node.components)


def _negative(above: SequenceConstruction, context: Context) -> Iterator[tuple[int, Condition]]:
    for element in above.elements:
        yield from context.negative_conditions(element)
