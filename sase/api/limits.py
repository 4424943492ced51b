"""The limits of a run as callers give them: seconds or text with a unit, bytes or text with one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING

from sase.engine.pipeline.limits import CALL, RUN, SECOND, LimitedWork, Limits, RunGuard
from sase.errors import PlanError

if TYPE_CHECKING:
    from sase.engine.sources.discovered import Discovered

_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")
# The unit of a number without one, and all units.
_TIME = {"": 1.0, "ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
_SIZES = {name: 1000**power for power, name in enumerate(["b", "kb", "mb", "gb", "tb"])}
_MEMORY = {"": 1.0, **_SIZES, **{f"{n[0]}ib": 1024.0**p for p, n in enumerate(_SIZES) if p}}


def limits_of(timeout: object, max_memory: object) -> Limits:
    """The limits of a run, where there are any."""
    seconds = _amount("timeout", timeout, _TIME, 'seconds, or a text such as "30s" or "5 min"')
    size = _amount("max_memory", max_memory, _MEMORY, 'bytes, or a text such as "500MB" or "2 GiB"')
    return Limits(
        None if seconds is None else math.ceil(seconds * SECOND),
        None if size is None else math.ceil(size),
    )


def guard_of(limits: Limits, clock: Callable[[], int], work: LimitedWork = RUN) -> RunGuard | None:
    """What ends work that exceeds its limits; None without any."""
    return None if limits.are_none else RunGuard(limits, clock, work)


def guard_of_calls(timeout: object, max_memory: object) -> RunGuard | None:
    """What ends calls to a matcher that exceed their limits."""
    return guard_of(limits_of(timeout, max_memory), perf_counter_ns, CALL)


def bound(source: Discovered, guard: RunGuard | None) -> None:
    """Have files be read within the limits of a guard."""
    if guard is not None:
        from sase.engine.pipeline.batch import most_held

        source.limit(guard.check, most_held(guard))


def _amount(option: str, given: object, units: dict[str, float], right: str) -> float | None:
    if given is None:
        return None
    number: float | None = None
    if isinstance(given, int | float) and not isinstance(given, bool):
        number = float(given)
    elif isinstance(given, str) and (found := _AMOUNT.fullmatch(given)) is not None:
        unit = units.get(found[2].lower())
        number = None if unit is None else float(found[1]) * unit
    if number is None or not 0 < number < float("inf"):
        raise PlanError(f"{option}={given!r}: give a number of {right}, greater than 0, or None")
    return number
