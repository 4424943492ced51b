"""Numbers as people read them."""

from __future__ import annotations

from math import floor, log10

# From here on all digits but the number of them would mean nothing to anyone.
_MOST_DIGITS = 1e15


def counted(number: float) -> str:
    """A count: exact as an integer, else to three digits."""
    if number < _MOST_DIGITS and isinstance(number, int):
        return f"{number:,}"
    if number < 1000 and number == int(number):
        return f"{int(number):,}"
    return _digits(number)


def duration(nanoseconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{_digits(nanoseconds / size)} {unit}"
    return f"{_digits(nanoseconds)} ns"


def size(amount: float) -> str:
    """Bytes in the unit that suits them."""
    for unit, large in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if amount >= large:
            return f"{_digits(amount / large)} {unit}"
    return f"{amount:.0f} bytes"


def _digits(number: float) -> str:
    """Three digits, and a power of ten for what is astronomical alone."""
    if number >= _MOST_DIGITS:
        return f"10^{log10(number):.0f}"
    return f"{float(f'{number:.3g}'):,.0f}" if number >= 100 else f"{number:.3g}"


def percentage(share: float) -> str:
    """A share, with as many digits as tell it from nothing and from the whole."""
    rest = min(share, 1 - share) * 100
    digits = 0 if rest <= 0 else min(max(-floor(log10(rest)), 0), 9)
    return f"{share * 100:.{digits}f} %"
