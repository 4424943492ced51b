"""Checks of the arguments of public functions, with errors that say what would be right."""

from __future__ import annotations

import os
from collections.abc import Mapping
from operator import index
from typing import Any

from sase.binding.input_options import check_choice
from sase.errors import PlanError

# The forms of results in which matches are listed, and all.
LISTED = ("all", "non_overlap")
OUTPUTS = (*LISTED, "compressed", "count")


def check_events(events: object, streams: object) -> None:
    """Refuse to look for matches in nothing."""
    if events is None and streams is None:
        raise PlanError("there are no events: give them, or  streams={name: …}")


def check_query(given: object) -> None:
    """Refuse what is no text."""
    if isinstance(given, str):
        if not any(map(str.isspace, given)) and os.path.isfile(given):
            raise PlanError(
                f"{given} is a file, and the text of a query comes first:"
                " give  pathlib.Path(…).read_text()"
            )
        return
    remedy = ": decode it, such as  query.decode()" if isinstance(given, bytes) else ""
    raise PlanError(f"a query is text, and this is of type {type(given).__name__}{remedy}")


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


def check_output(given: str) -> None:
    """Refuse a form of results that there is not."""
    check_choice("output", given, OUTPUTS)


def check_is_listed(given: str) -> None:
    """Refuse a form of results that lists no matches: plans and matchers have none."""
    check_output(given)
    if given not in LISTED:
        raise PlanError(
            f'output="{given}" is of all events there are: give it to sase.match, or to sase run as'
            f" --output {given}; a plan lists its matches"
        )
