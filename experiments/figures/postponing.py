"""Shared by the figures of SASE++ 2014: the template, streams, predicates of each class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from experiments.core.experiment import Way
from experiments.core.ways import Make, compressed, counted, listed

SOURCE = "SASE++, 2014"
# ZStream as the paper runs it: runs begin once the buffers of all components have events that may
# be in a match. And a tree of joins, as ZStream has it; the further events of a series are walked.
BUFFERED, TREE = "ZStream, buffers", "ZStream, tree"
# The recipes, each with the rewrites without all of which it is another one's plan.
RECIPES: dict[str, tuple[str, ...]] = {
    "nfab": (),
    "nfab_buffered": ("prune_by_match_windows",),
    "tree_bushy": ("join_by_tree",),
    "postponed": ("use_algorithm",),
    "postponed_filters": ("unfold_aggregates", "filter_early"),
    "collapsed": ("use_algorithm",),
}
# The recipe `collapsed` lists the paths of a graph, and the paper's collapsed format lists none.
NAMES = {"collapsed": "graph, listed", "nfab_buffered": BUFFERED, "tree_bushy": TREE}
COLLAPSED = "collapsed form"
VALUES = 1_000
# The classes of predicates (docs/postponing.md), with a place for the value that makes θ.
CLASSES = {
    "true-value consistent": "max(b[..i].v) < {value}",
    "false-value consistent": "max(b[].v) > {value}",
    "both": "b[i].v < {value}",
    "inconsistent": "b[i].v > b[i-1].v AND c.v < {value}",
}
# Conditions that no rewrite turns into tests of single events.
TRUE_WITH_C, PAIRS = "true-value consistent, with c", "true-value consistent, of pairs"
FALSE_WITH_C, AVERAGE = "false-value consistent, with c", "inconsistent, average"
STAYING = {
    TRUE_WITH_C: "c.v > max(b[].v) AND c.v < {value}",
    PAIRS: "b[i].v > {value}% * max(b[..i-1].v)",
    FALSE_WITH_C: "c.v < max(b[].v) AND c.v >= {value}",
    AVERAGE: "avg(b[].v) < {value}",
}
# The recipe of postponing with early filters.
FILTERED = {
    "true-value consistent": "postponed_filters",
    "false-value consistent": "postponed_filters",
    "both": "postponed",  # the condition is on single events and pushed: no filter is left
    "inconsistent": "postponed_filters",
    TRUE_WITH_C: "postponed_filters",
    PAIRS: "postponed_filters",
    FALSE_WITH_C: "postponed_filters",
    AVERAGE: "postponed",  # nothing decides it before the whole series is known
}


@dataclass(frozen=True)
class Shares:
    """Of all events how many are of the types A, B and C."""

    a: float
    b: float
    c: float

    def stream(self, events: int, seed: int) -> Callable[[], pa.Table]:
        """Events of these and of a type D, with uniform values."""

        def made() -> pa.Table:
            rng = np.random.default_rng(seed)
            shares = [self.a, self.b, self.c, 1 - self.a - self.b - self.c]
            kinds = rng.choice(4, size=events, p=shares).astype(np.int8)
            types = pa.DictionaryArray.from_arrays(kinds, pa.array(["A", "B", "C", "D"]))
            values = rng.integers(0, VALUES, events)
            return pa.table({"ts": np.arange(events), "type": types, "v": values})

        return made


def query(predicate: str, value: int, window: int) -> str:
    """The template under skip till any match."""
    return f"EVENT SEQ(A a, B+ b[], C c) WHERE {predicate.format(value=value)} WITHIN {window}"


def ways(text: str, events: int, **rest: object) -> dict[str, Make]:
    """By each recipe, and as a set that is not listed."""
    made: dict[str, Make] = {
        NAMES.get(plan, plan): listed(text, plan, needs=needs, **rest)  # type: ignore[arg-type]
        for plan, needs in RECIPES.items()
    }
    made |= {
        COLLAPSED: compressed(text, rows=True),
        "compressed": compressed(text),
        "count": counted(text),
    }
    return {name: _with_theta(make, events) for name, make in made.items()}


def _with_theta(make: Make, events: int) -> Make:
    """With the paper's selectivity, matches for an event."""

    def made(table: pa.Table) -> Way:
        way = make(table)

        def told(found: object) -> object:
            outcome = way.told(found)
            figures = dict(outcome.figures)
            theta = outcome.matches / events if outcome.matches < 10**18 else float("inf")
            # The intermediate results of a plan: runs, or instances that walks look at.
            made = figures.get("runs", figures.get("visited"))
            more = {} if made is None else {"runs_or_visits": made}
            return outcome._replace(figures={**figures, "theta": theta, **more})

        return way._replace(told=told)  # type: ignore[arg-type]

    return made
