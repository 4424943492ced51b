"""Look for queries on imprecise time of which engine and naive matcher find different matches.

    python -m tests.engine.imprecise.hunt SEED COUNT [RECIPE | long | precise]

tries the queries of the numbers from SEED on, by a way of running that goes with the number; a
confidence may differ by 1e-9 from the exact one, and not at all between ways. Long streams are not
given to the naive matcher, but to the plainest way; of precise times one column must give the same.
It prints each that fails, and how many were refused, found nothing, and found matches.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections import Counter

from tests.engine.imprecise.comparing import Way, as_precise, run_number, two_ways
from tests.engine.imprecise.queries import Drawn, draw, draw_long, draw_precise

FAULT = "faults"
OTHERS = {"long": (draw_long, two_ways), "precise": (draw_precise, as_precise)}


def hunt(first: int, count: int, form: str | None = None) -> Counter[str]:
    """How many queries were refused, found nothing, found matches, and are faults."""
    seen: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for number in range(first, first + count):
        drawn = OTHERS[form][0](number) if form in OTHERS else draw(number)
        try:
            found = judged(number, drawn, form)
        except Exception:
            seen[FAULT] += 1
            rows = "\n".join(f"    {row}" for row in drawn.rows)
            told = f"{number} {Way.of(number)}\n  {drawn.text}\n{rows}\n{traceback.format_exc()}"
            print(told, flush=True)
            continue
        if isinstance(found, str):
            seen["refused"] += 1
            reasons[re.sub("`.*?`", "`…`", found)] += 1
        else:
            seen["with matches" if found else "without matches"] += 1
    for reason, times in reasons.most_common():
        print(f"refused {times} times: {reason}")
    return seen


def judged(number: int, drawn: Drawn, form: str | None) -> int | str:
    """How many matches there are, or why the query is refused; raises where there is a fault."""
    if form in OTHERS:
        return OTHERS[form][1](number, drawn)
    comparison = run_number(number, drawn, form)
    if isinstance(comparison, str):
        return comparison
    assert comparison.fault is None, comparison.fault
    return len(comparison.wanted)


if __name__ == "__main__":
    total = hunt(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if sys.argv[3:] else None)
    print(f"{sys.argv[2]} queries: {dict(total)}")
    sys.exit(bool(total[FAULT]))
