"""The measurements: as lines of a CSV file, and as a table of medians beside ours."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from experiments.rivals.catalogue import OURS
from experiments.rivals.protocol import Run
from experiments.rivals.running import Outcome

BEGIN, END = "<!-- rivals: begin -->", "<!-- rivals: end -->"


@dataclass(frozen=True)
class Way:
    """A system in one form, with a number of threads."""

    rival: str
    title: str
    form: str
    threads: int


@dataclass(frozen=True)
class Line:
    """One run of a way on a cell, or why there is none; numbers as text, as in the file."""

    date: str
    machine: str
    cores: str
    commit: str
    cell: str
    rival: str
    title: str
    form: str
    version: str
    threads: int
    round: int
    run: str = ""
    counts: str = ""  # "yes", or nothing for a run to warm up
    seconds: str = ""
    cpu_seconds: str = ""
    peak_mb: str = ""
    matches: str = ""
    over: str = ""  # the limit in seconds, where it was reached
    error: str = ""

    @property
    def way(self) -> Way:
        """The program that ran."""
        return Way(self.rival, self.title, self.form, self.threads)


@dataclass(frozen=True)
class Place:
    """Where and when it was measured."""

    date: str
    machine: str
    cores: str
    commit: str


def of_outcome(
    place: Place, cell: str, way: Way, number: int, outcome: Outcome, limit: float, error: str = ""
) -> list[Line]:
    """The lines of a process."""
    version = outcome.runs[0].version if outcome.runs else ""
    common = {**asdict(place), "cell": cell, **asdict(way), "version": version, "round": number}
    told = [of_run(common, run, run in outcome.told) for run in outcome.runs]
    if outcome.over:
        told.append(Line(**common, over=f"{limit:g}"))
    if outcome.error or error:
        told.append(Line(**common, error=outcome.error or error))
    return told


def of_run(common: dict[str, object], run: Run, counts: bool) -> Line:
    """The line of a run."""
    return Line(
        **common,  # type: ignore[arg-type]
        run=str(run.run),
        counts="yes" if counts else "",
        seconds=f"{run.seconds:.6f}",
        cpu_seconds="" if run.cpu_seconds is None else f"{run.cpu_seconds:.6f}",
        peak_mb=f"{run.peak_mb:.1f}",
        matches=str(run.matches),
    )


def write(path: Path, lines: Iterable[Line]) -> None:
    """All lines."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Line)])
        writer.writerows([asdict(line).values() for line in lines])


def read(path: Path) -> list[Line]:
    """Those that were written."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Line(**each | {"threads": int(each["threads"]), "round": int(each["round"])})  # type: ignore[arg-type]
            for each in csv.DictReader(file)
        ]


def median(lines: Sequence[Line], way: Way, cell: str) -> float | None:
    """The median of the runs that count, or None where there is none."""
    seconds = [
        float(line.seconds)
        for line in lines
        if line.counts and line.way == way and line.cell == cell
    ]
    return statistics.median(seconds) if seconds else None


def shown(lines: Sequence[Line], way: Way, cell: str) -> str:
    """A field of the table: seconds, and in brackets how many times ours with as many threads."""
    here = [line for line in lines if line.way == way and line.cell == cell]
    if any(line.error for line in here):
        return "failed"
    over = [line.over for line in here if line.over]
    if over:
        return f"> {over[0]}"
    seconds = median(here, way, cell)
    if seconds is None:
        return ""
    told = f"{seconds:.3g}" if seconds < 1 else f"{seconds:.2f}"
    ours = [each for each in ways(lines) if each.rival == OURS and each.threads == way.threads]
    reference = median(lines, ours[0], cell) if ours else None
    return told if reference is None or way.rival == OURS else f"{told} ({seconds / reference:.3g})"


def ways(lines: Iterable[Line]) -> list[Way]:
    """All that ran, the forms of a system together."""
    found = list(dict.fromkeys(line.way for line in lines))
    order = list(dict.fromkeys(way.rival for way in found))
    return sorted(found, key=lambda way: order.index(way.rival))


def table(lines: Sequence[Line]) -> str:
    """Markdown: for each number of threads a table with a row for each way."""
    cells = list(dict.fromkeys(line.cell for line in lines))
    parts = []
    for threads in sorted({line.threads for line in lines}):
        title = f"{threads} thread{'s' if threads > 1 else ''}"
        rows = [[title, "form", *cells], ["---"] * (len(cells) + 2)]
        for way in ways(lines):
            if way.threads == threads:
                figures = [shown(lines, way, cell) for cell in cells]
                rows.append([f"{way.title} {version(lines, way)}".strip(), way.form, *figures])
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join(parts)


def version(lines: Sequence[Line], way: Way) -> str:
    """The program of a system, as its process named it."""
    told = [line.version for line in lines if line.way == way and line.version]
    return told[0] if told else ""


def described(lines: Sequence[Line]) -> str:
    """The sentences above the table; where some cells are of another day, which."""
    cells: dict[str, dict[str, None]] = {}
    for each in lines:
        place = f"{each.date}, {each.machine}, {each.cores} cores, commit {each.commit}"
        cells.setdefault(place, {})[each.cell] = None
    told = [
        place + (f" ({', '.join(found)})" if len(cells) > 1 else "")
        for place, found in cells.items()
    ]
    return (
        "Medians in seconds, in brackets how many times ours with as many threads."
        f" {'; '.join(told)}."
    )


def into(document: str, text: str) -> str:
    """A document with the text between the marks."""
    head, begin, rest = document.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"the document has no {BEGIN} … {END}")
    return f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}"
