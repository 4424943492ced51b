"""Ours: a book of rules as one script, which reads D3 once, beside its queries one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pyarrow as pa

import sase
from experiments.cells import D3
from experiments.core.checks import CPU_RATE, Check, ahead
from experiments.core.experiment import (
    Experiment,
    Finding,
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
from sase.engine.resources import resident_memory

ONE, PASS, EACH, PUSHES = "one of them", "one pass", "one by one", "in pushes"
RULES, FEW = "values of 20", "a thousandth of the events each"
# The number of rows that are pushed at a time, of fewer events: a push costs the same for each.
ROWS, PUSHED = 10_000, "values of 20, in pushes of 10,000 rows"
# Of 20 types and as many values a component asks one of 400 events; where there are 150 values,
# the three of a query together ask a thousandth of all.
VALUES, THOUSANDTH = 20, 150


def rules(count: int, attribute: str, values: int) -> list[str]:
    """Queries of the form of Q1, of types, constants and windows of their own."""
    draw, found = Random(20261126), []
    for _ in range(count):
        types = draw.sample(range(1, 21), 3)
        steps = ", ".join(f"E{n} {name}" for n, name in zip(types, "abc", strict=True))
        asked = " AND ".join(f"{name}.{attribute} = {draw.randrange(values)}" for name in "abc")
        window = draw.randrange(1_000, 10_000)
        found.append(f"EVENT SEQ({steps}) WHERE [attr1] AND {asked} WITHIN {window}")
    return found


def points(size: Size) -> Iterator[Point]:
    """A hundred rules, beside one of them, all one by one, and pushes; and a thousand rare ones."""
    stream = replace(D3, events=size.of(D3.events, 1_000_000, 20_000))
    for count in size.of((10, 100), (10,), (3,)):
        texts, known = rules(count, "attr2", VALUES), dict[str, int]()
        ways = {ONE: _each(texts[:1], {}), PASS: _pass(texts, known), EACH: _each(texts, known)}
        yield Point(count, ways, stream.table, stream.events, RULES, alike=False)
    fewer = replace(D3, events=size.of(D3.events // 10, 200_000, 20_000))
    for count in size.of((100,), (10,), (3,)):
        texts, known = rules(count, "attr2", VALUES), dict[str, int]()
        ways = {PASS: _pass(texts, known), PUSHES: _pushes(texts, known)}
        yield Point(count, ways, fewer.table, fewer.events, PUSHED)
    rare = replace(stream, domains=(1000, 20, THOUSANDTH, 1000, 10))
    for count in size.of((100, 1_000), (100,), (4,)):
        texts = rules(count, "attr3", THOUSANDTH)
        yield Point(count, {PASS: _pass(texts, {})}, rare.table, rare.events, FEW)


def _pass(texts: list[str], known: dict[str, int]) -> Make:
    """A script, compiled before the clock starts; `grown_mb` is the memory that its run leaves."""

    def make(table: pa.Table) -> Way:
        script = sase.Script(";\n".join(texts), table.schema)
        script.run(table.slice(0, 1))

        def run() -> tuple[dict[str, sase.Matches], float]:
            before = resident_memory()
            found = script.run(table)
            return found, (resident_memory() - before) / 1e6

        def told(ran: tuple[dict[str, sase.Matches], float]) -> Outcome:
            found, grown = ran
            total = _count(found)
            return Outcome(_same(known, total), None, {"grown_mb": grown})

        return Way(run, told)

    return make


def _pushes(texts: list[str], known: dict[str, int]) -> Make:
    def make(table: pa.Table) -> Way:
        script = sase.Script(";\n".join(texts), table.schema)

        def run() -> int:
            matcher, total = script.open(), 0
            for begin in range(0, len(table), ROWS):
                total += _count(matcher.push(None, table.slice(begin, ROWS)))
            return total + _count(matcher.finish())

        return Way(run, lambda total: Outcome(_same(known, total)))

    return make


def _count(found: dict[str, sase.Matches]) -> int:
    return sum(map(len, found.values()))


def _each(texts: list[str], known: dict[str, int]) -> Make:
    def make(table: pa.Table) -> Way:
        plans = [sase.compile(text, table.schema) for text in texts]

        def run() -> int:
            return sum(len(plan.run(table, threads=1)) for plan in plans)

        return Way(run, lambda total: Outcome(_same(known, total)))

    return make


def _same(known: dict[str, int], total: int) -> int:
    """The number of matches, which must be that of the other way."""
    assert known.setdefault("matches", total) == total, (known, total)
    return total


def is_hundred(count: float) -> bool:
    """Whether this number of queries is the goal: opening them counts, so it has many events."""
    return count >= 100


def reaches(rate: float, count: int) -> Check:
    """A pass of this number of queries has a rate of events by the clock of the processor."""

    required = f"at least {rate / 1e6:g} M events/s"

    def check(results: Results) -> Verdict:
        found = results.at(PASS, count, CPU_RATE, FEW)
        if found is None:
            return Verdict(None, f"{count:,} queries were not measured", required)
        return Verdict(found >= rate, f"{count:,} queries: {found / 1e6:.1f} M events/s", required)

    return check


def costs_a_push(most: float) -> Check:
    """A push takes at most `most` seconds for each of 100 queries, beyond the time of a pass."""

    required = f"at most {1e6 * most:g} µs"

    def check(results: Results) -> Verdict:
        seconds = [results.at(way, 100, "cpu_s", PUSHED) for way in (PUSHES, PASS)]
        events = results.at(PUSHES, 100, "events", PUSHED)
        if None in seconds or events is None:
            return Verdict(None, "pushes were not measured", required)
        pushes, whole = (each or 0.0 for each in seconds)
        each = (pushes - whole) / (100 * events / ROWS)
        told = f"{1e6 * each:.0f} µs for a push and a query; {pushes:.2f} s beside {whole:.2f}"
        return Verdict(each <= most, told, required)

    return check


def goes_with_what_is_dealt_out(results: Results) -> Verdict:
    """That 100 queries take at most 0.75 times as long where few events go to each."""
    required = "at most 0.75 times as long"
    most, few = (results.at(PASS, 100, "cpu_s", panel) for panel in (RULES, FEW))
    if most is None or few is None:
        return Verdict(None, "100 queries were not measured", required)
    told = f"100 queries, {RULES}: {most:.2f} s of the processor; {FEW}: {few:.2f} s"
    return Verdict(few <= 0.75 * most, told, required)


EXPERIMENT = Experiment(
    "rules",
    "A book of rules in one pass",
    "ours",
    "Queries over one stream share its reading, and an event reaches those that admit it.",
    points,
    (
        Plot("events_per_s", "events/s", "queries", log_x=True, log_y=True),
        Plot("grown_mb", "MB that a run leaves", "queries", log_x=True),
    ),
    (
        Finding(
            "100 queries in one pass take at most 12 times one of them (processor time)",
            ahead(PASS, ONE, 1 / 12, y=CPU_RATE, panel=RULES, when=is_hundred),
            (
                Reason(
                    "A pass takes the longer the more events it deals out: where a thousandth"
                    " goes to each, as many queries take at most 0.75 of the time.",
                    goes_with_what_is_dealt_out,
                ),
            ),
        ),
        Finding(
            "and are at least 5 times as fast as one by one (processor time)",
            ahead(PASS, EACH, 5.0, y=CPU_RATE, panel=RULES, when=is_hundred),
        ),
        Finding(
            "a push of 10,000 rows costs each of 100 queries at most 300 µs of the processor more",
            costs_a_push(3e-4),
        ),
        Finding(
            "1,000 queries that a thousandth of the events concerns: 2 M events/s",
            reaches(2e6, 1_000),
        ),
    ),
    ("grown_mb",),
)
