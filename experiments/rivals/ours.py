"""This engine: a prepared plan on the columns."""

from __future__ import annotations

import sase
from experiments.rivals import columns
from experiments.rivals.protocol import Task, Way, serve

FEW = 1000  # events with which kernels are compiled that are not in Numba's cache yet


def prepare(task: Task) -> Way:
    """A plan for the columns with the types as a dictionary."""
    named = [name for name in task.columns if name != "code"]
    table = columns.table(task, ["type", *named])
    plan = sase.compile(task.text, table)
    len(plan.run(table.slice(0, FEW), threads=task.threads).rows)
    return Way(
        lambda: plan.run(table, threads=task.threads).rows,
        lambda rows: columns.answer(task, rows),
    )


if __name__ == "__main__":
    serve(sase.__version__, prepare)
