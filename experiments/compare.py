"""Two commits beside each other: cells run in turn in processes of each, ratios with confidence.

    python -m experiments compare OLD NEW [--cells 'Q1/*' series …] [--rounds N] [--processes N]

Working trees of both are made in a temporary folder. A process of each commit stays open, and both
run a cell in turn; ratios are of the two runs of a turn, and their interval is that of the median
by bootstrap. Several processes, one after the other, take part in a figure: where a process lies in
memory makes a difference of its own.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from experiments import machine
from experiments.cells import CELLS, D1, Q3_D1, Q5_S5

ROOT = Path(__file__).parents[1]
# Rows of a push.
PUSHED = (1, 100, 1_000, 10_000, 100_000)
ROUNDS, PROCESSES, SAMPLES, CONFIDENCE = 15, 3, 5_000, 0.95
WORKER = Path(__file__).with_name("compare_worker.py")


class Work(NamedTuple):
    """A task of a process: a query by a recipe, over events that its own generators make.

    They are there at once, or `pushed` in batches of this many rows.
    """

    name: str
    query: str
    generator: str
    arguments: dict[str, Any]
    matches: int | None = None
    plan: str = "optimized"
    pushed: int | None = None


def _cells() -> Iterator[Work]:
    """The cells of the throughput table, Q5, some of level 2, and pushes by their rows."""
    for cell in CELLS:
        stream = cell.stream
        arguments = {"events": stream.events, "domains": stream.domains, "seed": stream.seed}
        yield Work(cell.name, cell.query.text, "uniform_events", arguments, cell.matches)
    stocks = {"events": Q5_S5.events, "seed": 20080601}
    yield Work(Q5_S5.name, Q5_S5.text, "stock_events", stocks, Q5_S5.matches)
    short = {"events": D1.events, "domains": D1.domains, "seed": D1.seed}
    for strategy in ("partition_contiguity", "skip_till_next_match"):
        query = Q5_S5.text.replace("skip_till_next_match", strategy).replace(
            "a[i-1].price", "min(a[..i-1].price)"
        )
        yield Work(f"series/{strategy}", query, "stock_events", stocks)
    many = "EVENT SEQ(E1 a, E2+ b[], E3 c) WHERE skip_till_next_match {[attr1]} WITHIN 2000"
    yield Work("series/keys", many, "uniform_events", short)
    ways = "EVENT SEQ(E1 a, E2+ b[], E3 c) WHERE [attr1] AND b[i].attr3 > b[i-1].attr3 WITHIN 3000"
    for plan in ("nfab", "postponed_filters"):
        yield Work(f"series/{plan}", ways, "uniform_events", short, plan=plan)
    for rows in PUSHED:
        yield Work(f"pushes/{rows}", Q3_D1.query.text, "uniform_events", short, pushed=rows)
    yield Work("pushes/series", many, "uniform_events", short, pushed=1_000)


ALL = tuple(_cells())


class Ratio(NamedTuple):
    """The ratio of the times of the new commit and the old one, and its interval."""

    median: float
    low: float
    high: float

    @property
    def told(self) -> str:
        """The conclusion."""
        if self.low > 1:
            return "slower"
        return "faster" if self.high < 1 else "no difference seen"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("old", help="a commit")
    parser.add_argument("new", help="another")
    parser.add_argument(
        "--cells", nargs="+", default=["*"], metavar="PATTERN", help="of their names"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"turns in a process: {ROUNDS}")
    parser.add_argument(
        "--processes", type=int, default=PROCESSES, help=f"of each commit for a cell: {PROCESSES}"
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the seconds of all runs")
    parser.set_defaults(action=main)


def main(options: argparse.Namespace) -> None:
    """Compare, and print a line for each cell when it is there."""
    works = [work for work in ALL if any(fnmatch.fnmatchcase(work.name, p) for p in options.cells)]
    if not works:
        raise SystemExit(f"there are no such cells; there are {', '.join(w.name for w in ALL)}")
    print(machine.described())
    print(f"- old {_git('rev-parse', options.old)}\n- new {_git('rev-parse', options.new)}")
    print(f"new : old, {CONFIDENCE:.0%} interval of the median by bootstrap\n", flush=True)
    lines: list[tuple[object, ...]] = [("cell", "process", "turn", "old_s", "new_s")]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        trees = [
            stack.enter_context(_tree(commit, Path(folder) / name))
            for name, commit in (("old", options.old), ("new", options.new))
        ]
        for work in works:
            pairs = list(_pairs(work, trees, options.rounds, options.processes))
            lines += [(work.name, *each) for each in pairs]
            ratio = bootstrapped([new / old for *_, old, new in pairs])
            old, new = (1e3 * median(each) for each in list(zip(*pairs, strict=True))[2:])
            print(
                f"{work.name:30} {old:9.2f} ms → {new:9.2f} ms   {ratio.median:.3f}"
                f" ({ratio.low:.3f}–{ratio.high:.3f})  {ratio.told}",
                flush=True,
            )
    if options.csv:
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)


def bootstrapped(ratios: Sequence[float], seed: int = 1) -> Ratio:
    """The median, and the interval in which it lies when the turns are drawn again."""
    rng = random.Random(seed)
    medians = sorted(median(rng.choices(ratios, k=len(ratios))) for _ in range(SAMPLES))
    outside = int(SAMPLES * (1 - CONFIDENCE) / 2)
    return Ratio(median(ratios), medians[outside], medians[-1 - outside])


def _pairs(
    work: Work, trees: Sequence[Path], rounds: int, processes: int
) -> Iterator[tuple[int, int, float, float]]:
    """The seconds of old and new, turn by turn; who begins changes."""
    for process in range(processes):
        with ExitStack() as stack:
            workers = [stack.enter_context(_worker(work, tree)) for tree in trees]
            counts = {name: _asked(w) for name, w in zip(("old", "new"), workers, strict=True)}
            found = {count for count, _ in counts.values()}
            if len(found) > 1 or (work.matches is not None and found != {work.matches}):
                told = ", ".join(f"{name} finds {count:,}" for name, (count, _) in counts.items())
                raise SystemExit(f"{work.name}: {told}; right are {work.matches or 'equal ones'}")
            for turn in range(rounds):
                order = (0, 1) if turn % 2 == 0 else (1, 0)
                seconds = {place: _asked(workers[place])[1] for place in order}
                yield process, turn, seconds[0], seconds[1]


@contextmanager
def _worker(work: Work, tree: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that runs the cell once for each line that it is sent."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}
    process = subprocess.Popen(
        [sys.executable, str(WORKER)],
        env=environment,
        cwd=tree,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        _send(process, json.dumps({**work._asdict(), "tree": str(tree)}))
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def _asked(process: subprocess.Popen[str]) -> tuple[int, float]:
    """How many matches a run finds, and its seconds."""
    _send(process, "run")
    assert process.stdout is not None
    answer = process.stdout.readline()
    if not answer:
        raise SystemExit("a process ended without an answer; what it said stands above")
    count, seconds = json.loads(answer)
    return count, seconds


def _send(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


@contextmanager
def _tree(commit: str, path: Path) -> Iterator[Path]:
    """A working tree of a commit, with the files that the package has at the top of the tree."""
    _git("worktree", "add", "--quiet", "--detach", str(path), commit)
    try:
        for name in ("plans", "grammar"):
            (path / "sase" / name).symlink_to(Path("..") / name)
        yield path
    finally:
        _git("worktree", "remove", "--force", str(path))


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()
