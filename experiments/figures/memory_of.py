"""Ours: the memory of a run, and the state of a stream with keys that never repeat."""

from __future__ import annotations

from collections.abc import Iterator

from experiments import memory
from experiments.cells import CELLS
from experiments.core.checks import Check
from experiments.core.experiment import (
    Experiment,
    Finding,
    Outcome,
    Plot,
    Point,
    Size,
    Verdict,
    Way,
)
from experiments.core.results import Results
from experiments.core.ways import Make
from experiments.process_tree import children_seconds

RUN, STATE = "a run beside its columns", "the state of a stream"


def points(size: Size) -> Iterator[Point]:
    """Runs of two cells, and streams of two kinds of keys; each in a process of its own."""
    for cell in CELLS:
        if cell.name in size.of(("Q1/D1", "Q1/D3", "Q4/D1"), ("Q1/D1",), ()):
            yield Point(cell.name, {"plan.run": _of_run(cell)}, _nothing, cell.stream.events, RUN)
    for events in size.of((200_000, 1_000_000, 5_000_000), (200_000, 400_000), (110_000,)):
        ways = {
            keys: _of_stream(keys, events)
            for keys in size.of(memory.KEYS, memory.KEYS, ("integers",))
        }
        yield Point(events, ways, _nothing, events, STATE)


def _nothing() -> None:
    return None


def _of_run(cell: object) -> Make:
    def told(growth: memory.Growth) -> Outcome:
        figures = {"grown_mb": growth.grown / 1e6, "read_mb": growth.read / 1e6}
        return Outcome(cell.matches, None, figures)  # type: ignore[attr-defined]

    return lambda data: Way(lambda: memory.of_run(cell), told)  # type: ignore[arg-type]


def _of_stream(keys: memory.Keys, events: int) -> Make:
    def told(grown: dict[int, int]) -> Outcome:
        return Outcome(0, None, {"grown_mb": grown[events] / 1e6})

    return lambda data: Way(lambda: memory.of_stream(keys, [events]), told)


def stays(most: float) -> Check:
    """The state after all events is at most `most` MB above that after the first."""

    required = f"at most {most:g} MB more"

    def check(results: Results) -> Verdict:
        told, holds = [], []
        for keys in results.ways(STATE):
            curve = [mb for _, mb in results.curve(keys, "grown_mb", STATE)]
            if len(curve) > 1:
                told.append(f"{keys}: {curve[0]:.1f} MB, then {curve[-1]:.1f} MB")
                holds.append(curve[-1] - curve[0] <= most)
        return Verdict(all(holds) if holds else None, "; ".join(told) or "one point only", required)

    return check


EXPERIMENT = Experiment(
    "memory",
    "Memory: of a run, and of a stream whose keys never repeat",
    "Ours",
    "the state of a stream should stay the same however long it is.",
    points,
    (Plot("grown_mb", "MB above what was held before", "", bars=True),),
    (
        Finding(
            "the state of a stream stays (within 2 MB)",
            stays(2.0),
        ),
    ),
    ("grown_mb", "read_mb"),
    cpu=children_seconds,
)
