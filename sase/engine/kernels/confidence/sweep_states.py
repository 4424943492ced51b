"""Sets of states of a sweep, with the summed probability of each state.

A state is a row of words: first a bit for each event that has occurred, then the progress of each
order. A set is a table of entries in insertion order, with hash slots; so sums are always taken in
the same order.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.confidence.bernstein import OutFloatRows
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import OutIntCubes, OutIntRows, OutInts
from sase.engine.kernels.sentinels import NOTHING

# The bits used in a word, which stays positive.
WORD = 63
# Constants of the hash, which stays within int64.
LOW, FACTOR, MIXED = 2**31 - 1, 1_000_003, 2**40 - 1


class StateSets(NamedTuple):
    """Sets of states; `slots` are a power of two, twice the number of entries."""

    keys: OutIntCubes
    values: OutFloatRows
    slots: OutIntRows
    used: OutIntRows
    sizes: OutInts


@inlined
def has(key: OutInts, event: int) -> bool:
    """Whether an event has occurred."""
    return bool((key[event // WORD] >> (event % WORD)) & 1)


@inlined
def mark(key: OutInts, event: int) -> None:
    """Mark that an event has occurred."""
    key[event // WORD] |= 1 << (event % WORD)


@linked
def clear(sets: StateSets, number: int) -> None:
    """Remove all states from a set."""
    for entry in range(sets.sizes[number]):
        sets.slots[number, sets.used[number, entry]] = NOTHING
    sets.sizes[number] = 0


@linked
def first_slot(key: OutInts, words: int, mask: int) -> int:
    """The slot where the search for a state begins."""
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
    """Add a probability to a state's sum; return false if the set is full."""
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
    """The sum of all states' probabilities."""
    found = 0.0
    for entry in range(sets.sizes[number]):
        found += sets.values[number, entry]
    return found
