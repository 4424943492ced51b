"""epigrep: all events of a partitioned stream in one call.

Its windows hold between two steps. Matches that are too long as a whole are removed afterwards.
"""

from __future__ import annotations

from importlib import metadata

import numpy as np
from epigrep import Event, Match, Pattern, match

from experiments.rivals import columns, keys
from experiments.rivals.protocol import Answer, Task, Way, serve


def prepare(task: Task) -> Way:
    """Its events, sorted by key as it wants them."""
    events = keys.by_key(task, columns.table(task))
    key, rows = events.key.tolist(), events.rows.tolist()
    stream = [
        Event(f"{part:019}", row, str(code))  # it sorts them as text
        for part, row, code in zip(key, rows, events.codes, strict=True)
    ]
    asked = pattern(task)

    def run() -> list[Match]:
        found = match(asked, stream, exhaustive=True, assume_sorted=True)
        return [each for each in found if each.end - each.start < task.window]

    def count(found: list[Match]) -> Answer:
        shape = (len(found), len(task.bound))
        places = np.array([each.indices for each in found], dtype=np.int64).reshape(shape)
        return keys.answer([events.rows[places]])

    return Way(run, count)


def pattern(task: Task) -> Pattern:
    """The steps, each within the window of the one before."""
    found = Pattern.event("1")
    for at in range(1, task.steps):
        if at != task.negated:
            absent = {"no": str(at)} if at - 1 == task.negated else {}
            found = found.then(str(at + 1), within=task.window - 1, **absent)
    return found.build()


if __name__ == "__main__":
    serve(metadata.version("epigrep"), prepare)
