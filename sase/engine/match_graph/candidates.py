"""The events of one partition that can take part in matches, and matches of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray


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
    """Events in stream order; the place of an event is its index here.

    Equal `ties` mean simultaneous events; `measures` are those of the window. Bit k of `begins`:
    the event can be the first of component k; of `takes`: a further one. `edge` tests adjacent
    events.
    """

    positions: NDArray[np.int64]
    ties: NDArray[np.int64]
    measures: NDArray[np.int64]
    begins: NDArray[np.int64]
    takes: NDArray[np.int64]
    edge: Edge | None = None

    def __post_init__(self) -> None:
        columns = (self.positions, self.ties, self.measures, self.begins, self.takes)
        if any(column.shape != (len(self),) or column.dtype != np.int64 for column in columns):
            raise ValueError("candidates are columns of int64 of the same length")
        if not (self.positions[1:] > self.positions[:-1]).all():
            raise ValueError("candidates come in stream order")
        for column in (self.ties, self.measures):
            if not (column[1:] >= column[:-1]).all():
                raise ValueError("ties and measures never decrease in stream order")

    def __len__(self) -> int:
        return len(self.positions)

    def before(self) -> NDArray[np.int64]:
        """For each place, the number of strictly earlier places."""
        return np.searchsorted(self.ties, self.ties, side="left").astype(np.int64)

    def lowest(self, span: int | None) -> NDArray[np.int64]:
        """For each place, the first place at which a match that ends there may begin."""
        if span is None:
            return np.zeros(len(self), np.int64)
        least = np.iinfo(np.int64).min
        floors = np.where(self.measures < least + span, least, self.measures - span)
        return np.searchsorted(self.measures, floors, side="left").astype(np.int64)


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
