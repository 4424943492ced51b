"""Look for queries of which the engine and the naive matcher find different matches.

    python -m tests.drawing.hunt FORM SEED COUNT [WAY …]

tries the queries and streams of the numbers from SEED on, each by one way to run it, and prints
each that fails, mostly with as few events and clauses as it still fails with. A WAY is a recipe, of
which those that are named take turns; of the first forms also `late`, rows in any order. Of scripts
it is a kind of ways to run them.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sase.errors import QueryError
from tests.drawing import outcomes, queries, script_ways
from tests.drawing.examples import Example
from tests.drawing.imprecise import FORMS as IMPRECISE
from tests.drawing.late_rows import late_fault
from tests.drawing.outcomes import FOUND, NOTHING, REFUSED, Outcome, Tried
from tests.drawing.patterns import binds, smaller_patterns
from tests.drawing.repeated_groups import APART
from tests.drawing.repeated_groups import FORMS as GROUPS
from tests.drawing.ways import LATE, Way, case, reference, run, unlike
from tests.engine.groups import counting


def fault(example: Example, way: Way) -> str | None:
    """The fault of the engine, if there is one."""
    if example.is_refused:
        return None
    try:
        if way.manner == LATE:
            return late_fault(example, way)
        return unlike(example, way, run(example, way))
    except Exception as error:
        if example.setting.is_imprecise and isinstance(error, QueryError):
            raise  # a recipe may refuse a query
        place = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{Path(place.filename).name} line {place.lineno}"
        return f"{type(error).__name__} in {at}: {error}"


def tried(number: int, asked: Sequence[str] = (), *, form: str) -> Outcome:
    """Run the example of a number, and return the outcome."""
    example, way = case(number, form, asked)
    try:
        found = fault(example, way)
    except QueryError as error:
        return Outcome(f"{REFUSED}: {re.sub('`.*?`', '`…`', str(error)).splitlines()[0]}")
    if found is not None:
        return Outcome(FOUND, told(number, example, way))
    if example.is_refused:
        return Outcome(REFUSED)
    return Outcome(FOUND if matches(example, way) else NOTHING)


def matches(example: Example, way: Way) -> Sequence[Any]:
    """Those that are expected."""
    return example.expected if example.is_judged else reference(example, way).rows


FORMS: Mapping[str, Tried] = {
    **{form: partial(tried, form=form) for form in (*queries.FORMS, *GROUPS, APART, *IMPRECISE)},
    "scripts": script_ways.tried,
    "counted groups": counting.tried,
}


# ---------------------------------------------------------------- a small case


def told(number: int, example: Example, way: Way) -> str:
    """A case that fails, as small as it still does."""
    smaller, plainer = shrunk(example, way)
    return f"{number}: {smaller}\n  {plainer}\n  {fault(smaller, plainer)}\n"


def shrunk(example: Example, way: Way) -> tuple[Example, Way]:
    """As small as it still fails."""
    return outcomes.shrunk(example, way, fault, _smaller)


def _smaller(example: Example, way: Way) -> Iterator[tuple[Example, Way]]:
    for place in range(len(example.rows) - 1, -1, -1):
        rows = example.rows[:place] + example.rows[place + 1 :]
        yield replace(example, rows=rows), way
    query = example.query
    for clause in ("limit", "returned", "having", "confidence", "window", "listed", "strategy"):
        if getattr(query, clause):
            yield replace(example, query=replace(query, **{clause: ""})), way
    for clause in ("conditions", "tests"):
        texts = getattr(query, clause)
        for place in range(len(texts)):
            fewer = {clause: texts[:place] + texts[place + 1 :]}
            yield replace(example, query=replace(query, **fewer)), way
    for tree in smaller_patterns(query.tree):
        if binds(tree):
            yield replace(example, query=replace(query, tree=tree)), way
    if example.output != "all":
        yield replace(example, output="all"), way
    for manner in ("table", "push"):
        if way.manner not in ("table", LATE, manner):
            yield example, replace(way, manner=manner)
    if way.recipe != "nfab":
        yield example, replace(way, recipe="nfab")


# ---------------------------------------------------------------- a hunt


def hunt(tried: Tried, first: int, count: int, asked: Sequence[str] = ()) -> Counter[str]:
    """How many queries were refused, found nothing, found matches, and are faults."""
    seen: Counter[str] = Counter()
    for number in range(first, first + count):
        try:
            outcome = tried(number, asked)
        except Exception:
            outcome = Outcome(REFUSED, f"{number}\n{traceback.format_exc()}")
        seen[outcome.kind if outcome.fault is None else "faults"] += 1
        if outcome.fault is not None:
            print(outcome.fault, flush=True)
    return seen


def main(form: str, first: str, count: str, *asked: str) -> int:
    """Print the faults, and how many queries there were of each kind."""
    total = hunt(FORMS[form], int(first), int(count), asked)
    print(f"{count} queries of the form {form}: {dict(total)}")
    return bool(total["faults"])


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in FORMS:
        sys.exit(f"{__doc__}\nFORM is one of {', '.join(map(repr, FORMS))}")
    sys.exit(main(*sys.argv[1:]))
