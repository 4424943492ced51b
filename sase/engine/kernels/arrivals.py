"""The events of a block that some component admits, and the ranks of events in partitions."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.compiling import Codes, IntRows, Ints, OutIntRows, OutInts, kernel
from sase.engine.kernels.keys import composed
from sase.engine.kernels.stacks import NOTHING

# What is written of each event; its row in the stream stands where in a block its place does.
PLACE, STATE, TIME, KEY, TIE = range(5)
ROW = PLACE


class Moment(NamedTuple):
    """Where a stream stands: the time of the last event, the next position and its tie."""

    time: int
    position: int
    tie: int


@kernel
def admit(types: Codes, ts: Ints, states: Ints, first: int, out: OutIntRows) -> int:
    """Write place, state and time of the events whose type has a state; how many they are.

    `states` is by the code of a type plus one: the first is of events without a type. There must
    be room for one more, since every event is written and most are overwritten; where there is
    none it ends.
    """
    count, room = 0, out.shape[1]
    for row in range(types.shape[0]):
        if count == room:
            break
        state = states[types[row] + 1]
        out[PLACE, count] = first + row
        out[STATE, count] = state
        out[TIME, count] = ts[row]
        count += state != 0
    return count


@kernel
def arrive(
    ts: Ints, types: Codes, keys: IntRows, states: Ints, digits: OutIntRows, after: Moment,
    out: OutIntRows,
) -> int:  # fmt: skip
    """Write what stacks ask of the events whose type has a state; how many they are.

    `keys` are the numbers of the keys, of which `digits` make codes. `NOTHING` where a time is not
    after the one before it, or a key is out of range.
    """
    count, last = 0, after.time
    for row in range(ts.shape[0]):
        if ts[row] <= last:
            return NOTHING
        last = ts[row]
        out[ROW, count] = row
        count += states[types[row] + 1] != 0
    for place in range(count):
        row = out[ROW, place]
        code = composed(keys, row, digits)
        if code == NOTHING:
            return NOTHING
        out[ROW, place], out[TIE, place] = after.position + row, after.tie + row
        out[STATE, place], out[TIME, place] = states[types[row] + 1], ts[row]
        out[KEY, place] = code
    return count


@kernel
def rank(codes: Ints, counts: OutInts, ranks: OutInts) -> None:
    """The rank of each event among those with its code so far; `NOTHING` where it has no code."""
    for row in range(codes.shape[0]):
        code = codes[row]
        if code == NOTHING:
            ranks[row] = NOTHING
        else:
            ranks[row] = counts[code]
            counts[code] += 1
