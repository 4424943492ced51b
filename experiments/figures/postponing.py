"""Shared by the figures of SASE++ 2014: the template, streams, predicates of each class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from experiments.core.experiment import Way
from experiments.core.ways import Make, compressed, counted, listed

SOURCE = "SASE++, 2014"
# The recipes, each with the rewrites without all of which it is another one's plan.
RECIPES: dict[str, tuple[str, ...]] = {
    "nfab": (),
    "postponed": ("use_algorithm",),
    "postponed_filters": ("unfold_aggregates", "filter_early"),
    "collapsed": ("use_algorithm",),
}
# The recipe `collapsed` lists the paths of a graph, and the paper's collapsed format lists none.
FILTERED = {
    "true-value consistent": "postponed_filters",
    "false-value consistent": "postponed_filters",
    "both": "postponed",  # the condition is on single events and pushed: no filter is left
    "inconsistent": "postponed_filters",
}
NAMES = {"collapsed": "graph, listed"}
COLLAPSED = "collapsed form"
VALUES = 1_000
# The classes of predicates (docs/postponing.md), with a place for the value that makes θ.
CLASSES = {
    "true-value consistent": "max(b[..i].v) < {value}",
    "false-value consistent": "max(b[].v) > {value}",
    "both": "b[i].v < {value}",
    "inconsistent": "b[i].v > b[i-1].v AND c.v < {value}",
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
