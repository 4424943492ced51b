"""The events of one partition that may take part in matches, and a match of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray


class Neighbours(NamedTuple):
    """What two events right after one another in a match are of, as bits of candidates.

    The later one is a `further` event of its component, or one that begins it; with that an
    iteration of a group may begin, too. Those that are `tied` are simultaneous, and not tested.
    """

    earlier: int
    later: int
    further: bool
    begins: bool
    tied: bool = False


# Of neighbours in a match the places of the earlier events, as many of later ones, and what they
# are of: True where a pair may be.
Edge: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64], Neighbours], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class CandidateEvents:
    """Events in stream order; the place of an event is its index here.

    Events of equal `ties` are simultaneous; `measures` are those of the window. Bit k of
    `begins`: the event may be the first of component k; of `takes`: a further one. `edge` tests
    neighbours.
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
        """By place the number of strictly earlier places."""
        return np.searchsorted(self.ties, self.ties, side="left").astype(np.int64)

    def lowest(self, span: int | None) -> NDArray[np.int64]:
        """By place the first place at which a match that ends there may begin."""
        if span is None:
            return np.zeros(len(self), np.int64)
        least = np.iinfo(np.int64).min
        floors = np.where(self.measures < least + span, least, self.measures - span)
        return np.searchsorted(self.measures, floors, side="left").astype(np.int64)


class Binding(NamedTuple):
    """The places of a match, ascending, cut into components of these lengths.

    Where these do not say which component an event is of, `slots` do.
    """

    partition: int
    places: tuple[int, ...]
    lengths: tuple[int, ...]
    slots: tuple[int, ...] = ()

    def of(self, level: int) -> tuple[int, ...]:
        """The places of one component."""
        start = sum(self.lengths[:level])
        return self.places[start : start + self.lengths[level]]
