"""What callers give for options is of the kind that these take, or refused in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import Any

from sase.errors import PlanError


def check_query(given: object) -> None:
    """Refuse what is no text."""
    if isinstance(given, str):
        return
    remedy = ": decode it, such as  query.decode()" if isinstance(given, bytes) else ""
    raise PlanError(f"a query is text, and this is of type {type(given).__name__}{remedy}")


def check_name(option: str, given: object, *, may_be_none: bool = True) -> None:
    """Refuse what is no name."""
    if isinstance(given, str) or (given is None and may_be_none):
        return
    what = "a name as text" if may_be_none is False else "a name as text, or None"
    raise PlanError(f"{option}={given!r}: give {what}")


def check_names(
    *,
    time: object = "",
    type: object = None,
    seq: object = None,
    time_unit: object = None,
    types: object = None,
) -> None:
    """Refuse what cannot say what the columns of events are."""
    check_name("time", time, may_be_none=False)
    for option, given in {"type": type, "seq": seq, "time_unit": time_unit}.items():
        check_name(option, given)
    if types is not None and not isinstance(types, Iterable | Mapping) or isinstance(types, bytes):
        raise PlanError(
            f"types={types!r}: give a list of names, or a dict of each name → the list of its"
            " attributes, or the condition that defines it"
        )


def check_params(given: object) -> None:
    """Refuse what does not name the values of a query."""
    if given is None or (isinstance(given, Mapping) and all(isinstance(n, str) for n in given)):
        return
    raise PlanError(f"params={given!r}: give a dict of name → value, such as  {{'id': 7}}")


def check_number(
    option: str, given: Any, least: int = 0, why: str = "a number of matches is not negative"
) -> None:
    """Refuse what is no whole number, or less than the least, and say why."""
    if given is None:
        return
    try:
        number = None if isinstance(given, bool) else index(given)
    except TypeError:
        number = None
    if number is None:
        raise PlanError(f"{option}={given!r}: give a whole number from {least}, or None")
    if number < least:
        raise PlanError(f"{option}={given}: {why}")


def check_bounds(threads: object, max_matches: object) -> None:
    """Refuse numbers of threads and of matches that are none."""
    check_number("threads", threads, 1, "a run takes at least one thread")
    check_number("max_matches", max_matches)
