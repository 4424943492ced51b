"""Admit the events of a block by type, apply scan filters, and rank events in partitions."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import kernel
from sase.engine.kernels.jit.signatures import (
    Bytes,
    Codes,
    FewCodes,
    Flags,
    Ints,
    OutBytes,
    OutIntRows,
    OutInts,
)
from sase.engine.kernels.sentinels import NOTHING

# Rows of `admit`'s output.
PLACE, STATE, TIME = range(3)


@kernel
def is_rising(times: Ints) -> bool:
    """Whether each time is after the one before it. No early exit: the loop is vectorized."""
    falls = 0
    for row in range(1, times.shape[0]):
        falls |= times[row] <= times[row - 1]
    return falls == 0


@kernel
def admit(types: Codes, ts: Ints, states: Ints, first: int, out: OutIntRows) -> int:
    """Write place, state and time of the events whose type has a state; return how many.

    `states` is indexed by the code of a type plus one; 0 means no state. The output needs room for
    one event more than it admits, since each event is written before its state is tested.
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
def look_up_states(by_code: Bytes, types: FewCodes, states: OutBytes) -> None:
    """Write the state of each event; `by_code` is indexed by the code of its type plus one."""
    for row in range(types.shape[0]):
        states[row] = by_code[types[row] + 1]


@kernel
def select_rows(states: Ints, bit: int, rows: OutInts) -> int:
    """Write the rows of the events that a component admits; return how many."""
    count = 0
    for row in range(states.shape[0]):
        rows[count] = row
        count += (states[row] >> bit) & 1
    return count


@kernel
def reject_rows(states: OutInts, bit: int, passes: Flags) -> int:
    """Clear the bit of a component where the events that it admits fail; return how many do."""
    count = 0
    for row in range(states.shape[0]):
        fails = (states[row] >> bit) & (not passes[row])
        states[row] ^= fails << bit
        count += fails
    return count


@kernel
def rank(codes: Ints, counts: OutInts, ranks: OutInts) -> None:
    """Write the rank of each event among those with its code; `NOTHING` without a code."""
    for row in range(codes.shape[0]):
        code = codes[row]
        if code < 0:
            ranks[row] = NOTHING
        else:
            ranks[row] = counts[code]
            counts[code] += 1


@kernel
def clear_bits(states: Bytes, bit: int, passes: Flags, out: OutBytes) -> None:
    """Write the states of events, with the bit of a component cleared where it rejects them."""
    others = 0xFF ^ 1 << bit
    for row in range(states.shape[0]):
        out[row] = states[row] if passes[row] else states[row] & others
