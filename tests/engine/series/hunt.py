"""Look for queries of level 2 of which the engine and the naive matcher find different matches.

    python -m tests.engine.series.hunt SEED COUNT [RECIPE …]

tries the examples of the numbers from SEED on, by any recipe or in turn by those that are named,
and prints each that fails with as few events and clauses as it still fails with.
"""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from sase.errors import QueryError
from tests.engine.matching.ways import Way
from tests.engine.series.comparing import differences
from tests.engine.series.examples import SeriesExample
from tests.engine.series.routes import case, run

# What is drawn for a number.
Drawn: TypeAlias = Callable[[int], tuple[SeriesExample, Way]]


def fault(example: SeriesExample, way: Way) -> str | None:
    """What the engine does wrong."""
    if example.is_refused:
        return None
    try:
        return next(differences(example, run(example, way)), None)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{Path(place.filename).name} line {place.lineno}"
        return f"{type(error).__name__} in {at}: {error}"


def kind(found: str) -> str:
    """Faults of one kind begin alike."""
    return found.split(":")[0].split(" of ")[0]


def shrunk(example: SeriesExample, way: Way) -> tuple[SeriesExample, Way]:
    """With fewer events and clauses, by a plainer way, while the same kind of fault is left."""
    wanted = kind(fault(example, way) or "")
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for smaller in _smaller(example, way):
            found = _fault_or_none(*smaller)
            if found is not None and kind(found) == wanted:
                (example, way), is_smaller = smaller, True
                break
    return example, way


def _fault_or_none(example: SeriesExample, way: Way) -> str | None:
    """A query that lost a clause may be one that neither the binder nor the judge takes."""
    try:
        return fault(example, way)
    except (QueryError, ValueError, NotImplementedError):
        return None


def _smaller(example: SeriesExample, way: Way) -> Iterator[tuple[SeriesExample, Way]]:
    for place in range(len(example.rows) - 1, -1, -1):
        rows = example.rows[:place] + example.rows[place + 1 :]
        yield replace(example, rows=rows), way
    query = example.query
    for clause in ("limit", "returned", "having", "window", "listed", "strategy"):
        if getattr(query, clause):
            yield replace(example, query=replace(query, **{clause: ""})), way
    for clause in ("conditions", "tests"):
        texts = getattr(query, clause)
        for place in range(len(texts)):
            fewer = {clause: texts[:place] + texts[place + 1 :]}
            yield replace(example, query=replace(query, **fewer)), way
    for place in range(len(query.components)):
        parts = query.components[:place] + query.components[place + 1 :]
        if any(not part.negated and part.least for part in parts):
            yield replace(example, query=replace(query, components=parts)), way
    if example.output != "all":
        yield replace(example, output="all"), way
    for manner in ("table", "push"):
        if way.manner not in ("table", manner):
            yield example, replace(way, manner=manner)
    if way.recipe != "nfab":
        yield example, replace(way, recipe="nfab")


def told(number: int, example: SeriesExample, way: Way) -> str:
    """A case that fails, as small as it still does."""
    smaller, plainer = shrunk(example, way)
    return f"{number}: {smaller}\n  {plainer}\n  {fault(smaller, plainer)}\n"


def hunt(first: int, count: int, case: Drawn = case) -> Counter[str]:
    """Try that many examples; the kinds of faults, of which the first few are printed."""
    faults: Counter[str] = Counter()
    for number in range(first, first + count):
        example, way = case(number)
        found = fault(example, way)
        if found is None:
            continue
        faults[kind(found)] += 1
        if faults[kind(found)] <= 5:
            print(told(number, example, way), flush=True)
    return faults


def by(recipes: Sequence[str]) -> Drawn:
    """What is drawn for a number, with these recipes in turn."""

    def drawn(number: int) -> tuple[SeriesExample, Way]:
        example, way = case(number)
        return example, replace(way, recipe=recipes[number % len(recipes)], order=(), off=None)

    return drawn


if __name__ == "__main__":
    total = hunt(int(sys.argv[1]), int(sys.argv[2]), by(sys.argv[3:]) if sys.argv[3:] else case)
    print(f"{sys.argv[2]} examples: {dict(total) or 'no fault'}")
    sys.exit(bool(total))
