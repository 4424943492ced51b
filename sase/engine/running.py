"""How a plan runs over events that are all there is."""

from __future__ import annotations

from collections.abc import Generator

from sase.engine.found import Found
from sase.engine.matcher import Matcher
from sase.engine.matches import Matches
from sase.engine.plan import EnginePlan
from sase.engine.report import Report
from sase.errors import PlanError


def run(
    plan: EnginePlan, events: object, *, threads: int | None = None, most: int | None = None
) -> Matches:
    """The matches, to be searched for when they are asked for; the events are read at once."""
    if threads not in (None, 1):
        raise PlanError("this version runs a plan in one thread: leave out  threads=…")
    fresh = [Matcher(plan, streaming=False)]
    inputs, loaded = fresh[0].load(events)

    def search() -> Generator[Found, None, Report]:
        matcher = fresh.pop() if fresh else Matcher(plan, streaming=False)
        return matcher.search(inputs, loaded)

    return Matches(search, most=most)
