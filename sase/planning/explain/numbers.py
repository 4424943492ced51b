"""Numbers as people read them."""

from __future__ import annotations

from math import floor, log10


def counted(number: float) -> str:
    """A count: exact as an integer, else to three digits."""
    if isinstance(number, int) or (number < 1000 and number == int(number)):
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
    """Three digits, and never a power of ten for what is large."""
    return f"{float(f'{number:.3g}'):,.0f}" if number >= 100 else f"{number:.3g}"


def percentage(share: float) -> str:
    """A share, with as many digits as tell it from nothing and from the whole."""
    rest = min(share, 1 - share) * 100
    digits = 0 if rest <= 0 else min(max(-floor(log10(rest)), 0), 9)
    return f"{share * 100:.{digits}f} %"
