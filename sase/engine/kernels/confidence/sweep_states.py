"""Sets of states of a sweep, each state with the probability that is summed up of it.

A state is a row of words: in the first ones a bit for each event that has been, in the others how
far each order has come. A set is a table of entries in the order in which they came, and slots by
hash: so sums are taken in one order, whatever else is in memory.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.confidence.bernstein import OutFloatRows
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import OutIntCubes, OutIntRows, OutInts
from sase.engine.kernels.sentinels import NOTHING

# The bits of a word, which stays positive.
WORD = 63
# Mixing stays far within int64.
LOW, FACTOR, MIXED = 2**31 - 1, 1_000_003, 2**40 - 1


class StateSets(NamedTuple):
    """Sets of states: `slots` are a power of two, and twice as many as there is room for."""

    keys: OutIntCubes
    values: OutFloatRows
    slots: OutIntRows
    used: OutIntRows
    sizes: OutInts


@inlined
def has(key: OutInts, event: int) -> bool:
    """Whether an event has been."""
    return bool((key[event // WORD] >> (event % WORD)) & 1)


@inlined
def mark(key: OutInts, event: int) -> None:
    """Note that an event has been."""
    key[event // WORD] |= 1 << (event % WORD)


@linked
def clear(sets: StateSets, number: int) -> None:
    """Take all states out of a set."""
    for entry in range(sets.sizes[number]):
        sets.slots[number, sets.used[number, entry]] = NOTHING
    sets.sizes[number] = 0


@linked
def first_slot(key: OutInts, words: int, mask: int) -> int:
    """Where a state is looked for first."""
    mixed = 0
    for word in range(words):
        mixed = ((mixed ^ (key[word] & LOW)) * FACTOR) & MIXED
        mixed = ((mixed ^ (key[word] >> 31)) * FACTOR) & MIXED
    return int((mixed ^ (mixed >> 20)) & mask)


@linked
def is_same(sets: StateSets, number: int, entry: int, key: OutInts, words: int) -> bool:
    """Whether an entry of a set is a state."""
    word = 0
    while word < words and sets.keys[number, entry, word] == key[word]:
        word += 1
    return word == words


@linked
def add_state(sets: StateSets, number: int, key: OutInts, words: int, value: float) -> bool:
    """Add to what is summed up of a state; return whether there was room for it."""
    mask = sets.slots.shape[1] - 1
    slot = first_slot(key, words, mask)
    while sets.slots[number, slot] != NOTHING:
        entry = sets.slots[number, slot]
        if is_same(sets, number, entry, key, words):
            sets.values[number, entry] += value
            return True
        slot = (slot + 1) & mask
    entry = sets.sizes[number]
    if entry == sets.values.shape[1]:
        return False
    for word in range(words):
        sets.keys[number, entry, word] = key[word]
    sets.values[number, entry] = value
    sets.slots[number, slot], sets.used[number, entry] = entry, slot
    sets.sizes[number] = entry + 1
    return True


@linked
def total_of_states(sets: StateSets, number: int) -> float:
    """Sum over all states of a set."""
    found = 0.0
    for entry in range(sets.sizes[number]):
        found += sets.values[number, entry]
    return found
