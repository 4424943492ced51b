"""Look for sets and earliest_maximal in streams with late rows that the engine answers otherwise.

    python -m tests.engine.sets.late SEED COUNT

pushes rows out of order, cut, advanced and restarted anywhere: the matches are those that the naive
matcher finds among the rows that are not late.
"""

from __future__ import annotations

import sys
import traceback
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tests.engine.matching.late_rows import (
    JITTER,
    Live,
    lateness_of,
    modelled,
    moment,
    steps,
    timeline,
    without_late,
)
from tests.engine.matching.streams import TABLES
from tests.engine.matching.ways import given, plan_of
from tests.engine.series.comparing import Found, differences, found, joined
from tests.engine.series.examples import drawn
from tests.engine.sets.examples import examples
from tests.engine.sets.hunt import by_any


@st.composite
def lives(draw: st.DrawFn) -> Live:
    """A stream whose rows arrive nearly in order."""
    example = draw(examples().filter(lambda each: each.setting.layout != TABLES))
    rows = sorted(example.rows, key=example.setting.key)
    places = [place + draw(JITTER) for place in range(len(rows))]
    rows = [rows[place] for place in sorted(range(len(rows)), key=places.__getitem__)]
    ticks = draw(st.sampled_from([0, 1, 2, 3, 5]))
    way = replace(draw(by_any), manner="push")
    return Live(
        replace(example, rows=rows),
        way,
        ticks,
        tuple(draw(st.lists(steps, min_size=1, max_size=5))),
    )


def told(live: Live) -> Found:
    """All that a stream tells."""
    table = live.example.table
    plan = replace(plan_of(live.example, live.way, table), lateness=lateness_of(live))
    matcher, parts = plan.open(), list[Found]()
    for rows, step in timeline(live):
        parts.append(found(matcher.push(given(table.slice(rows.start, len(rows)), step.form))))
        if step.tick is not None:
            parts.append(found(matcher.advance(moment(live, step))))
        if step.restart:
            matcher = plan.restore(matcher.snapshot())
    return joined([*parts, found(matcher.finish())])


def fault(live: Live) -> str | None:
    """What the engine does wrong."""
    if live.example.is_refused:  # type: ignore[attr-defined]
        return None
    model, _ = modelled(live)
    example: Any = without_late(live, model)
    try:
        got = told(live)
    except Exception as error:
        return "".join(traceback.format_exception(error)[-3:])
    counted = got._replace(rows=[_renumbered(row, model.kept) for row in got.rows])
    return next(differences(example, counted), None)


def _renumbered(rows: Any, kept: list[int]) -> Any:
    """With the rows counted without the late ones."""
    if isinstance(rows, list | tuple):
        return type(rows)(_renumbered(each, kept) for each in rows)
    return None if rows is None else kept.index(rows)


def case(number: int) -> Live:
    """The stream of a number."""
    live: Live = drawn(number, lives())
    return live


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:3])
    faults = 0
    for number in range(first, first + count):
        wrong = fault(case(number))
        if wrong is not None:
            faults += 1
            print(f"{number}: {case(number)}\n  {wrong}\n", flush=True)
    print(f"{count} examples: {faults} faults")
    sys.exit(bool(faults))
