"""Other systems on the same work: install them, run them beside ours, show the results.

    python -m experiments.rivals list
    python -m experiments.rivals install duckdb polars | all
    python -m experiments.rivals run [--cells Q1/D1 …] [--rivals duckdb …] [--threads 1 2] [--quick]
        [--limit DIR/limit.py] [--csv FILE]
    python -m experiments.rivals all [--quick] [--limit DIR/limit.py] [--results DIR]
    python -m experiments.rivals table --csv FILE … [--docs docs/rivals.md]

Every answer is checked: the exit status is 1 where one is wrong or a system fails. No time is
asserted.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments import machine
from experiments.core.running import PLACES
from experiments.rivals import results, running
from experiments.rivals.calls import CALLS
from experiments.rivals.catalogue import ENGINE, LIMIT, OURS, PROGRAM, Rival, rivals
from experiments.rivals.comparing import Comparison, Plan, Runner, progress
from experiments.rivals.install import FOLDER, CannotInstall, install, interpreter
from experiments.rivals.limit import Program
from experiments.rivals.streams import CONTESTS


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    options = parsed(arguments)
    options.folder = options.folder.expanduser()
    commands = {"list": listed, "install": installed, "run": run, "all": run_all, "table": tabled}
    commands[options.command](options)


def listed(options: argparse.Namespace) -> None:
    """The systems, their forms, and which are installed."""
    for rival in rivals().values():
        there = "installed" if interpreter(options.folder, rival) else "not installed"
        print(f"{rival.name:24} {there:14} {'; '.join(form.name for form in rival.forms)}")


def installed(options: argparse.Namespace) -> None:
    """Each system that is named; those that are not installed are listed at the end."""
    known = rivals()
    named = list(known) if options.names == ["all"] else options.names
    failed = []
    for rival in chosen(known, named):
        progress(f"installing {rival.title}")
        try:
            install(options.folder, rival)
        except (CannotInstall, subprocess.CalledProcessError) as error:
            failed.append(f"{rival.title}: {error}")
    if failed:
        raise SystemExit("\n".join(failed))


def run(options: argparse.Namespace) -> None:
    """Compare, print the table, keep the lines."""
    taking_part = participants(options)
    plan = Plan(tuple(options.threads), options.rounds, options.repeats, options.limit_seconds)
    if options.quick:
        plan = Plan(tuple(options.threads), 1, 1, options.limit_seconds, quick=True)
    comparison = Comparison(plan, place(), options.folder / "data", runners(options, taking_part))
    for contest in CONTESTS:
        if not options.cells or contest.name in options.cells:
            comparison.cell(contest, taking_part)
            if options.csv:
                results.write(options.csv, comparison.lines)
    print(report(comparison.lines, taking_part))
    if comparison.failures:
        raise SystemExit("\n".join(comparison.failures))


def run_all(options: argparse.Namespace) -> None:
    """Every committed comparison, with the systems that are installed; a complete one stays."""
    folder = options.results or PLACES["quick" if options.quick else "full"]
    folder.mkdir(parents=True, exist_ok=True)
    known, failed = rivals(), list[str]()
    for call in CALLS:
        path = call.path(folder)
        there = [known[name] for name in call.rivals if interpreter(options.folder, known[name])]
        if not there:
            progress(f"{call.name}: none of {', '.join(call.rivals)} is installed")
            continue
        if call.is_complete(there, path, place()):
            progress(f"{call.name}: complete of this commit")
            continue
        more = ["--limit", str(options.limit)] if options.limit and call.by_hand else []
        more += ["--quick"] if options.quick else []
        try:
            run(parsed(["--folder", str(options.folder), *call.arguments(there, path), *more]))
        except SystemExit as problem:
            failed.append(str(problem))
    if failed:
        raise SystemExit("\n".join(failed))


def tabled(options: argparse.Namespace) -> None:
    """The tables of files of lines, printed or put into a document."""
    known = list(rivals().values())
    text = "\n\n".join(report(results.read(path), known) for path in options.csv)
    if options.docs is None:
        print(text)
        return
    document = options.docs.read_text(encoding="utf-8")
    options.docs.write_text(results.into(document, text), encoding="utf-8")


def report(lines: Sequence[results.Line], taking_part: Sequence[Rival]) -> str:
    """The sources of the tables, the tables, and the systems that answer another question."""
    ran = {(line.rival, line.form) for line in lines}
    notes = [
        f"- {rival.title}, {form.name}: {form.difference.sentence}"
        for rival in taking_part
        for form in rival.forms
        if form.difference and (rival.name, form.name) in ran
    ]
    return "\n\n".join(
        [results.described(lines), results.table(lines), *(["\n".join(notes)] if notes else [])]
    )


def participants(options: argparse.Namespace) -> list[Rival]:
    """The systems that are named, or all that are installed; the C program where it is given."""
    known = rivals()
    named = chosen(known, options.rivals or list(known))
    there = [rival for rival in named if interpreter(options.folder, rival)]
    missing = [rival.name for rival in named if rival not in there]
    if missing and options.rivals:
        raise SystemExit(f"first: python -m experiments.rivals install {' '.join(missing)}")
    if missing:
        progress(f"not installed, so not compared: {', '.join(missing)}")
    return [*([PROGRAM] if options.limit else []), *there]


def chosen(known: dict[str, Rival], names: Sequence[str]) -> list[Rival]:
    """Those of these names."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"no system {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in names]


def runners(options: argparse.Namespace, taking_part: Sequence[Rival]) -> dict[str, Runner]:
    """How each is run."""
    found: dict[str, Runner] = {OURS: of_module(sys.executable, ENGINE)}
    for rival in taking_part:
        if rival.name == LIMIT:
            found[LIMIT] = Program(options.limit, options.folder / "limit").outcome
        else:
            found[rival.name] = of_module(str(interpreter(options.folder, rival)), rival)
    return found


def of_module(python: str, rival: Rival) -> Runner:
    """A way that is a module of this folder."""
    return functools.partial(running.outcome, python, rival.program)


def place() -> results.Place:
    """This machine, now."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return results.Place(today, machine.processor(), str(os.cpu_count()), machine.commit())


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.rivals",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help=f"where all is kept: {FOLDER}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the systems and their forms")
    named = commands.add_parser("install", help="make their environments")
    named.add_argument("names", nargs="+", metavar="NAME", help="systems, or all")
    asked = commands.add_parser("run", help="compare")
    asked.add_argument("--cells", nargs="+", choices=[each.name for each in CONTESTS])
    asked.add_argument("--rivals", nargs="+", metavar="NAME", help="all that are installed")
    asked.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    asked.add_argument("--rounds", type=int, default=3, help="in which all take turns: 3")
    asked.add_argument("--repeats", type=int, default=3, help="runs of a process that count: 3")
    asked.add_argument("--quick", action="store_true", help="a tenth of the events, once")
    asked.add_argument("--limit", type=Path, metavar="FILE", help="limit.py beside its sase.c")
    asked.add_argument("--limit-seconds", type=float, default=60.0, help="for one run: 60")
    asked.add_argument("--csv", type=Path, metavar="FILE", help="keep every run there")
    every = commands.add_parser("all", help="the committed comparisons of all that are installed")
    every.add_argument("--quick", action="store_true", help="a tenth of the events, once")
    every.add_argument("--limit", type=Path, metavar="FILE", help="limit.py beside its sase.c")
    every.add_argument("--results", type=Path, metavar="DIR", help="the folder of the CSV files")
    told = commands.add_parser("table", help="the tables of CSV files")
    told.add_argument("--csv", nargs="+", type=Path, metavar="FILE", required=True)
    told.add_argument("--docs", type=Path, metavar="FILE", help="put it between the marks there")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
