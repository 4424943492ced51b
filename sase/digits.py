"""Integers of any size as text: Python itself writes and reads a few thousand digits at most."""

from __future__ import annotations

import re
from decimal import Decimal

# What Python converts under every limit that it can be given, in bits and in digits.
BITS, DIGITS = 2_000, 600
# The decimal digits of a bit.
SHARE = 0.30103


def digits(number: int) -> str:
    """The decimal digits of an integer that is not negative."""
    if number.bit_length() <= BITS:
        return str(int(number))
    low = int(number.bit_length() * SHARE) // 2
    before, behind = divmod(int(number), 10**low)
    return digits(before) + digits(behind).zfill(low)


def grouped(number: int) -> str:
    """The digits with a comma after each thousand."""
    text = digits(number)
    first = len(text) % 3
    groups = [text[begin : begin + 3] for begin in range(first, len(text), 3)]
    return ",".join([text[:first], *groups] if first else groups)


def number_of(text: str) -> int:
    """The integer that some decimal digits are."""
    if len(text) <= DIGITS:
        return int(text)
    low = len(text) // 2
    shift: int = 10**low
    return number_of(text[:-low]) * shift + number_of(text[-low:])


# Exponents beyond which every number is 0 or infinite as a float; Python's own have a limit.
_FARTHEST = 9999
_EXPONENT = re.compile(r"([^eE]+)[eE]([+-]?)0*([0-9]+)")


def to_decimal(text: str) -> Decimal:
    """The number of digits with a point or an exponent, as they are written."""
    found = _EXPONENT.fullmatch(text)
    if found is not None and len(found[3]) > len(str(_FARTHEST)):
        text = f"{found[1]}e{found[2]}{_FARTHEST}"
    return Decimal(text)
