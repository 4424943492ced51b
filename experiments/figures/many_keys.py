"""Ours: three shapes over events of ten users to ten million, beside C programs for each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, lru_cache, partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

import sase
from experiments.core.checks import Check, works_more
from experiments.core.experiment import (
    Experiment,
    Finding,
    LeftOut,
    Outcome,
    Plot,
    Point,
    Reason,
    Size,
    Verdict,
    Way,
)
from experiments.core.results import Results
from experiments.core.ways import Make
from experiments.many_keys import BATCH, KINDS, MOST, SHAPES, STREAM, Program, Users, row_sum

FOLDER = Path(__file__).parents[2] / "build/experiments/many_keys"
C, TWICE, BATCH_C = "C, one thread", "C, twice at once", "C for a batch, one thread"
THREADS = {"one thread": 1, "two threads": 2}
# The numbers of users, from the least to the greatest, for which the lead of C is checked; and the
# factor by which two threads are to be faster, with a million.
FEW, MANY, MILLION, GAIN = 100_000, 5_000_000, 1_000_000, 1.6
# The part of the gain of two programs of C that explains a lesser gain.
NEARLY = 0.9
# How many times as long two threads work at the least, and how many cores they keep busy at the
# most, where both explain a lesser gain.
MORE, BUSY = 1.05, 1.9
# The kinds of which the fewest and the most users are measured.
OUTER = ("dense", "text")
# A kind that makes no difference to the program in C, which reads the indices of a dictionary.
SAME_TO_C = ("dense", "dictionary")


class Data(NamedTuple):
    """Events, as a table with users of a kind, and in the folder of the program in C."""

    events: Users
    table: pa.Table


@cache
def _program(name: str = STREAM) -> Program:
    """A program, compiled."""
    if shutil.which("cc") is None:
        raise LeftOut("there is no C compiler")
    FOLDER.mkdir(parents=True, exist_ok=True)
    return Program(FOLDER, name)


@lru_cache(1)
def _events(count: int, keys: int) -> Users:
    return Users.drawn(count, keys)


@lru_cache(1)
def _data(count: int, keys: int, kind: str) -> Data:
    events = _events(count, keys)
    with suppress(LeftOut):
        _program().write(events, (kind,))
    return Data(events, events.table(kind))


def points(size: Size) -> Iterator[Point]:
    """A panel for each kind of keys and each shape, over the number of users.

    Two kinds also have the least and the greatest number, which no finding compares.
    """
    count = size.of(10_000_000, 1_000_000, 20_000)
    for keys in size.of((10, FEW, MILLION, MANY, 10_000_000), (10_000, FEW), (100,)):
        is_outer = size.name == "full" and not FEW <= keys <= MANY
        for kind, shape in product(OUTER if is_outer else KINDS, SHAPES):
            ways: dict[str, Make] = {way: _ours(shape, n) for way, n in THREADS.items()}
            ways[C] = _theirs(shape, kind, 1)
            ways[BATCH_C] = _theirs(shape, kind, 1, BATCH)
            if keys == size.of(MILLION, FEW, 100):
                ways[TWICE] = _theirs(shape, kind, 2)
            yield Point(keys, ways, partial(_data, count, keys, kind), count, panel(kind, shape))


def panel(kind: str, shape: str) -> str:
    """The name of a panel."""
    return f"{kind} users, {shape}"


def _ours(shape: str, threads: int) -> Make:
    def make(data: Data) -> Way:
        query = f"EVENT {SHAPES[shape]} WITHIN {data.events.span}"
        plan = sase.compile(query, data.table)

        def run() -> sase.Matches:
            matches = plan.run(data.table, threads=threads)
            assert len(matches)  # until they are counted
            return matches

        return Way(run, lambda matches: Outcome(len(matches), row_sum(matches.rows)))

    return make


def _theirs(shape: str, kind: str, copies: int, name: str = STREAM) -> Make:
    def make(data: Data) -> Way:
        program = _program(name)

        def run() -> tuple[float, tuple[int, int]]:
            return program.run(shape, kind, data.events.span, copies)

        def told(ran: tuple[float, tuple[int, int]]) -> Outcome:
            seconds, found = ran
            return Outcome(*found, {"own_s": seconds, "cpu_s": seconds})

        return Way(run, told)

    return make


def near_c(shape: str) -> Check:
    """One thread takes at most a factor of the processor time of C, whatever the kind."""

    required = f"at most {MOST[shape]:g}"

    def check(results: Results) -> Verdict:
        found = {
            f"{kind}, {keys:,.0f}": ratio for (kind, keys), ratio in _of_c(results, shape).items()
        }
        if not found:
            return Verdict(None, "not measured", required)
        worst = max(found, key=lambda each: found[each])
        told = f"{min(found.values()):.2f} to {found[worst]:.2f} times C, most of {worst}"
        return Verdict(found[worst] <= MOST[shape], told, required)

    return check


def is_c_uneven(shape: str) -> Check:
    """C took longer for a kind that makes no difference to it, so ours is near enough to that."""

    required = f"within {MOST[shape]:g} times the slower of both kinds"

    def check(results: Results) -> Verdict:
        over = {at: ratio for at, ratio in _of_c(results, shape).items() if ratio > MOST[shape]}
        told, is_so = list[str](), True
        for (kind, keys), ratio in over.items():
            both = [results.at(C, keys, "wall_s", panel(each, shape)) for each in SAME_TO_C]
            known = sorted(each for each in both if each is not None)
            is_same = kind in SAME_TO_C and len(known) == len(both)
            is_so &= is_same and ratio * known[0] <= MOST[shape] * known[-1]
            told += [f"{kind}, {keys:,.0f}: {known[0]:.3f} s and {known[-1]:.3f} s"] * is_same
        return Verdict(
            is_so if over else None, ", ".join(told) or "not measured, or near enough", required
        )

    return check


def _of_c(results: Results, shape: str) -> dict[tuple[str, float], float]:
    """How many times the processor time of C one thread takes, by kind and number of users."""
    return {
        (kind, keys): ratio
        for kind in KINDS
        for keys, ratio in results.ratios("one thread", C, "cpu_s", panel(kind, shape)).items()
        if FEW <= keys <= MANY
    }


def gains(results: Results) -> Verdict:
    """Two threads on a million users are faster than one by at least the expected factor."""
    required = f"at least {GAIN:g}"
    found = _gained(results)
    if not found:
        return Verdict(None, "not measured", required)
    told = ", ".join(f"{name}: {ratio:.3f}" for name, ratio in found.items())
    return Verdict(min(found.values()) >= GAIN, told, required)


def is_work_more(results: Results) -> Verdict:
    """That two threads work longer together, and not all the time, where they gain too little."""
    work = _of_million(results, "two threads", "one thread", "cpu_s")
    found = {name: (work[name], gain * work[name]) for name, gain in _too_little(results).items()}
    return works_more(found, MORE, BUSY)


def is_machine_slower(results: Results) -> Verdict:
    """That two copies of the C program gain hardly more where two threads gain too little."""
    required = f"at least {NEARLY:g} of the gain of C"
    theirs = _of_million(results, C, TWICE, "wall_s")
    gained = _too_little(results)
    found = {name: (gain, 2 * theirs[name]) for name, gain in gained.items() if name in theirs}
    told = ", ".join(f"{name}: {gain:.2f} of {most:.2f}" for name, (gain, most) in found.items())
    is_so = all(gain >= NEARLY * most for gain, most in found.values()) if found else None
    return Verdict(is_so, told or "not measured, or fast enough", required)


def _gained(results: Results) -> dict[str, float]:
    return _of_million(results, "one thread", "two threads", "wall_s")


def _too_little(results: Results) -> dict[str, float]:
    """The gain of two threads if that is too little."""
    return {name: gain for name, gain in _gained(results).items() if gain < GAIN}


def _of_million(results: Results, one: str, other: str, column: str) -> dict[str, float]:
    """By panel how many times as great a figure of one way is as of another, of a million users."""
    panels = (panel(kind, shape) for kind, shape in product(KINDS, SHAPES))
    ratios = {name: results.ratios(one, other, column, name) for name in panels}
    return {name: each[MILLION] for name, each in ratios.items() if MILLION in each}


EXPERIMENT = Experiment(
    "many_keys",
    "Many keys: from ten users to ten million, beside C",
    "Ours",
    "one thread should take at most twice the time of a C program that is written for the shape,"
    " of series 2.5 times, with a hundred thousand users to five million; and two threads less by a"
    " factor of 1.6.",
    points,
    (Plot("cpu_s", "s of CPU", "users", log_x=True, log_y=True),),
    (
        *(
            Finding(
                f"{shape}, {FEW:,} to {MANY:,} users: at most {MOST[shape]} times C",
                near_c(shape),
                (
                    Reason(
                        "C took much longer for the other kind of users of dense and of"
                        " dictionary ones, which are the same to it",
                        is_c_uneven(shape),
                    ),
                ),
            )
            for shape in SHAPES
        ),
        Finding(
            f"two threads are {GAIN} times as fast as one, of a million users",
            gains,
            (
                Reason(
                    "two programs of C at once, which share nothing but the machine, gain hardly"
                    " more",
                    is_machine_slower,
                ),
                Reason(
                    f"wherever they gain less, both together take at least {MORE} times the"
                    f" processor time of one, and keep at most {BUSY} of two cores busy",
                    is_work_more,
                ),
            ),
        ),
    ),
)
