"""Runs of the ways of a point: warmed up, in turn, counted and checked each time."""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import inf, isinf, log10
from typing import Any, NamedTuple

import pyarrow as pa

from experiments.core.experiment import Experiment, LeftOut, Outcome, Point, Size, Way
from experiments.core.load import Reading
from experiments.core.results import LEFT_OUT, MEASURED, TOO_LARGE, TOO_SLOW, Row, now
from experiments.core.times import Times
from experiments.machine import forget_peak, peak_bytes
from sase.engine.kernels.jit.compiler import compilations
from sase.errors import BudgetError

# A way is not tried further on if its first run takes longer than this share of its limit.
GIVE_UP = 0.6
NOT_TRIED = "not tried"
# The limit of all runs of a way at a point after the first, in units of the limit of one.
ROUNDS_FOR = 0.15


class TooSlow(Exception):
    """A run that took longer than it may."""


class Wrong(Exception):
    """Ways that find different results, or not the known one."""


class Sample(NamedTuple):
    """One run: the seconds by the clock and of CPU, and by how many bytes the process grew."""

    wall: float
    cpu: float
    grown: int
    outcome: Outcome


class Stopped(NamedTuple):
    """A run that did not come to its end."""

    status: str
    note: str


def measured(
    experiment: Experiment, point: Point, size: Size, slow: set[tuple[str, str]]
) -> list[Row]:
    """The rows of a point; `slow` are the ways, by panel, that were too slow before it."""
    rounds = replace(size, rounds=0) if experiment.once else size
    if experiment.once or experiment.uses:
        size = replace(size, most_seconds=inf)
    data = point.data()
    before = Reading.now(experiment.cpu)
    found: dict[str, list[Sample] | Stopped] = {}
    ways: dict[str, Way] = {}
    for name, make in point.ways.items():
        if (point.panel, name) in slow:
            found[name] = Stopped(TOO_SLOW, f"{NOT_TRIED}: it took long at the point before")
            continue
        try:
            ways[name] = make(data)
        except LeftOut as reason:
            found[name] = Stopped(LEFT_OUT, str(reason))
    for name, way in ways.items():
        first = _first(way, size.most_seconds, experiment.cpu)
        found[name] = first if isinstance(first, Stopped) else [first]
        if isinstance(first, Stopped) or first.wall > GIVE_UP * size.most_seconds:
            give_up(point, name, slow)
    _check(point, {name: each[0].outcome for name, each in found.items() if _ran(each)})
    _more_rounds(found, ways, rounds, experiment.cpu, point)
    load = Reading.now(experiment.cpu).others_since(before)
    rows = [_row(point, name, found[name], ways.get(name)) for name in point.ways]
    return rows if load is None else [row | {"load": load} for row in rows]


def give_up(point: Point, way: str, slow: set[tuple[str, str]]) -> None:
    """Do not try a way at heavier points, which come later where x is a number."""
    if not isinstance(point.x, str):
        slow.add((point.panel, way))


def warm_up(experiment: Experiment, size: Size) -> None:
    """Run every way once over a few events, so that no kernel is compiled when time counts."""
    for point in experiment.points(size):
        data = point.data()
        for make in point.ways.values():
            with suppress(LeftOut):
                make(data).run()


def _ran(found: list[Sample] | Stopped) -> Any:
    return not isinstance(found, Stopped)


def _first(way: Way, most: float, cpu: Callable[[], float]) -> Sample | Stopped:
    """The first run, or the second where the first compiled kernels."""
    before = compilations()
    try:
        found = _once(way, cpu, most)
        return _once(way, cpu, most) if compilations() > before else found
    except TooSlow:
        if compilations() > before:
            return _first(way, most, cpu)
        return Stopped(TOO_SLOW, f"more than {most:g} s")
    except (BudgetError, MemoryError) as problem:
        return Stopped(TOO_LARGE, str(problem).partition("\n")[0])


def _once(way: Way, cpu: Callable[[], float], most: float = inf) -> Sample:
    gc.collect()
    pa.default_memory_pool().release_unused()
    forget_peak()
    before = peak_bytes()
    cpu_before, start = cpu(), time.perf_counter()
    with _at_most(most):
        found = way.run()
    wall, cpu_taken = time.perf_counter() - start, cpu() - cpu_before
    return Sample(wall, cpu_taken, peak_bytes() - before, way.told(found))


def _more_rounds(
    found: dict[str, list[Sample] | Stopped],
    ways: Mapping[str, Way],
    size: Size,
    cpu: Callable[[], float],
    point: Point,
) -> None:
    """Runs in turn, each round in another order; long ones run less often."""
    rounds = {}
    for name, samples in found.items():
        if not isinstance(samples, Stopped):
            allowed = ROUNDS_FOR * size.most_seconds / max(samples[0].wall, 1e-9)
            rounds[name] = int(min(size.rounds, allowed))
    for turn in range(max(rounds.values(), default=0)):
        names = [name for name in rounds if turn < rounds[name]]
        for place in range(len(names)):
            name = names[(place + turn) % len(names)]
            sample = _once(ways[name], cpu)
            _check(point, {name: sample.outcome, "its first run": found[name][0].outcome})  # type: ignore[index]
            found[name].append(sample)  # type: ignore[union-attr]
    for name, count in rounds.items():
        if count:
            found[name] = found[name][1:]  # type: ignore[index]


def _check(point: Point, outcomes: Mapping[str, Outcome]) -> None:
    """Stop where the number of matches is wrong, or two ways do not agree."""
    where = f"{point.panel} {point.x}".strip()
    for name, outcome in outcomes.items():
        if point.known not in (None, outcome.matches):
            raise Wrong(f"{where}: {name} finds {outcome.matches:,}, right are {point.known:,}")
        if outcome.check is not None and point.known_check not in (None, outcome.check):
            raise Wrong(f"{where}: {name} finds as many as are right, and not those")
    if not point.alike:
        return
    for what in ("matches", "check"):
        told = {name: getattr(outcome, what) for name, outcome in outcomes.items()}
        told = {name: value for name, value in told.items() if value is not None}
        if len(set(told.values())) > 1:
            raise Wrong(f"{where}: the ways do not agree on {what}: {told}")


def _row(point: Point, name: str, found: list[Sample] | Stopped, way: Way | None) -> Row:
    row: Row = {"panel": point.panel, "x": point.x, "way": name, "measured_at": now()}
    if isinstance(found, Stopped):
        return row | {"status": found.status, "note": found.note, "events": point.events}
    assert way is not None
    # A program with a clock of its own does not count its start, nor the reading at its start.
    wall = Times.of([sample.outcome.figures.get("own_s", sample.wall) for sample in found])
    cpu = Times.of([sample.outcome.figures.get("cpu_s", sample.cpu) for sample in found])
    outcome = found[-1].outcome
    figures = dict(outcome.figures) | (dict(way.probe()) if way.probe else {})
    return row | {
        "status": MEASURED,
        "note": "",
        "events": point.events,
        # Counts may have thousands of digits; `log10_matches` is for these.
        "matches": outcome.matches if outcome.matches < 10**18 else "",
        "log10_matches": log10(outcome.matches) if outcome.matches > 0 else "",
        "check": "" if outcome.check is None else outcome.check,
        "rounds": len(found),
        "wall_s": wall.median,
        "wall_low_s": wall.low,
        "wall_high_s": wall.high,
        "grown_bytes": max(sample.grown for sample in found),
        "events_per_s": point.events / wall.median,
        **figures,
        "cpu_s": cpu.median,
        "cpu_low_s": cpu.low,
        "cpu_high_s": cpu.high,
    }


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise TooSlow after so long, when Python comes to run again.

    A library that is left in this way may raise an error of its own in place of it.
    """
    if isinf(seconds):
        yield
        return
    late = list[int]()

    def stop(number: int, frame: object) -> None:
        late.append(number)
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except Exception as problem:
        if late and not isinstance(problem, TooSlow):
            raise TooSlow from problem
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
