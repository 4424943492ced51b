"""Convert integers of any size to text and back; suggest the name nearest to a misspelled one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

# ---------------------------------------------------------------- digits

# Python converts numbers up to this size, in bits and in digits, whatever its limit is set to.
BITS, DIGITS = 2_000, 600
# Decimal digits for each bit.
SHARE = 0.30103


def digits(number: int) -> str:
    """Return the decimal digits of a nonnegative integer."""
    if number.bit_length() <= BITS:
        return str(int(number))
    low = int(number.bit_length() * SHARE) // 2
    before, behind = divmod(int(number), 10**low)
    return digits(before) + digits(behind).zfill(low)


def grouped(number: int) -> str:
    """Return the decimal digits with a comma between groups of three."""
    text = digits(number)
    first = len(text) % 3
    groups = [text[begin : begin + 3] for begin in range(first, len(text), 3)]
    return ",".join([text[:first], *groups] if first else groups)


def number_of(text: str) -> int:
    """Return the integer with these decimal digits."""
    if len(text) <= DIGITS:
        return int(text)
    low = len(text) // 2
    shift: int = 10**low
    return number_of(text[:-low]) * shift + number_of(text[-low:])


# Beyond these exponents every float is 0 or infinite; Python's own exponents have a limit.
_FARTHEST = 9999
_EXPONENT = re.compile(r"([^eE]+)[eE]([+-]?)0*([0-9]+)")


def to_decimal(text: str) -> Decimal:
    """Return the exact number of a text with a point or an exponent."""
    found = _EXPONENT.fullmatch(text)
    if found is not None and len(found[3]) > len(str(_FARTHEST)):
        text = f"{found[1]}e{found[2]}{_FARTHEST}"
    return Decimal(text)


# ---------------------------------------------------------------- nearest

LONGEST = 80  # a longer name is not a typing error, and comparing takes quadratic time


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the known name closest to `name`, or None if none is close."""
    if len(name) > LONGEST:
        return None
    from difflib import get_close_matches  # needed only after an error

    by_folded: dict[str, str] = {}
    for candidate in names:
        by_folded.setdefault(_folded(candidate), candidate)
    cutoff = 0.6 if len(name) > 2 else 0.5
    found = get_close_matches(_folded(name), by_folded, n=1, cutoff=cutoff)
    return by_folded[found[0]] if found else None


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")


def did_you_mean(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return a hint with the nearest known name, or nothing."""
    found = nearest(name, names)
    return (f"did you mean `{found}`?",) if found is not None else ()
