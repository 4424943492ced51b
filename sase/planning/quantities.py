"""Format numbers for people."""

from __future__ import annotations

from math import floor, log10

# From here on only the number of digits is shown.
_MOST_DIGITS = 1e15


def counted(number: float) -> str:
    """Format a count: exact as an integer, else with three digits."""
    if number < _MOST_DIGITS and isinstance(number, int):
        return f"{number:,}"
    if number < 1000 and number == int(number):
        return f"{int(number):,}"
    return _digits(number)


def duration(nanoseconds: float) -> str:
    """Format a duration in a suitable unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{_digits(nanoseconds / size)} {unit}"
    return f"{_digits(nanoseconds)} ns"


def size(amount: float) -> str:
    """Format a number of bytes in a suitable unit."""
    for unit, large in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if amount >= large:
            return f"{_digits(amount / large)} {unit}"
    return f"{amount:.0f} bytes"


def _digits(number: float) -> str:
    """Format with three digits; only very large or small numbers get a power of ten."""
    if number >= _MOST_DIGITS:
        return f"10^{log10(number):.0f}"
    return f"{float(f'{number:.3g}'):,.0f}" if number >= 100 else f"{number:.3g}"


def percentage(share: float) -> str:
    """Format a share with enough digits to differ from 0 and from 1."""
    rest = min(share, 1 - share) * 100
    digits = 0 if rest <= 0 else min(max(-floor(log10(rest)), 0), 9)
    return f"{share * 100:.{digits}f} %"
