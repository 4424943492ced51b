"""From a small batch in memory to what its events complete, in one step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sase.engine.kernels.arrivals import PLACE, STATE, TIME
from sase.engine.kernels.compiling import (
    IntRows,
    Ints,
    OutIntCubes,
    OutIntRows,
    OutInts,
    kernel,
)
from sase.engine.kernels.keys import composed
from sase.engine.kernels.memory import (
    CHILDREN,
    DICTIONARY,
    LENGTH,
    field,
    is_same,
    is_whole,
    write_numbers,
)
from sase.engine.kernels.stacks import NOTHING, Absences, Arrivals, Stacks, scanned
from sase.engine.kernels.walk import Walk, constructed

# What a batch is that has to go another way, or whose types are in another dictionary.
OTHER, FOREIGN = -1, -2
# What is written of each event besides its place, state and time; and of the batch, row by row, its
# times, its types, and the numbers of its keys.
KEY, TIE = 3, 4
TIMES, TYPES, KEYS = 5, 6, 7


class Reading(NamedTuple):
    """How a batch is read: where it is described, and what is known of it.

    `columns` are the places and forms of its times, its types and the numbers of its keys;
    `dictionary` is that of the types, as `is_same` takes it, and `states` is by the index into it;
    of the keys `digits` make codes. The window measures what is written to the row `measure`.
    """

    batch: int
    columns: NDArray[np.int64]
    dictionary: NDArray[np.int64]
    states: NDArray[np.int64]
    digits: NDArray[np.int64]
    measure: int


class Moment(NamedTuple):
    """Where a stream stands: the time of the last event, the next position and its tie."""

    time: int
    position: int
    tie: int


def _arrived(
    batch: int, columns: IntRows, dictionary: Ints, states: Ints, digits: OutIntRows, measure: int,
    time: int, position: int, tie: int, left: int, span: int,
    cells: OutIntCubes, heads: OutIntRows, ends: OutIntRows, absences: Absences | None,
    at: OutInts, levels: OutIntRows, bounds: OutInts, room: OutIntRows, out: OutIntRows,
) -> tuple[int, int, int]:  # fmt: skip
    """Push the events of a batch, and write what they complete.

    Given back are how many of them have a state, how many sequences are written, and the last
    time. If they are more than there is room `left` for, they are only counted; if the batch is
    another one than it should be, nothing is done. Tuples are spread out over the arguments: a
    push spends more on handing over a tuple than on three arrays.
    """
    length, arrays = field(batch, LENGTH), field(batch, CHILDREN)
    types = field(arrays, columns[TYPES - TIMES, 0])
    if not is_same(field(types, DICTIONARY), dictionary):
        return FOREIGN, 0, 0
    for column in range(columns.shape[0]):
        array = field(arrays, columns[column, 0])
        if not is_whole(array):
            return OTHER, 0, 0
        write_numbers(array, columns[column, 1], room[TIMES + column, :length])
    count, last = 0, time
    for row in range(length):
        index, now = room[TYPES, row], room[TIMES, row]
        if now <= last or index < 0 or index >= states.shape[0]:
            return OTHER, 0, 0
        last = now
        room[PLACE, count], room[STATE, count] = row, states[index]
        count += states[index] != 0
    for place in range(count):
        row = room[PLACE, place]
        code = composed(room[KEYS:], row, digits)
        if code == NOTHING:
            return OTHER, 0, 0
        room[KEY, place] = code
        room[PLACE, place], room[TIE, place] = position + row, tie + row
        room[TIME, place] = room[TIMES, row]
    if count > left:
        return int(count), 0, int(last)
    arrivals = Arrivals(
        room[PLACE, :count], room[STATE, :count], room[KEY, :count], room[measure, :count],
        room[TIE, :count],
    )  # fmt: skip
    stacks = Stacks(cells, heads, ends)
    scanned(arrivals, stacks, absences, span)
    written = constructed(stacks, Walk(at, levels, bounds), None, None, out)
    return int(count), int(written), int(last)


arrive = kernel(_arrived, absent=["absences"])
arrive_between = kernel(_arrived)
