"""Checks of the arguments of public functions, and the limits of a run from these arguments."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from operator import index
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from sase.binding.input_options import check_choice
from sase.engine.pipeline.limits import CALL, RUN, SECOND, LimitedWork, Limits, RunGuard
from sase.errors import PlanError

if TYPE_CHECKING:
    from sase.engine.sources.discovered import Discovered


# ---------------------------------------------------------------- limits

_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")
# The unit of a number without a unit, and all units.
_TIME = {"": 1.0, "ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
_SIZES = {name: 1000**power for power, name in enumerate(["b", "kb", "mb", "gb", "tb"])}
_MEMORY = {"": 1.0, **_SIZES, **{f"{n[0]}ib": 1024.0**p for p, n in enumerate(_SIZES) if p}}


def limits_of(timeout: object, max_memory: object) -> Limits:
    """Return the limits of a run, unlimited by default."""
    seconds = _amount("timeout", timeout, _TIME, 'seconds, or a text such as "30s" or "5 min"')
    size = _amount("max_memory", max_memory, _MEMORY, 'bytes, or a text such as "500MB" or "2 GiB"')
    return Limits(
        None if seconds is None else math.ceil(seconds * SECOND),
        None if size is None else math.ceil(size),
    )


def guard_of(limits: Limits, clock: Callable[[], int], work: LimitedWork = RUN) -> RunGuard | None:
    """Return a guard that ends work when it exceeds its limits; None without limits."""
    return None if limits.are_none else RunGuard(limits, clock, work)


def guard_of_calls(timeout: object, max_memory: object) -> RunGuard | None:
    """Return a guard that ends calls to a matcher when they exceed their limits."""
    return guard_of(limits_of(timeout, max_memory), perf_counter_ns, CALL)


def bound(source: Discovered, guard: RunGuard | None) -> None:
    """Limit the reading of files by a guard."""
    if guard is not None:
        from sase.engine.pipeline.batch import most_held

        source.limit(guard.check, most_held(guard))


def _amount(option: str, value: object, units: dict[str, float], right: str) -> float | None:
    if value is None:
        return None
    number: float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, str) and (found := _AMOUNT.fullmatch(value)) is not None:
        unit = units.get(found[2].lower())
        number = None if unit is None else float(found[1]) * unit
    if number is None or not 0 < number < float("inf"):
        raise PlanError(f"{option}={value!r}: give a number of {right}, greater than 0, or None")
    return number


# ---------------------------------------------------------------- checks

# The forms of results that list matches, and all forms.
LISTED = ("all", "non_overlap")
OUTPUTS = (*LISTED, "compressed", "count")


def check_events(events: object, streams: object) -> None:
    """Refuse a call without events."""
    if events is None and streams is None:
        raise PlanError("there are no events: give them, or  streams={name: …}")


def check_query(value: object) -> None:
    """Refuse a query that is not a text."""
    if isinstance(value, str):
        if not any(map(str.isspace, value)) and os.path.isfile(value):
            raise PlanError(
                f"{value} is a file, and the text of a query comes first:"
                " give  pathlib.Path(…).read_text()"
            )
        return
    remedy = ": decode it, such as  query.decode()" if isinstance(value, bytes) else ""
    raise PlanError(f"a query is text, and this is of type {type(value).__name__}{remedy}")


def check_params(value: object) -> None:
    """Refuse parameters that do not name values of a query."""
    if value is None or (isinstance(value, Mapping) and all(isinstance(n, str) for n in value)):
        return
    raise PlanError(f"params={value!r}: give a dict of name → value, such as  {{'id': 7}}")


def check_number(
    option: str, value: Any, least: int = 0, why: str = "a number of matches is not negative"
) -> None:
    """Refuse a value that is not a whole number or is below the least, and say why."""
    if value is None:
        return
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is None:
        raise PlanError(f"{option}={value!r}: give a whole number from {least}, or None")
    if number < least:
        raise PlanError(f"{option}={value}: {why}")


def check_bounds(threads: object, max_matches: object) -> None:
    """Refuse invalid numbers of threads and of matches."""
    check_number("threads", threads, 1, "a run takes at least one thread")
    check_number("max_matches", max_matches)


def check_output(value: str) -> None:
    """Refuse an unknown form of results."""
    check_choice("output", value, OUTPUTS)


def check_is_listed(value: str) -> None:
    """Refuse a form of results that lists no matches: plans and matchers do not have it."""
    check_output(value)
    if value not in LISTED:
        raise PlanError(
            f'output="{value}" is of all events there are: give it to sase.match, or to sase run as'
            f" --output {value}; a plan lists its matches"
        )
