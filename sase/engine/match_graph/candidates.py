"""The events that can take part in matches, partition by partition, and matches of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.cached_property import cached_property
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.match_graph.passes import EventPlaces, lowest_places


class Neighbours(NamedTuple):
    """The components of two events that are adjacent in a match, as bits of candidates.

    The later event is a `further` one of its component, or its first; with that, an iteration of a
    group may begin. `tied` events are simultaneous, and not tested.
    """

    earlier: int
    later: int
    further: bool
    begins: bool
    tied: bool = False


# Tests pairs of adjacent events: places of the earlier ones, places of the later ones, and their
# components; returns True for valid pairs.
Edge: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64], Neighbours], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class CandidateEvents:
    """Events by partition, in stream order; the place of an event is its index here.

    Equal `ties` mean simultaneous events; `measures` are those of the window. Bit k of `begins`:
    the event can be the first of component k; of `takes`: a further one. `edge` tests adjacent
    events. The partitions begin at `starts`, 0 among them; without these there is only one.
    """

    positions: NDArray[np.int64]
    ties: NDArray[np.int64]
    measures: NDArray[np.int64]
    begins: NDArray[np.int64]
    takes: NDArray[np.int64]
    edge: Edge | None = None
    starts: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        columns = (self.positions, self.ties, self.measures, self.begins, self.takes)
        if any(column.shape != (len(self),) or column.dtype != np.int64 for column in columns):
            raise ValueError("candidates are columns of int64 of the same length")
        inner = ~self._opens[1:]
        if (inner & (self.positions[1:] <= self.positions[:-1])).any():
            raise ValueError("candidates come in stream order")
        for column in (self.ties, self.measures):
            if (inner & (column[1:] < column[:-1])).any():
                raise ValueError("ties and measures never decrease in stream order")

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """The first place of each partition, and the end of the last one."""
        starts = np.zeros(min(1, len(self)), np.int64) if self.starts is None else self.starts
        return np.append(starts, len(self))

    @cached_property
    def _opens(self) -> NDArray[np.bool_]:
        """Whether a partition begins at a place."""
        opens = np.zeros(len(self), np.bool_)
        opens[self.offsets[:-1]] = True
        return opens

    @cached_property
    def tie_bounds(self) -> NDArray[np.int64]:
        """The first places of groups of simultaneous events of a partition, and the end."""
        first = self._opens.copy()
        first[1:] |= self.ties[1:] != self.ties[:-1]
        return np.append(np.flatnonzero(first), len(self))

    @property
    def have_ties(self) -> bool:
        """Whether some events of a partition are simultaneous."""
        return len(self.tie_bounds) <= len(self)

    def places(self, span: int | None) -> EventPlaces:
        """The events as kernels read them, for windows of a `span`."""
        before = np.repeat(self.tie_bounds[:-1], np.diff(self.tie_bounds))
        lowest = np.repeat(self.offsets[:-1], np.diff(self.offsets))
        if span is not None:
            lowest_places(self.measures, span, lowest)
        return EventPlaces(*map(frozen, (self.begins, self.takes, before, lowest)))


class Binding(NamedTuple):
    """The places of a match in ascending order, and the number of events of each component.

    If these do not determine each event's component, `slots` do.
    """

    partition: int
    places: tuple[int, ...]
    lengths: tuple[int, ...]
    slots: tuple[int, ...] = ()

    def of(self, level: int) -> tuple[int, ...]:
        """The places of one component."""
        start = sum(self.lengths[:level])
        return self.places[start : start + self.lengths[level]]
