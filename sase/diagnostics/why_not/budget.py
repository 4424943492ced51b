"""Limit the cost of an explanation: partial matches of each search, and the total time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log10

from sase.engine.kernels.jit.compiler import compilations
from sase.engine.resources import Check, no_check

# The share of the remaining time for the first search, of the query itself, and for each other one.
# So the last searches have time, too.
FIRST, SHARE = 1 / 2, 1 / 4
FEW = 1 << 17
# Greater numbers are shown as powers of ten; `to_dict` has all digits.
LONG = 10**15


class BudgetSpent(Exception):  # not an error
    """A search has used its share of the time."""


@dataclass(frozen=True, slots=True)
class Count:
    """A number; a lower bound if the budget ended the counting."""

    number: int
    is_exact: bool = True

    @property
    def is_none(self) -> bool:
        """Whether the number is certainly 0."""
        return self.is_exact and not self.number

    def __str__(self) -> str:
        return _shown(self.number) if self.is_exact else f"at least {_shown(self.number)}"


def _shown(number: int) -> str:
    """Format a number; large ones by magnitude."""
    if number < LONG:
        return f"{number:,}"
    exponent = int(number.bit_length() * log10(2)) - 1
    while 10 ** (exponent + 1) <= number:
        exponent += 1
    return f"{number // 10 ** (exponent - 1) / 10:.1f}e{exponent}"


class Budget:
    """Limits the matches of each search and the seconds of all, without compilation.

    `check` stops everything with an error.
    """

    def __init__(
        self, most: int, seconds: float, clock: Callable[[], float], check: Check = no_check
    ) -> None:
        self.most, self._left, self._clock, self.check = most, seconds, clock, check
        self._share = FIRST

    @property
    def is_spent(self) -> bool:
        """Whether no time is left for another search."""
        return self._left < 0

    def share(self, events: int) -> Callable[[int], None]:
        """Return a callback for a search of some events; it raises when the share is used."""
        share, compiled = self._left * self._share, compilations()
        self._share = SHARE
        # Loading few events does not count.
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
