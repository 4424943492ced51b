"""Look for patterns with repeated groups of which engine and naive matcher find different matches.

    python -m tests.engine.groups.hunt SEED COUNT [FORM]

tries the queries of the numbers from SEED on: with a repeated group, or in the form of one in
several branches (`branches`), beside negative groups (`beside`), with these in its iterations
(`inside`), beside sets (`sets`), whose conditions mention other iterations in an OR (`earlier`), or
any of these whose matches are not to overlap (`apart`). It prints each that fails, how many were
refused, found nothing, and found matches, and how many of those that were not refused mention
another iteration in an OR.
"""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from collections.abc import Callable, Mapping

from tests.engine.groups import alternatives, apart, beside, earlier, inside, queries, sets
from tests.engine.groups.comparing import run
from tests.engine.groups.queries import Drawn

FORMS: Mapping[str, Callable[[int], Drawn]] = {
    "groups": queries.draw,
    "branches": alternatives.draw,
    "beside": beside.draw,
    "inside": inside.draw,
    "sets": sets.draw,
    "earlier": earlier.draw,
    "apart": apart.draw,
}
FAULT = "faults"


def hunt(first: int, count: int, draw: Callable[[int], Drawn]) -> Counter[str]:
    """How many queries were refused, found nothing, found matches, and are faults."""
    seen: Counter[str] = Counter()
    for number in range(first, first + count):
        fault = None
        try:
            comparison = run(number, draw)
        except Exception:
            fault = f"{number}: {draw(number)}\n{traceback.format_exc()}"
        else:
            fault = comparison and comparison.fault
        if fault is not None:
            seen[FAULT] += 1
            print(fault, flush=True)
        elif comparison is None:
            seen["refused"] += 1
        else:
            seen["with matches" if comparison.wanted else "without matches"] += 1
            seen["of another iteration in an OR"] += comparison.drawn.has_earlier_in_or
    return seen


if __name__ == "__main__":
    form = sys.argv[3] if sys.argv[3:] else "groups"
    total = hunt(int(sys.argv[1]), int(sys.argv[2]), FORMS[form])
    print(f"{sys.argv[2]} queries of the form {form}: {dict(total)}")
    sys.exit(bool(total[FAULT]))
