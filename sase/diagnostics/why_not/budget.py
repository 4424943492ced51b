"""Bound what an explanation costs: partial matches for each search, and time for all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log10

from sase.engine.kernels.jit.compiler import compilations
from sase.engine.resources import Check, no_check

# Of the time that is left the first search, of the query itself, may take so much, and each other
# one less, so that the last ones have some, too.
FIRST, SHARE = 1 / 2, 1 / 4
FEW = 1 << 17
# From here on numbers are shown as powers of ten; `to_dict` has all their digits.
LONG = 10**15


class BudgetSpent(Exception):  # it is no error
    """A search has had its share of the time."""


@dataclass(frozen=True, slots=True)
class Count:
    """A number; where the budget ended the counting there are at least so many."""

    number: int
    is_exact: bool = True

    @property
    def is_none(self) -> bool:
        """Whether it is certain that there is none."""
        return self.is_exact and not self.number

    def __str__(self) -> str:
        return _shown(self.number) if self.is_exact else f"at least {_shown(self.number)}"


def _shown(number: int) -> str:
    """Write a number, one of many digits by its magnitude."""
    if number < LONG:
        return f"{number:,}"
    exponent = int(number.bit_length() * log10(2)) - 1
    while 10 ** (exponent + 1) <= number:
        exponent += 1
    return f"{number // 10 ** (exponent - 1) / 10:.1f}e{exponent}"


class Budget:
    """At most so many matches for each search, and seconds for all, but for compiling kernels.

    `check` ends all of it with an error.
    """

    def __init__(
        self, most: int, seconds: float, clock: Callable[[], float], check: Check = no_check
    ) -> None:
        self.most, self._left, self._clock, self.check = most, seconds, clock, check
        self._share = FIRST

    @property
    def is_spent(self) -> bool:
        """Whether there is no time left for another search."""
        return self._left < 0

    def share(self, events: int) -> Callable[[int], None]:
        """Return what a search of so many events calls now and then: in the end it raises."""
        share, compiled = self._left * self._share, compilations()
        self._share = SHARE
        # To load few events does not count.
        before = None if events <= FEW else self._clock()

        def look(rows: int) -> None:
            nonlocal share, before, compiled
            self.check(0)
            now, known = self._clock(), compilations()
            if before is not None and known == compiled:
                self._left -= now - before
                share -= now - before
            before, compiled = now, known
            if share < 0:
                raise BudgetSpent

        return look
