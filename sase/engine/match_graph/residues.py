"""Compute large numbers from residues modulo several primes (Chinese remainder theorem)."""

from __future__ import annotations

from functools import cache
from math import isqrt, prod

import numpy as np
from numpy.typing import NDArray

# Bits of a prime: primes are just below 2³¹, so that products fit int64.
BITS = 30


class Residues:
    """Two rows of signed numbers with a size limit."""

    def __init__(self, bits: int) -> None:
        self.primes = _primes(bits // BITS + 1)
        self._modulus = prod(self.primes)
        self._rows: list[list[list[int]]] = []

    def add(self, residues: NDArray[np.int64]) -> None:
        """Add the residues modulo the next prime."""
        self._rows.append((residues % self.primes[len(self._rows)]).tolist())

    def numbers(self) -> list[list[int]]:
        """The numbers."""
        factors = [
            rest * pow(rest, -1, prime)
            for prime in self.primes
            for rest in [self._modulus // prime]
        ]
        return [
            [self._number(factors, residues) for residues in zip(*rows, strict=True)]
            for rows in zip(*self._rows, strict=True)
        ]

    def _number(self, factors: list[int], residues: tuple[int, ...]) -> int:
        parts = map(int.__mul__, factors, residues)
        number = sum(parts) % self._modulus
        return number - self._modulus if number > self._modulus // 2 else number


@cache
def _primes(count: int) -> tuple[int, ...]:
    """The greatest primes below 2³¹."""
    top = 2**31
    small = np.flatnonzero(_sieve(isqrt(top) + 1))
    found: list[int] = []
    while len(found) < count:
        top -= 1
        if (top % small).all():
            found.append(top)
    return tuple(found)


def _sieve(stop: int) -> NDArray[np.bool_]:
    """Which numbers below `stop` are prime."""
    prime = np.ones(stop, np.bool_)
    prime[:2] = False
    for number in range(2, isqrt(stop) + 1):
        prime[number * number :: number] = False
    return prime
