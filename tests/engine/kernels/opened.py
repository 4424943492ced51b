"""Stacks as their operators open and enlarge them, without a plan around them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from sase.binding.bound import BoundComponent, BoundWindow, WindowKind
from sase.engine.kernels.scan.stacks import APART, COUNT, HEAD, LINKS, MASK, RIP, ROW, TAIL, TOP
from sase.engine.kernels.sentinels import ANY_SPAN, NOTHING
from sase.engine.operators.active_stacks import ActiveStacks
from sase.engine.operators.baselines.multi_stacks import MultiStacks
from sase.engine.operators.baselines.nfa_stack import NfaStack
from sase.engine.resources import no_check
from sase.planning.engine_plan import Options
from sase.planning.plan.nodes import NegativeComponent, SequenceConstruction, SequenceScan
from tests.engine.kernels.streams import EARLIEST, Event, Pushed, Rows, arrivals, blocks
from tests.engine.kernels.twins import Absent, Bounds


class Coding:
    """Codes of keys that are the keys; there are as many as have been seen."""

    def __init__(self) -> None:
        self.known = 1

    def key(self, tests: Any) -> Any:
        return tests

    def size(self, key: Any) -> int:
        return self.known

    def see(self, events: Sequence[Event]) -> None:
        self.known = max([self.known, *(max(e.key, *e.others, 0) + 1 for e in events)])


def context(levels: int, options: Options) -> Any:
    """The conditions of stacks on the events around them."""
    return SimpleNamespace(
        dictionary=Coding(),
        levels=levels,
        options=options,
        bit_of=lambda index: index,
        check=no_check,
    )


def bound(window: Bounds | None) -> BoundWindow | None:
    if window is None:
        return None
    amount = Fraction(window.length)
    return BoundWindow(WindowKind.TIME, amount, None, window.inclusive, window.length)


def construction(
    window: Bounds | None = None, absences: Sequence[Absent] = ()
) -> SequenceConstruction:
    """The node of a plan with the parts that are pushed into construction."""
    negations = tuple(
        NegativeComponent(
            BoundComponent(index=absent.bit, variable="", named=False, types=None, negated=True),
            after=absent.before - 1 if absent.before else None,
            before=absent.before,
        )
        for absent in absences
    )
    return SequenceConstruction(SequenceScan(()), negations=negations, window=bound(window))


class Run:
    """Scan and construction, block by block."""

    def __init__(
        self,
        levels: int,
        *,
        stack: int = 64,
        room: int = 64,
        scanned: Bounds | None = None,
        built: Bounds | None = None,
        absences: Sequence[Absent] = (),
    ) -> None:
        self.context = context(levels, Options(stack=stack))
        self.stacks: Any = self.opened(construction(built, absences))
        self.span = ANY_SPAN if scanned is None else scanned.span
        self.out = np.zeros((levels, room), np.int64)

    def opened(self, above: SequenceConstruction) -> Any:
        return ActiveStacks((), above, self.context)

    def push(self, events: Sequence[Event], checks: Any = None) -> Rows:
        """The sequences that a block of events completes."""
        if not events:
            return []
        self.context.dictionary.see(events)
        numbers = arrivals(events)
        self.stacks.push(Pushed(events), numbers.states, numbers.measures, self.span)
        found = Rows()
        while True:
            written = self.stacks.walk(checks, None, self.out, 0)
            found += zip(*self.out[:, :written].tolist(), strict=True)
            if written < self.out.shape[1] and not self.stacks.is_paused:
                break
        return found

    def through(self, events: Sequence[Event], cuts: Sequence[int], checks: Any = None) -> Rows:
        """All sequences, in blocks; after each the events out of reach are dropped."""
        found = Rows()
        for start, end in blocks(len(events), cuts):
            found += self.push(events[start:end], checks)
            if self.span != ANY_SPAN and end < len(events):
                self.stacks.evict(max(events[end].measure - self.span, EARLIEST))
            self.stacks.free()
        return found

    def instances(self, level: int) -> list[tuple[int, int | None]]:
        """The live instances of a level, with the events of their RIPs."""
        cells, ends = self.stacks.stacks.cells, self.stacks.stacks.ends
        mask, before = ends[MASK, level], ends[MASK, max(level - 1, 0)]
        found = list[tuple[int, int | None]]()
        for number in range(ends[TAIL, level], ends[COUNT, level]):
            row, rip = (int(cells[level, number & mask, field]) for field in (ROW, RIP))
            led = level > 0 and rip != NOTHING
            found.append((row, int(cells[level - 1, rip & before, ROW]) if led else None))
        return found


class MultiRun(Run):
    """Scan and construction with stacks for two or three attributes."""

    def __init__(self, levels: int, others: int = 1, **more: Any) -> None:
        self.others = others
        super().__init__(levels, **more)

    def opened(self, above: SequenceConstruction) -> MultiStacks:
        keys: Any = ((), *range(self.others))
        return MultiStacks(keys, above, self.context)

    def stack(self, attribute: int, level: int, key: int) -> list[int]:
        """The events in the stack of a key of an attribute, from the top down."""
        stacks, others = self.stacks.stacks, self.stacks._others
        own, found = stacks.ends[MASK, level], list[int]()
        if attribute > 0:
            heads, below = others.heads[attribute - 1, level], others.below[attribute - 1, level]
        else:
            heads, below = stacks.heads[:, level * HEAD + TOP] - 1, None
        number, mask = heads[key], 0 if below is None else below.shape[0] - 1
        while number >= stacks.ends[TAIL, level]:
            found.append(int(stacks.cells[level, number & own, ROW]))
            if below is None:
                number -= int(stacks.cells[level, number & own, LINKS]) & APART
            else:
                number = below[number & mask]
        return found


class NfaRun(Run):
    """Scan and construction with the runtime stack."""

    def opened(self, above: SequenceConstruction) -> NfaStack:
        return NfaStack(above, self.context)

    def cells(self) -> list[tuple[str, str]]:
        """The states that are active after each event, and those that it enters, from 1 on."""
        stack = self.stacks.stack
        return [
            (states(stack.active[cell]), states(stack.entered[cell]))
            for cell in range(stack.sizes[0])
        ]


def states(bits: int) -> str:
    return "".join(str(state + 1) for state in range(8) if bits >> state & 1)
