"""The hash of keys and texts, word by word."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined

# The factor that mixes the bits of a word, and the bits kept of the product.
FACTOR, HASH_BITS = 0x1E3779B97F4A7C15, 2**62 - 1


@inlined
def mixed_with(mixed: int, word: int) -> int:
    """Combine a hash with another word."""
    return ((mixed ^ word ^ (word >> 32)) * FACTOR) & HASH_BITS


@inlined
def folded(mixed: int) -> int:
    """Mix the upper bits of a hash into its lower ones, which select the slot."""
    return mixed ^ (mixed >> 29)
