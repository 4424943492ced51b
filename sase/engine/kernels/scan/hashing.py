"""The hash of keys and texts, word by word."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined

# What a word is multiplied with so that its bits are mixed, and those that are left then.
FACTOR, HASH_BITS = 0x1E3779B97F4A7C15, 2**62 - 1


@inlined
def mixed_with(mixed: int, word: int) -> int:
    """A hash of what was hashed and a word."""
    return ((mixed ^ word ^ (word >> 32)) * FACTOR) & HASH_BITS


@inlined
def folded(mixed: int) -> int:
    """A hash whose upper bits count in the lower ones, which say where something is looked for."""
    return mixed ^ (mixed >> 29)
