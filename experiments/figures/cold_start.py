"""Ours: the time of a new process, from nothing to the first answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq

from experiments.core.checks import Check
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
from experiments.figures.sequences import stream, template
from experiments.process_tree import children_seconds
from sase.engine.kernels.jit import machine_code

ROOT = Path(__file__).parents[2]
# Events of a first query: of so few nothing is noticed but the start.
FEW = 3_000
QUERY = template(3, "[attr1]")
IMPORT = "import json; import sase; print(json.dumps(0))"
CHECK = f"""
import json
from sase.cli.main import main
main(["check", "-q", {QUERY!r}])
print(json.dumps(0))
"""
SERIES = "EVENT SEQ(E1 a, E2+ b[], E3 c) WHERE skip_till_next_match {[attr1]} WITHIN 1000"
FIRST = """
import json, sys, time
import sase
path, query, size = sys.argv[1:]
size = int(size)
import pyarrow.parquet as pq
if size == 0:
    found = len(sase.match(query, path, threads=1))
else:
    table = pq.read_table(path)
    matcher, found, start = sase.compile(query, table).open(), 0, 0
    while found == 0:
        found = len(matcher.push(table.slice(start, size)))
        start += size
print(json.dumps(found))
"""


# The forms of a first query of an installation.
ASKED = {
    "sequence": QUERY,
    "arithmetic, absence": "EVENT SEQ(E1 a, !(E2 b), E3 c)"
    " WHERE [attr1] AND a.attr3 * 2 + 1 < c.attr3 WITHIN 1000",
    "series": SERIES,
}
BEFORE, SHIPPED, NOW = "compiled before", "machine code of the wheel", "compiled now"


def child(code: str, *arguments: str, **variables: str) -> Callable[[], int]:
    """A new process that prints how many matches it found."""

    def run() -> int:
        command = [sys.executable, "-c", code, *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return int(json.loads(done.stdout.splitlines()[-1]))

    return run


def first_of_all(code: str, *arguments: str, **variables: str) -> Callable[[], int]:
    """The same where no process has kept anything yet."""

    def run() -> int:
        with tempfile.TemporaryDirectory() as kept:
            folders = {"NUMBA_CACHE_DIR": kept, "SASE_CACHE_DIR": kept}
            return child(code, *arguments, **folders, **variables)()

    return run


def points(size: Size) -> Iterator[Point]:
    """Without events; all matches of a file; the first match of a stream."""
    events = size.of(1_000_000, 100_000, 5_000)
    if size.name != "tiny":
        yield Point("import", {"process": _way(child(IMPORT))})
        yield Point("check", {"process": _way(child(CHECK))})
        for name, query in ASKED.items():
            ways = {way: _asked(query, way) for way in (BEFORE, SHIPPED, NOW)}
            yield Point(f"first query: {name}", ways, events=FEW)
        yield Point("series, all", {"process": _on_file(events, SERIES, 0)}, events=events)
    yield Point("all", {"process": _on_file(events, QUERY, 0)}, events=events)
    if size.name != "tiny":
        yield Point("first", {"process": _on_file(events, QUERY, 1_000)}, events=events)


def _way(run: Callable[[], int]) -> Make:
    return lambda data: Way(run, Outcome)


def _on_file(events: int, query: str, batch: int) -> Make:
    return lambda data: Way(child(FIRST, _file(events), query, str(batch)), Outcome)


def _asked(query: str, way: str) -> Make:
    def make(data: object) -> Way:
        asked = (FIRST, _file(FEW), query, "0")
        if way == BEFORE:
            return Way(child(*asked, SASE_COMPILE_KERNELS="1"), Outcome)
        if way == NOW:
            return Way(first_of_all(*asked, SASE_COMPILE_KERNELS="1"), Outcome)
        if not any(machine_code.fits(path) for path in machine_code.FOLDER.glob("*")):
            raise LeftOut("no machine code fits: `make wheel` compiles it")
        return Way(first_of_all(*asked), Outcome)

    return make


def _file(events: int) -> str:
    path = ROOT / f"build/experiments/events-{events}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(stream(events)(), path)
    return str(path)


def within(point: str, seconds: float) -> Check:
    """That the CPU of a process stays below a limit."""

    required = f"at most {seconds:g} s"

    def check(results: Results) -> Verdict:
        value = results.at("process", point, "cpu_s")
        if value is None:
            return Verdict(None, f"{point} is not measured", required)
        return Verdict(value <= seconds, f"{value:.2f} s of CPU", required)

    return check


def soon_after_the_first(results: Results) -> Verdict:
    """That all matches take little longer than the first one."""
    first, whole = (results.at("process", point, "cpu_s") for point in ("first", "all"))
    required = "at most 0.3 s more"
    if first is None or whole is None:
        return Verdict(None, "not measured", required)
    return Verdict(whole - first <= 0.3, f"{first:.2f} s, {whole:.2f} s", required)


def at_once(results: Results) -> Verdict:
    """That a first query takes at most a second of CPU more than a later one."""
    required = "at most 1 s"
    more = []
    for name in ASKED:
        point = f"first query: {name}"
        first, later = (results.at(way, point, "cpu_s") for way in (SHIPPED, BEFORE))
        if first is None or later is None:
            return Verdict(None, f"{point} is not measured", required)
        more.append(first - later)
    return Verdict(
        max(more) <= 1, ", ".join(f"{each:.2f}" for each in more) + " s of CPU more", required
    )


EXPERIMENT = Experiment(
    "cold_start",
    "Cold start, and the time to the first answer",
    "Ours",
    "a process that checks a query should take 0.35 s of CPU, one that finds matches in a file less"
    " than 1.5 s, with the kernels compiled before; the first query of an installation, which has"
    " kept nothing yet, at most a second more than a later one, by the machine code of the wheel.",
    points,
    (Plot("cpu_s", "s of CPU", "", bars=True), Plot("wall_s", "s", "", bars=True)),
    (
        Finding("checking a query takes at most 0.35 s of CPU", within("check", 0.35)),
        Finding(
            "all matches in a file of a million events: 1.5 s of CPU",
            within("all", 1.5),
            (
                Reason(
                    "All but 0.3 s of it passes before a process ends with the first match.",
                    soon_after_the_first,
                ),
            ),
        ),
        Finding("a first query takes at most a second more than a later one", at_once),
    ),
    cpu=children_seconds,
)
