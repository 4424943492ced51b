"""The events of a block that some component admits, and the ranks of events in partitions."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import kernel
from sase.engine.kernels.jit.signatures import (
    Bytes,
    Codes,
    Flags,
    Ints,
    OutBytes,
    OutIntRows,
    OutInts,
)
from sase.engine.kernels.sentinels import NOTHING

# What is written of each event.
PLACE, STATE, TIME = range(3)


@kernel
def is_rising(times: Ints) -> bool:
    """Whether each time is after the one before it, which is looked at to the end: many at once."""
    falls = 0
    for row in range(1, times.shape[0]):
        falls |= times[row] <= times[row - 1]
    return falls == 0


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
def choose(states: Ints, bit: int, rows: OutInts) -> int:
    """Write the rows of the events that a component admits; how many they are."""
    count = 0
    for row in range(states.shape[0]):
        rows[count] = row
        count += (states[row] >> bit) & 1
    return count


@kernel
def turn_away(states: OutInts, bit: int, passes: Flags) -> int:
    """Take a component, which admits them all, from the events that do not pass: how many."""
    count, mask = 0, 1 << bit
    for row in range(states.shape[0]):
        if not passes[row]:
            states[row] ^= mask
            count += 1
    return count


@kernel
def rank(codes: Ints, counts: OutInts, ranks: OutInts) -> None:
    """The rank of each event among those with its code so far; `NOTHING` where there is no code."""
    for row in range(codes.shape[0]):
        code = codes[row]
        if code < 0:
            ranks[row] = NOTHING
        else:
            ranks[row] = counts[code]
            counts[code] += 1


@kernel
def leave(states: Bytes, bit: int, passes: Flags, out: OutBytes) -> None:
    """Write the states of all events, of those that do not pass without a component."""
    others = 0xFF ^ 1 << bit
    for row in range(states.shape[0]):
        out[row] = states[row] if passes[row] else states[row] & others
