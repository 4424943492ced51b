"""The experiments: `python -m experiments list | run NAME… | all | report | compare | regret`.

python -m experiments run fig8 fig9        measure, into experiments/results
python -m experiments run --quick all      at most 15 minutes, into build/experiments/quick
python -m experiments all                  all of one commit, on a quiet machine, and the report
python -m experiments report --quick       report.html and report.md beside those results
python -m experiments compare HEAD~3 HEAD  two commits in turn, ratios with confidence
python -m experiments regret --cells 50    default plans beside every recipe, over a drawn grid
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import os
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from experiments import compare, machine, papers, regret_grid
from experiments.core import benchmarks, reporting
from experiments.core.experiment import SIZES, Experiment
from experiments.core.running import PLACES, measure, run
from experiments.core.unattended import MOST_LOAD, Unattended, say
from experiments.figures import EXPERIMENTS
from experiments.figures.cells import VARIABLE
from experiments.rivals import __main__ as rivals
from experiments.rivals.calls import CALLS

# The page with all forms of other systems: its tables are made of their results.
TABLES = benchmarks.PAGE.with_name("rivals.md")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the given command."""
    options = _parser().parse_args(arguments)
    options.action(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(required=True)
    listing = actions.add_parser(
        "list", help="name the experiments, and figures of the papers without one"
    )
    listing.set_defaults(action=_list)
    running = actions.add_parser("run", help="measure experiments; what is there stays")
    running.add_argument("names", nargs="+", metavar="NAME", help="a name, a pattern, or all")
    running.add_argument("--again", action="store_true", help="also what was measured before")
    running.set_defaults(action=_run)
    everything = actions.add_parser(
        "all",
        help="measure all experiments of one commit, and write the report",
        description="Measure all experiments one after the other, and write the report. The working"
        " tree must have no changes. Before each point it waits until other processes are quiet. A"
        " point with uneven times is measured again. After an interruption it resumes.",
    )
    everything.add_argument(
        "--most-load",
        type=float,
        default=MOST_LOAD,
        metavar="CORES",
        help="how many cores others may keep busy: %(default)s",
    )
    everything.set_defaults(action=_all)
    report = actions.add_parser("report", help="write report.html, report.md and benchmarks.md")
    report.set_defaults(action=_report)
    for parser_of_sizes in (running, everything, report):
        sizes = parser_of_sizes.add_mutually_exclusive_group()
        for name in ("quick", "tiny"):
            sizes.add_argument(
                f"--{name}", dest="size", action="store_const", const=name, default="full"
            )
        parser_of_sizes.add_argument("--results", type=Path, metavar="DIR", help="their folder")
    compare.add_arguments(actions.add_parser("compare", help="compare two commits"))
    regret_grid.add_arguments(actions.add_parser("regret", help="compare plans with recipes"))
    return parser


def _list(options: argparse.Namespace) -> None:
    width = max(len(each.name) for each in EXPERIMENTS)
    for each in EXPERIMENTS:
        print(f"{each.name:{width}}  {each.title}")
    print("\nOf the figures and tables of the papers these are not among them:\n")
    for line in papers.described():
        print(textwrap.fill(line, 100, subsequent_indent="    ", break_on_hyphens=False))


def _run(options: argparse.Namespace) -> None:
    pa.set_cpu_count(1)  # one thread each, unless an experiment says otherwise
    print(machine.described(), file=sys.stderr)
    run(chosen(options.names), SIZES[options.size], _folder(options), again=options.again)


def _all(options: argparse.Namespace) -> None:
    if not options.most_load >= 0:
        raise SystemExit(f"--most-load is a number of cores from 0 on, not {options.most_load:g}")
    unattended = Unattended.begun(options.most_load)
    if importlib.util.find_spec("matplotlib") is None:
        raise SystemExit("the report needs matplotlib: pip install -e '.[experiments]'")
    pa.set_cpu_count(1)
    print(machine.described(), file=sys.stderr)
    try:
        seconds, failed = measure(
            EXPERIMENTS, SIZES[options.size], _folder(options), unattended=unattended
        )
        unattended.wait()
        begin = time.monotonic()
        failed += _rivals(options)
    except KeyboardInterrupt:
        raise SystemExit("interrupted: the same command resumes at this point") from None
    seconds["rivals"] = time.monotonic() - begin
    _report(options)
    say(times(seconds))
    if failed:
        raise SystemExit("\n".join(failed))


def _rivals(options: argparse.Namespace) -> list[str]:
    """Run other systems that are installed, and the C program; return their failures."""
    if options.size == "tiny":
        return []
    arguments = ["all", "--results", str(_folder(options))]
    if script := os.environ.get(VARIABLE):
        arguments += ["--limit", script]
    try:
        rivals.main([*arguments, *(["--quick"] if options.size == "quick" else [])])
    except SystemExit as problem:
        return [str(problem)]
    return []


def times(seconds: Mapping[str, float]) -> str:
    """The time of each experiment, the longest first, and of all of them."""
    ordered = sorted(seconds.items(), key=lambda each: -each[1])
    lines = [f"{took:8.1f} s  {name}" for name, took in ordered]
    return "\n".join([*lines, f"{sum(seconds.values()) / 60:8.1f} minutes in all"])


def _report(options: argparse.Namespace) -> None:
    folder = _folder(options)
    for path in reporting.write(EXPERIMENTS, folder):
        print(path)
    path = benchmarks.PAGE if folder == PLACES["full"] else folder / benchmarks.PAGE.name
    path.write_text(benchmarks.page(folder), encoding="utf-8")
    print(path)
    compared = [str(path) for call in CALLS if (path := call.path(folder)).exists()]
    if compared and folder == PLACES["full"]:
        rivals.main(["table", "--csv", *compared, "--docs", str(TABLES)])
        print(TABLES)


def chosen(names: Sequence[str]) -> list[Experiment]:
    """The experiments of some names, patterns, or all of them."""
    found = []
    for name in names:
        some = [each for each in EXPERIMENTS if fnmatch.fnmatchcase(each.name, name)]
        if name == "all":
            some = list(EXPERIMENTS)
        if not some:
            raise SystemExit(f"there is no experiment {name}: `python -m experiments list`")
        found += some
    return [each for each in EXPERIMENTS if each in found]


def _folder(options: argparse.Namespace) -> Path:
    return options.results or PLACES[options.size]


if __name__ == "__main__":
    main()
