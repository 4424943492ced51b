"""Experiments run one after the other; a measured one is not run again."""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

from experiments.core import results
from experiments.core.experiment import SIZES, Experiment, Point, Size
from experiments.core.measuring import GIVE_UP, give_up, measured, warm_up
from experiments.core.results import MEASURED, TOO_SLOW, Row
from experiments.core.unattended import Unattended, say
from sase.cli.messages import WIDTH, Progress

# The folder for the results of a size: only the full size is committed.
PLACES = {
    "full": Path(__file__).parents[1] / "results",
    "quick": Path("build/experiments/quick"),
    "tiny": Path("build/experiments/tiny"),
}

SMALLEST = SIZES["tiny"]
# The rows of a point; ways that are too slow are added to the set.
Measure = Callable[[Experiment, Point, Size, set[tuple[str, str]]], list[Row]]


class Steps(Progress):
    """A line that says how many points are measured, and which is next."""

    def __init__(self, total: int) -> None:
        super().__init__(total)
        self.what = ""
        self._points = total

    def line(self) -> str:
        """A bar, and the current measurement."""
        done = self.rows / max(self._points, 1)
        return f"{'█' * round(done * WIDTH):░<{WIDTH}} {self.rows}/{self._points}  {self.what}"


def run(
    experiments: Iterable[Experiment],
    size: Size,
    folder: Path,
    *,
    again: bool = False,
) -> None:
    """Measure every experiment, and write its results after each point; name those that failed."""
    _, failed = measure(experiments, size, folder, again=again)
    if failed:
        raise SystemExit("\n".join(failed))


def measure(
    experiments: Iterable[Experiment],
    size: Size,
    folder: Path,
    *,
    again: bool = False,
    unattended: Unattended | None = None,
) -> tuple[dict[str, float], list[str]]:
    """The seconds of each experiment, and the failures: the others are measured all the same."""
    here = results.place(size.name)
    if here["commit"].endswith("-dirty"):
        say("the working tree has changes: nothing that was measured before is taken over")
    work = [(each, list(each.points(size))) for each in experiments]
    rows_of = measured if unattended is None else unattended.measured
    failed, seconds = [], dict[str, float]()
    with Steps(sum(len(points) for _, points in work)) as steps:
        for experiment, points in work:
            path = folder / f"{experiment.name}.csv"
            known = [] if again else list(results.of_the_same(results.read(path).rows, here))
            begin = steps.seconds
            try:
                _run(experiment, points, size, known, here, path, steps, rows_of)
            except Exception as problem:
                failed.append(f"{experiment.name}: {problem}")
                say(f"{failed[-1]}\n{traceback.format_exc()}")
            seconds[experiment.name] = steps.seconds - begin
    gc.unfreeze()
    return seconds, failed


def _run(
    experiment: Experiment,
    points: list[Point],
    size: Size,
    known: list[Row],
    here: dict[str, str],
    path: Path,
    steps: Steps,
    rows_of: Measure,
) -> None:
    begin = steps.seconds
    # Objects that live on anyway need not be looked through before each run.
    gc.collect()
    gc.freeze()
    rows: list[Row] = []
    is_warm = False
    slow: set[tuple[str, str]] = set()
    for point in points:
        steps.what = f"{experiment.name} {point.panel} {point.x}"
        there = _rows_of(point, known)
        if there is None:
            if not is_warm and size.name != SMALLEST.name and not experiment.once:
                warm_up(experiment, SMALLEST)
            is_warm = True
            there = [row | here for row in rows_of(experiment, point, size, slow)]
        for row in [] if experiment.once or experiment.uses else there:
            if row["status"] == TOO_SLOW or row.get("wall_s", 0) > GIVE_UP * size.most_seconds:
                give_up(point, row["way"], slow)
        rows += there
        results.write(path, rows)
        steps.rows += 1
    if not sys.stderr.isatty():
        say(f"{experiment.name}: {len(points)} points, {steps.seconds - begin:.1f} s")
    stopped = [row for row in rows if row["status"] != MEASURED]
    for note in dict.fromkeys(f"{row['way']}: {row['status']}: {row['note']}" for row in stopped):
        say(f"  {note}")


def _rows_of(point: Point, known: list[Row]) -> list[Row] | None:
    """The known result of all ways of a point, or None."""
    found = {row["way"]: row for row in known if (row["panel"], row["x"]) == (point.panel, point.x)}
    return [found[name] for name in point.ways] if set(point.ways) <= set(found) else None
