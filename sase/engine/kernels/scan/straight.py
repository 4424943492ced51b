"""From a small batch in memory to what its events complete, in one step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sase.engine.kernels.jit.arrow_memory import (
    CHILDREN,
    DICTIONARY,
    LENGTH,
    field,
    is_same,
    is_whole,
    number,
    numbers_at,
)
from sase.engine.kernels.jit.compiler import kernel
from sase.engine.kernels.jit.signatures import Ints, OutIntCubes, OutIntRows, OutInts
from sase.engine.kernels.scan.construction import Walk
from sase.engine.kernels.scan.fused_scan import (
    ADDRESS,
    CODES,
    FORM,
    TIMES,
    TYPES,
    Calls,
    Reading,
    Span,
    swept,
)
from sase.engine.kernels.scan.stacks import Absences, Stacks

# What a batch is that has to go another way, or whose types are in another dictionary.
OTHER, FOREIGN = CODES, -2
# Where a column stands in a batch, besides its form and address.
AT = 2


class Batch(NamedTuple):
    """How a batch is read: where it is described, and what is known of it.

    `columns` are its times, its types and the numbers of its keys; `dictionary` is that of the
    types, as `is_same` takes it, and `states` is by the index into it plus one; of the keys
    `digits` make codes. The window measures what is written to the row `measure`.
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
    batch: int, columns: OutIntRows, dictionary: Ints, states: Ints, digits: OutIntRows,
    measure: int, time: int, position: int, tie: int, span: int, bound: int,
    scan: int, construct: int,
    cells: OutIntCubes, heads: OutIntRows, ends: OutIntRows, absences: Absences | None,
    at: OutInts, levels: OutIntRows, bounds: OutInts, room: OutIntRows, out: OutIntRows,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Push the events of a batch, and write what they complete.

    Given back is what makes a `Swept`, where what is reached is a time. If anything lacks nothing
    is done. Tuples are spread out over the arguments: a push spends more on handing over a tuple
    than on three arrays.
    """
    length, arrays = field(batch, LENGTH), field(batch, CHILDREN)
    if not is_same(field(field(arrays, columns[TYPES, AT]), DICTIONARY), dictionary):
        return time, 0, 0, FOREIGN
    for column in range(columns.shape[0]):
        array = field(arrays, columns[column, AT])
        if not is_whole(array):
            return time, 0, 0, OTHER
        columns[column, ADDRESS] = numbers_at(array, columns[column, FORM])
    last, beyond = time, 0
    form, address = columns[TIMES, FORM], columns[TIMES, ADDRESS]
    for row in range(length):
        now = number(address, form, row)
        beyond |= now <= last
        last = now
    form, address = columns[TYPES, FORM], columns[TYPES, ADDRESS]
    for row in range(length):
        index = number(address, form, row)
        beyond |= index < 0
        beyond |= index >= states.shape[0] - 1
    if beyond != 0:
        return time, 0, 0, OTHER
    reading = Reading(columns, states, digits, states[:0])  # no ties
    sought = Span(0, length, position, tie, measure, span, bound)
    stacks, walk = Stacks(cells, heads, ends), Walk(at, levels, bounds)
    _, count, written, lacks = swept(
        reading, sought, Calls(scan, construct), stacks, absences, walk, None, room, out
    )
    return int(last), int(count), int(written), int(lacks)


arrive = kernel(_arrived, absent=["absences"])
arrive_between = kernel(_arrived)
