"""The page of benchmarks, from committed results: at first the places where others are faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.core import results
from experiments.core.reporting import places
from experiments.core.results import Results
from experiments.figures import cells, cliffs, cold_start, many_keys, memory_of, series_of_keys
from experiments.figures import spark as on_spark
from experiments.many_keys import KINDS, SHAPES
from experiments.rivals import results as of_rivals
from experiments.rivals.calls import CALLS
from experiments.rivals.catalogue import LIMIT, OURS, rivals
from experiments.rivals.results import Line, Way

PAGE = Path(__file__).parents[2] / "docs/benchmarks.md"
HEAD = """# Benchmarks

After reading this page you know how fast SASE is beside other systems and beside programs in C, and
where another one is faster. [Beside other systems](rivals.md) has all forms of each query, the ways
to measure, and [other cases in which another system may be
first](rivals.md#where-you-should-not-expect-us-to-be-first).

`python -m experiments report` writes this page from the committed results. Each table says its own
commit and machine.
"""
FIRST = "No other system or program was faster at any measured place."
BEHIND = """\
Each row is a place at which another system, or a program in C, took less time in the same run. A
program in C is written for one query and knows types, keys and window before it is compiled. The
last column says how many times as long SASE took. The longest is first. Of the [many
keys](#many-keys-beside-c) there is the worst place for each shape and program."""
CELLS = """\
Seconds of SASE, and for each other system how many times as long its fastest form took. A
number below 1 is faster than SASE. `>` means that each form was stopped; the number is the least
factor. A field is empty if the system cannot run the query."""
MANY_KEYS = """\
Three shapes over ten million events: how many times the processor time of a C program one
thread of SASE takes, for each kind of users. The program for one thread has the state of a stream.
The program for a batch knows that all events are there."""


class Behind(NamedTuple):
    """A place at which another one was faster: the seconds of both."""

    at: str
    other: str
    ours: float
    theirs: float

    @property
    def factor(self) -> float:
        """How many times as long SASE took."""
        return self.ours / self.theirs


class Part(NamedTuple):
    """A section of the page: its title, its text and its table, and where others were faster."""

    title: str
    text: str
    measured: str
    table: str
    behind: Sequence[Behind] = ()


def page(folder: Path) -> str:
    """The page of the results in a folder; a section without results is left out."""
    parts = [part for make in PARTS for part in make(folder)]
    behind = sorted((each for part in parts for each in part.behind), key=lambda b: -b.factor)
    lines = [HEAD, "## Where SASE is not first\n"]
    lines += [f"{BEHIND}\n\n{_behind(behind)}\n" if behind else f"{FIRST}\n"]
    for part in parts:
        lines.append(f"## {part.title}\n\n{part.text}\n\n{part.measured}\n\n{part.table}\n")
    return "\n".join(lines)


def _behind(all_of_it: Iterable[Behind]) -> str:
    return _table(
        ("where", "faster", "its time, s", "SASE, s", "times as long"),
        ((b.at, b.other, f"{b.theirs:.3g}", f"{b.ours:.3g}", f"{b.factor:.3g}") for b in all_of_it),
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _measured(found: Results) -> str:
    return " ".join(places(found.rows))


# ---------------------------------------------------------------- other systems


def _rivals(folder: Path) -> Iterator[Part]:
    """A section for each committed comparison."""
    for call, title in zip(CALLS, TITLES, strict=True):
        path = call.path(folder)
        if path.exists():
            lines = of_rivals.read(path)
            tables = [_threads(lines, n) for n in sorted({line.threads for line in lines})]
            behind = [each for n in (1, 2) for each in _faster(lines, n)]
            yield Part(title, CELLS, _when(lines), "\n\n".join(tables), behind)


TITLES = (
    "Beside batch engines, rustevex and C: Q1 to Q5",
    "Beside Spark SQL, Flink CEP and engines of event patterns: Q1 to Q4",
    "Beside batch engines: sequences, next events and series of many keys",
)


def _when(lines: Sequence[Line]) -> str:
    told = {(each.date, each.machine, each.cores, each.commit): None for each in lines}
    where = "; ".join(
        f"{date} on {machine}, {cores} cores; commit {commit}"
        for date, machine, cores, commit in told
    )
    return f"Measured {where}. Medians of {_runs(lines)}."


def _runs(lines: Sequence[Line]) -> str:
    counted: dict[tuple[Way, str], int] = {}
    for line in lines:
        if line.counts:
            counted[line.way, line.cell] = counted.get((line.way, line.cell), 0) + 1
    most = max(counted.values(), default=0)
    return f"up to {most} runs" if most > 1 else "one run"


def _answering(lines: Sequence[Line], threads: int) -> list[Way]:
    """The ways that answer the same question: ours first."""
    others = {
        (rival.name, form.name)
        for rival in rivals().values()
        for form in rival.forms
        if form.difference
    }
    found = [way for way in of_rivals.ways(lines) if way.threads == threads]
    return [way for way in found if (way.rival, way.form) not in others]


def _threads(lines: Sequence[Line], threads: int) -> str:
    """Cells by systems, each with its fastest form."""
    ways = _answering(lines, threads)
    names = list(dict.fromkeys(way.rival for way in ways if way.rival != OURS))
    titles = {way.rival: way.title for way in ways}
    title = f"{threads} thread{'s' if threads > 1 else ''}"
    rows = []
    for cell in dict.fromkeys(line.cell for line in lines):
        ours = _median(lines, OURS, threads, cell)
        if ours is not None:
            shown = [
                _best(lines, [w for w in ways if w.rival == name], cell, ours) for name in names
            ]
            rows.append((cell, f"{ours:.3g}", *shown))
    return _table((title, "SASE, s", *(titles[name] for name in names)), rows)


def _median(lines: Sequence[Line], rival: str, threads: int, cell: str) -> float | None:
    way = next(w for w in of_rivals.ways(lines) if (w.rival, w.threads) == (rival, threads))
    return of_rivals.median(lines, way, cell)


def _seconds(lines: Sequence[Line], way: Way, cell: str) -> float | None:
    """The median of a way that was neither stopped nor wrong."""
    here = [line for line in lines if line.way == way and line.cell == cell]
    if any(line.error or line.over for line in here):
        return None
    return of_rivals.median(lines, way, cell)


def _best(lines: Sequence[Line], ways: Sequence[Way], cell: str, ours: float) -> str:
    times = [seconds for way in ways if (seconds := _seconds(lines, way, cell)) is not None]
    if times:
        return f"{min(times) / ours:.3g}"
    here = [line for line in lines if line.cell == cell and line.way in ways]
    over = [float(line.over) for line in here if line.over]
    if over:
        return f"> {min(over) / ours:.3g}"
    return "failed" if any(line.error for line in here) else ""


def _faster(lines: Sequence[Line], threads: int) -> Iterator[Behind]:
    for cell in dict.fromkeys(line.cell for line in lines):
        ways = _answering(lines, threads)
        ours = _median(lines, OURS, threads, cell) if ways else None
        for way in ways:
            theirs = _seconds(lines, way, cell)
            if way.rival != OURS and ours is not None and theirs is not None and theirs < ours:
                form = "" if way.rival == LIMIT else f", {way.form}"
                yield Behind(f"{cell}, threads: {threads}", f"{way.title}{form}", ours, theirs)


# ---------------------------------------------------------------- experiments


def _of(folder: Path, name: str, make: Callable[[Results], Part]) -> Iterator[Part]:
    """The section of an experiment that was run."""
    found = results.read(folder / f"{name}.csv")
    if found.measured:
        yield make(found)


def _cells(folder: Path) -> Iterator[Part]:
    return _of(folder, cells.EXPERIMENT.name, _of_cells)


def _of_cells(found: Results) -> Part:
    ways = [way for way in found.ways() if any(row["way"] == way for row in found.measured)]
    rows, behind = [], []
    for x in dict.fromkeys(row["x"] for row in found.rows):
        seconds = {way: found.at(way, x, "wall_s") for way in ways}
        rows.append((str(x), *(_milliseconds(seconds[way]) for way in ways)))
        ours = seconds[cells.RUN]
        for way in (cells.LIMIT, cells.DUCKDB):
            theirs = seconds.get(way)
            if ours is not None and theirs is not None and theirs < ours:
                behind.append(Behind(f"{x} of the throughput table", way, ours, theirs))
    text = (
        "Milliseconds of a prepared plan, of plain strings in place of dictionaries, of"
        " `sase.match`\nwith compiling, and of two threads, beside the C program and DuckDB by the"
        " form of an expert.\nQ5/S5 is a Kleene pattern. The list above compares the prepared"
        " plan, since the C program is compiled\nbefore, too."
    )
    return Part(
        "The cells of the throughput table", text, _measured(found),
        _table(("cell", *ways), rows), behind,
    )  # fmt: skip


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.3g}"


def _many_keys(folder: Path) -> Iterator[Part]:
    return _of(folder, many_keys.EXPERIMENT.name, _of_many_keys)


def _of_many_keys(found: Results) -> Part:
    programs = (many_keys.C, many_keys.BATCH_C)
    rows, behind = [], list[Behind]()
    for shape in SHAPES:
        for program in programs:
            ratios = {
                kind: found.ratios("one thread", program, "cpu_s", many_keys.panel(kind, shape))
                for kind in KINDS
            }
            users = sorted({x for each in ratios.values() for x in each})
            for x in users:
                shown = (f"{ratios[k][x]:.2f}" if x in ratios[k] else "" for k in KINDS)
                rows.append((shape, program, f"{x:,}", *shown))
            behind += _most_behind(found, shape, program)
    return Part(
        "Many keys beside C", MANY_KEYS, _measured(found),
        _table(("shape", "program", "users", *KINDS), rows), behind,
    )  # fmt: skip


def _most_behind(found: Results, shape: str, program: str) -> Iterator[Behind]:
    """The place of a shape at which SASE takes most times as long as a program."""
    every = []
    for kind in KINDS:
        panel = many_keys.panel(kind, shape)
        ours = dict(found.curve("one thread", "cpu_s", panel))
        theirs = dict(found.curve(program, "cpu_s", panel))
        every += [(ours[x], theirs[x], kind, x) for x in ours if x in theirs]
    slower = [each for each in every if each[1] < each[0]]
    if slower:
        ours_s, theirs_s, kind, x = max(slower, key=lambda each: each[0] / each[1])
        at = f"many keys, {shape}: {len(slower)} of {len(every)} places; {x:,} users, {kind}"
        yield Behind(at, program, ours_s, theirs_s)


def _series(folder: Path) -> Iterator[Part]:
    return _of(folder, series_of_keys.EXPERIMENT.name, _of_series)


def _of_series(found: Results) -> Part:
    rows = [
        (str(row["x"]), row["way"], f"{row['matches']:,}", f"{row['events_per_cpu_s'] / 1e6:.1f}")
        for row in found.measured
    ]
    text = "Kleene patterns over ten million events, by the default plan and by runs."
    header = ("strategy", "plan", "matches", "M events/s of the processor")
    return Part("Series of many keys", text, _measured(found), _table(header, rows))


def _spark(folder: Path) -> Iterator[Part]:
    for experiment in on_spark.EXPERIMENTS:
        yield from _of(
            folder, experiment.name, lambda found, e=experiment: _of_spark(e.title, found)
        )


def _of_spark(title: str, found: Results) -> Part:
    rows = [
        (
            _count(row["x"]), row["way"], f"{row['events']:,}", f"{row['wall_s']:.3g}",
            f"{row['events_per_s'] / 1e6:.2f}", f"{row['cpu_s']:.3g}",
        )
        for row in found.measured
    ]  # fmt: skip
    behind = []
    for x in dict.fromkeys(row["x"] for row in found.measured):
        join = found.at(on_spark.JOIN, x, "wall_s")
        ours = [
            row["wall_s"]
            for row in found.measured
            if row["x"] == x and row["way"] not in (on_spark.JOIN, on_spark.READ)
        ]
        if join is not None and ours and join < min(ours):
            behind.append(Behind(f"Spark, {x}", on_spark.JOIN, min(ours), join))
    header = ("x", "way", "events", "s", "M events/s", "CPU s")
    text = "Two cores on one machine, from Parquet files to matches."
    return Part(title, text, _measured(found), _table(header, rows), behind)


def _count(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _cold_start(folder: Path) -> Iterator[Part]:
    return _of(folder, cold_start.EXPERIMENT.name, _of_cold_start)


def _of_cold_start(found: Results) -> Part:
    rows = [
        (
            str(row["x"]),
            row["way"],
            f"{row['events']:,}",
            f"{row['wall_s']:.2f}",
            f"{row['cpu_s']:.2f}",
        )
        for row in found.measured
    ]
    text = (
        "Seconds of a new process. With *machine code of the wheel* it is the first query of an"
        " installation.\n*All* finds all matches of a file, and *first* stops at the first one."
    )
    header = ("process", "kernels", "events", "s", "CPU s")
    return Part("Cold start", text, _measured(found), _table(header, rows))


def _memory(folder: Path) -> Iterator[Part]:
    return _of(folder, memory_of.EXPERIMENT.name, _of_memory)


def _of_memory(found: Results) -> Part:
    rows = [
        (
            row["panel"], _count(row["x"]), row["way"], f"{row['grown_mb']:.1f}",
            f"{row['read_mb']:.1f}" if "read_mb" in row else "",
        )
        for row in found.measured
    ]  # fmt: skip
    text = "MB by which a process grows while it finds matches, and those of the columns it reads."
    header = ("of", "cell or events", "way", "MB grown", "MB read")
    return Part("Memory", text, _measured(found), _table(header, rows))


def _cliffs(folder: Path) -> Iterator[Part]:
    return _of(folder, cliffs.EXPERIMENT.name, _of_cliffs)


def _of_cliffs(found: Results) -> Part:
    panels = found.panels()
    ratios = {panel: found.ratios(cliffs.VARIANT, cliffs.BASE, "cpu_s", panel) for panel in panels}
    rows = [
        (str(x), *(f"{ratios[p][x]:.2f}" if x in ratios[p] else "" for p in panels))
        for x in dict.fromkeys(row["x"] for row in found.rows)
    ]
    text = (
        "A small change of a query, or of the form of its events: how many times the processor time"
        " of the unchanged one."
    )
    return Part("Variants of a query", text, _measured(found), _table(("variant", *panels), rows))


PARTS: tuple[Callable[[Path], Iterator[Part]], ...] = (
    _rivals, _cells, _many_keys, _series, _spark, _cold_start, _memory, _cliffs,
)  # fmt: skip
