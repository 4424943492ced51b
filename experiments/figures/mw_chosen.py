"""Ours: where the default plan has match windows, and how much faster it is with them."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path

import pyarrow as pa

import plans
import sase
from experiments.core.checks import CPU_RATE, Check, at_least, within
from experiments.core.experiment import (
    Experiment,
    Finding,
    Outcome,
    Plot,
    Point,
    Size,
    Verdict,
    Way,
)
from experiments.core.results import Results
from experiments.core.ways import Make
from experiments.rare_streams import PLACES, RARE, pattern, rare_stream

CHOSEN, WITHOUT = "optimized", "without match windows"
STACKS, RUNS = "stacks", "runs"
# The rewrite of the default recipe that is left out.
TAKEN = '{ rewrite = "prune_by_match_windows", where = "cheaper" },'
PLACE = Path("build/experiments/without_match_windows.toml")
# The least gain of a plan with match windows, and the most cost of one that has none.
GAIN, COST = 1.25, 1.2
BY_STACKS = tuple(
    pattern(length, place, negated=negated)
    for length in (4, 6)
    for place in PLACES
    for negated in (False, True)
)
BY_RUNS = (
    f"EVENT SEQ(E1 a, E2+ b[], {RARE} r) WHERE skip_till_next_match {{ [attr1] }} WITHIN 10000",
    f"EVENT SEQ(E1 a, E2+ b[], {RARE} r) WHERE skip_till_next_match WITHIN 1000",
    f"EVENT SEQ(E1 a, E2+ b[], {RARE} r) WHERE earliest_maximal {{ [attr1] }} WITHIN 10000",
    f"EVENT SEQ(E1 a, E2+ b[], {RARE} r) WHERE earliest_maximal WITHIN 1000",
    f"EVENT SEQ(SET(E1 a, E2+ b[]), {RARE} r) WHERE earliest_maximal WITHIN 1000",
    f"EVENT SET(E1 a, E2+ b[], E3 c, {RARE} r) WHERE earliest_maximal {{ [attr1] }} WITHIN 10000",
    f"EVENT SET(E1 a, E2 b, E3 c, {RARE} r) WHERE earliest_maximal WITHIN 300",
    "EVENT SET(E1 a, E2+ b[], E3 c, E4 d) WHERE earliest_maximal { [attr1] } WITHIN 10000",
)


def points(size: Size) -> Iterator[Point]:
    """Patterns with one component of one event in 10,000, and one without."""
    events = size.of(1_000_000, 200_000, 5_000)
    stream = rare_stream(events, 10_000)
    for panel, queries in ((STACKS, BY_STACKS), (RUNS, BY_RUNS)):
        for query in queries[size.of(0, -3, -2) :]:
            ways = {way: _match(query, way) for way in (CHOSEN, WITHOUT)}
            yield Point(query.removeprefix("EVENT "), ways, stream, events, panel)


def _match(query: str, way: str) -> Make:
    """A match of a table, with the statistics of a sample that choose the plan."""

    def make(table: pa.Table) -> Way:
        recipe = CHOSEN if way == CHOSEN else _without()

        def run() -> sase.Matches:
            matches = sase.match(query, table, plan=recipe, threads=1)
            len(matches)
            return matches

        return Way(run, _told)

    return make


def _told(matches: sase.Matches) -> Outcome:
    is_unpruned = "MatchWindow" not in dict(matches.report.counters)
    return Outcome(len(matches), None, {"unpruned": float(is_unpruned)})


def _without() -> str:
    """The default recipe without match windows."""
    text = (Path(plans.__file__).parent / "optimized.toml").read_text(encoding="utf-8")
    assert text.count(TAKEN) == 1
    PLACE.parent.mkdir(parents=True, exist_ok=True)
    PLACE.write_text(text.replace(TAKEN, ""), encoding="utf-8")
    return str(PLACE)


def gains(low: float, high: float, required: str, *, has_windows: bool) -> Check:
    """How many times as fast the default plan is, over queries with match windows or without."""

    def check(results: Results) -> Verdict:
        found = {}
        for panel in results.panels():
            unpruned = dict(results.curve(CHOSEN, "unpruned", panel))
            ratios = results.ratios(CHOSEN, WITHOUT, CPU_RATE, panel)
            found |= {x: ratio for x, ratio in ratios.items() if (unpruned[x] == 0) == has_windows}
        if not found:
            return Verdict(None, "no such query", required)
        least, most = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
        said = f"{found[least]:.3g} ({least}) to {found[most]:.3g} ({most}), {len(found)} queries"
        return Verdict(low <= found[least] and found[most] <= high, said, required)

    return check


def none_in(panel: str) -> Check:
    """No plan of a panel has match windows."""
    required = "all plans without"

    def check(results: Results) -> Verdict:
        unpruned = results.curve(CHOSEN, "unpruned", panel)
        if not unpruned:
            return Verdict(None, f"{panel}: not measured", required)
        count = sum(value for _, value in unpruned)
        said = f"{panel}: {count:g} of {len(unpruned)} plans have no match windows"
        return Verdict(count == len(unpruned), said, required)

    return check


EXPERIMENT = Experiment(
    "mw_chosen",
    "Match windows in default plans",
    "Ours",
    "The optimizer adds match windows where they pay. A walk through stacks needs none.",
    points,
    (Plot(CPU_RATE, "events/s of the processor", "", log_y=True, bars=True),),
    (
        Finding("no plan with stacks has match windows", none_in(STACKS)),
        Finding(
            f"a plan with match windows is at least {GAIN} times as fast as without",
            gains(GAIN, inf, at_least(GAIN), has_windows=True),
        ),
        Finding(
            "a plan without them is as fast as one that never considers them",
            gains(1 / COST, COST, within(COST), has_windows=False),
        ),
    ),
    ("unpruned",),
)
