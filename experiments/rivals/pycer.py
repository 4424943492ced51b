"""CORE, by its engine in the process: events sent in one list, matches fetched as its text."""

from __future__ import annotations

import re
from importlib import metadata

import pycer

from experiments.rivals import columns
from experiments.rivals.protocol import Answer, Task, Way, serve

TYPES = 20
EVENT = re.compile(r"attributes: \[(\d+)")  # of which the first is the time


def prepare(task: Task) -> Way:
    """Its events."""
    attributes = ["ts", *task.keys]
    table = columns.table(task)
    values = [table[name].to_pylist() for name in attributes]
    events = [
        pycer.PyEvent(code - 1, [pycer.PyIntValue(each) for each in row], pycer.PyIntValue(row[0]))
        for code, *row in zip(table["code"].to_pylist(), *values, strict=True)
    ]

    def run() -> str:
        server = pycer.PyOfflineServer()
        stream = server.declare_stream(declaration(attributes))
        if [each.id for each in stream.events_info] != list(range(TYPES)):
            raise RuntimeError("the types have other numbers than expected")
        server.add_query(query(task))
        server.send_events(events)
        return str(server.get_output())

    return Way(run, lambda told: answer(task, told))


def declaration(attributes: list[str]) -> str:
    """The stream with all types."""
    named = ", ".join(f"{name}:int" for name in attributes)
    types = ", ".join(f"EVENT E{number} {{ {named} }}" for number in range(1, TYPES + 1))
    return f"CREATE STREAM S {{ {types} }}"


def query(task: Task) -> str:
    """In CEQL; the absence of Q3 is a row of events of other types between the two."""
    steps = [f"E{task.variables.index(name) + 1} as {name}" for name in task.bound]
    formula = f"({'; '.join(steps)})"
    if task.negated is not None:
        first, last = steps
        between = f"NOT(E{task.negated + 1})"
        formula = f"(({first} : {last}) OR ({first} : {between}:+ : {last}))"
    shared = ", ".join(f"[{key}]" for key in task.keys)
    return (
        f"SELECT {', '.join(task.bound)} FROM S WHERE {formula}"
        f" PARTITION BY {shared} WITHIN {task.window} [ts] CONSUME BY NONE"
    )


def answer(task: Task, told: str) -> Answer:
    """Of its text, a line for each match."""
    rows = [int(found) for found in EVENT.findall(told)]
    return Answer(len(rows) // len(task.bound), sum(rows), len(set(rows[:: len(task.bound)])))


if __name__ == "__main__":
    serve(metadata.version("pycer"), prepare)
