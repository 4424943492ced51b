"""The narrowed scan: only events near those of the rarest component reach the leaves of a tree.

If all events are loaded and one component is rare, each match has a rare event, and lies within the
window around it with the same key. The rare events are found in the column of types. One pass over
the key column finds the events near them, and no other event is read. Stack construction does not
need this path: it begins at final events and follows the stacks.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import BoundWindow, WindowKind
from sase.binding.types import Kind
from sase.engine.blocks.builder import states_by_type
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.scan.neighbours import neighbours, places_of, search_rising
from sase.engine.kernels.sentinels import EARLIEST, LATEST
from sase.engine.operators.contract import size_of
from sase.engine.operators.sequence_scan import SequenceScanState
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.pipeline import Pipeline
from sase.planning.cost.cardinality import FEW_ARE, KEYS_AT_ONCE
from sase.planning.engine_plan import EnginePlan
from sase.planning.physical.drive import Need
from sase.planning.physical.drives import NarrowedScanDrive
from sase.planning.split import negations_of

if TYPE_CHECKING:
    pass

# The sample of types by which the rarest component is found.
SAMPLED = 1 << 11
# For a component with at most one event in 512 measuring statistics pays.
VERY_FEW_ARE = 512


class NarrowedScan:
    """Runs a pipeline over the events near the rarest component."""

    # The rare events may come at the end.
    needs_all = True

    def __init__(self, pipeline: Pipeline, drive: NarrowedScanDrive) -> None:
        scan = pipeline.operators[0]
        assert isinstance(scan, SequenceScanState)
        # A proxy: the pipeline holds this object, and a circle of references would delay freeing
        # both.
        self._pipeline, self._window, self._tests = proxy(pipeline), scan.measured, drive.key
        self.use = pipeline.use_of(drive.name)
        self._found: tuple[Events, Numbers | None] | None = None

    def uncoded(self, events: Events, parts: int) -> list[str]:
        """None: most events are skipped."""
        return []

    def takes_all(self, events: Events) -> bool:
        """Whether one component is rare, so that partitioning the others is not needed."""
        return self._near(events) is not None

    def run(self, events: Events) -> Generator[Results, None, int]:
        """Yield the results of all events, or of none."""
        near = self._near(events)
        if near is None:
            self.use.refused = Need.FEW_RARE.value
            return 0
        pipeline = self._pipeline
        # The near events usually suffice to show that each type occurs.
        for rows in (near, slice(0, len(events))):
            if pipeline.warnings.unseen:
                pipeline.warnings.note_types(events, rows)
        size = pipeline.plan.options.block
        size *= max(len(events) // (len(near) + 1), 1)  # so that a block has enough near events
        yield from pipeline.run_blocks(events, pipeline.builder.blocks(events, size, only=near))
        return len(events)

    def _near(self, events: Events) -> Numbers | None:
        """The places of the events near the rarest component; None if it is not rare."""
        if self._found is None or self._found[0] is not events:
            self._found = (events, self._neighbours(events))
        return self._found[1]

    def _neighbours(self, events: Events) -> Numbers | None:
        few = self._few(events)
        if few is None:
            return None
        level, places = few
        begins, ends = self._ranges(events, level, places)
        # An event in several ranges counts in the last of them.
        apart = np.minimum(ends, np.append(begins[1:], len(events))) - begins
        length, keys = int(apart.sum()), self._keys(events)
        if keys is None:
            if length > len(events) // 2:
                return None
            shifts = np.repeat(begins - np.cumsum(apart) + apart, apart)
            return np.asarray(np.arange(length) + shifts)
        out = np.empty(length + 1, np.int64)
        count = neighbours(keys, places, begins, ends, np.zeros(KEYS_AT_ONCE, np.int64), out)
        return out[:count]

    def _few(self, events: Events) -> tuple[int, Numbers] | None:
        """The rarest level and its events, if they are few."""
        builder = self._pipeline.builder
        states = builder.states_of(events.type_names)
        level = rarest(events, states, range(builder.positives))
        if level is None:
            return None
        places = np.empty(len(events) // FEW_ARE, np.int64)
        codes = (np.flatnonzero(states & (1 << level)) - 1).astype(events.types.dtype)
        count = places_of(events.types, codes, places)
        return None if count > len(places) else (level, places[:count])

    def _ranges(self, events: Events, level: int, places: Numbers) -> tuple[Numbers, Numbers]:
        """The first and the end places of the ranges around the given events of a level."""
        plan, window = self._pipeline.plan, self._window
        count = len(events)
        begins, ends = np.zeros(len(places), np.int64), np.full(len(places), count)
        negations = negations_of(plan.operators)
        is_started = any(each.before == 0 for each in negations)
        is_ended = any(each.before is None for each in negations)
        if window is not None:
            begins, ends = _around(events, places, window)
        if level == 0 and not is_started:
            begins = places.copy()
        if level == len(plan.positives) - 1 and not is_ended:
            ends = places + 1
        return begins, ends

    def _keys(self, events: Events) -> NDArray[Any] | None:
        """The numbers of an attribute on which all events of a match agree, if there is one."""
        for test in self._tests:
            if test.attributes or test.value is not None:
                continue
            column = events.columns.get(test.attribute)
            if column is None or self._pipeline.types.declare(test.attribute) is not None:
                continue
            # NULL keys may pass, since no match has them.
            if column.dictionary is not None or column.type.kind is Kind.INTEGER:
                return np.ascontiguousarray(column.values)
        return None


def has_rare(plan: EnginePlan, events: Events) -> bool:
    """Whether a component that cannot be empty has very few of some events.

    Trees and match windows may begin at these; runs have no trees.
    """
    if plan.union is not None or plan.returned.limit is not None:
        return False
    if plan.runs is not None and (plan.runs.window is None or plan.runs.has_groups):
        return False
    states = states_by_type(plan.positives, events.type_names, every=False)
    needed = [level for level, each in enumerate(plan.positives) if each.minimum > 0]
    return rarest(events, states, needed, VERY_FEW_ARE) is not None


def rarest(
    events: Events, states: Numbers, levels: Sequence[int], few: int = FEW_ARE
) -> int | None:
    """The level with the fewest events in a sample, if at most one event in `few` is of it.

    `states` are by the code of a type plus one.
    """
    sample = events.types[:: max(len(events) // SAMPLED, 1)].astype(np.int64) + 1
    counts = np.bincount(sample, minlength=len(states))
    rows = [int(counts[(states >> level) & 1 != 0].sum()) for level in levels]
    return levels[rows.index(min(rows))] if min(rows) * few <= len(sample) else None


def _around(events: Events, places: Numbers, window: BoundWindow) -> tuple[Numbers, Numbers]:
    """The ranges of the events within a window of the given ones, on both sides."""
    size = size_of(window)
    if window.kind is WindowKind.EVENTS:
        size = min(size, len(events))
        return np.maximum(places - size, 0), np.minimum(places + size + 1, len(events))
    times = events.ts[places]
    first = np.where(times < EARLIEST + size, EARLIEST, times - size)
    is_last = times >= LATEST - size
    begins, ends = np.empty_like(places), np.empty_like(places)
    search_rising(events.ts, first, places, begins)
    behind = np.where(is_last, LATEST, times + size + 1)
    search_rising(events.ts, behind, places, ends)
    return begins, np.where(is_last, len(events), ends)
