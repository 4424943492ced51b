"""Check the arguments of generators."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from math import isclose, isfinite
from numbers import Real
from typing import SupportsIndex

from sase.errors import SaseError


class GeneratorError(SaseError):
    """An argument of a generator that is out of range, or of the wrong kind."""


def whole(name: str, value: SupportsIndex, at_least: int = 0, at_most: int = 2**63 - 1) -> int:
    """Check an integer between two bounds, both included."""
    try:
        number = operator.index(value)
    except TypeError:
        raise GeneratorError(f"{name} is {value!r}, and should be a whole number") from None
    if isinstance(value, bool) or not at_least <= number <= at_most:
        most = "" if at_most == 2**63 - 1 else f" and at most {at_most:,}"
        raise GeneratorError(f"{name} is {value!r}, and should be at least {at_least:,}{most}")
    return number


def wholes(
    name: str, one: str, values: Sequence[SupportsIndex], at_least: int, at_most: int
) -> list[int]:
    """Check a list of integers between two bounds."""
    if not isinstance(values, Iterable):
        raise GeneratorError(f"{name} is {values!r}, and should be a list of whole numbers")
    return [whole(one, value, at_least, at_most) for value in values]


def skew(name: str, value: float) -> float:
    """Check the exponent of a Zipf distribution: 0 means uniform."""
    if not _is_number(value) or not 0 <= value <= 100:
        raise GeneratorError(f"{name} is {value!r}, and should be 0 for no skew, or up to 100")
    return float(value)


def shares(name: str, values: Sequence[float], count: int) -> tuple[float, ...]:
    """Check probabilities that add up to 1."""
    given = tuple(values) if isinstance(values, Iterable) else ()
    if len(given) != count or not all(_is_number(value) and value >= 0 for value in given):
        raise GeneratorError(f"{name} is {values!r}, and should be {count} probabilities")
    if not isclose(sum(given), 1, abs_tol=1e-9):
        raise GeneratorError(f"{name} is {values!r}: the probabilities should add up to 1")
    return given


def moment(name: str, value: datetime) -> int:
    """Convert a time with a zone to microseconds since 1970."""
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise GeneratorError(f"{name} is {value!r}, and should be a datetime with a time zone")
    return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def one_of(name: str, value: str, known: Sequence[str]) -> str:
    """Check that a name is a known one."""
    if value not in known:
        listed = ", ".join(repr(each) for each in known)
        raise GeneratorError(f"{name} is {value!r}, and should be one of {listed}")
    return value


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, Real) and isfinite(value)
