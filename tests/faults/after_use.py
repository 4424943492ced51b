"""A program that has matched, also by threads, and then has processes of some kind match, too."""

from __future__ import annotations

import json
import multiprocessing
import sys
from typing import Any

import numpy as np
import pyarrow as pa

import sase

ROWS = 200_000
NUMBERS = np.arange(ROWS)
EVENTS = pa.table(
    {
        "ts": NUMBERS,
        "type": pa.array(["A", "B"] * (ROWS // 2)).dictionary_encode(),
        "id": NUMBERS // 2 % 50,
        "v": NUMBERS % 97,
    }
)
QUERY = "EVENT SEQ(A a, B b) WHERE [id] AND a.v < b.v WITHIN 200"
FIRST, SECOND = EVENTS.slice(0, ROWS // 2), EVENTS.slice(ROWS // 2)


def found(plan: sase.Plan) -> list[int]:
    """The matches by one thread, by two, and in a stream."""
    matcher = plan.open()
    pushed = len(matcher.push(FIRST)) + len(matcher.push(SECOND)) + len(matcher.finish())
    return [len(plan.run(EVENTS, threads=1)), len(plan.run(EVENTS, threads=2)), pushed]


def go_on(state: bytes, plan: sase.Plan) -> int:
    """The matches of the second half."""
    return left(plan.restore(state))


def left(matcher: sase.Matcher) -> int:
    """The matches of the second half in a matcher that has the first."""
    return len(matcher.push(SECOND)) + len(matcher.finish())


def inherited(matcher: sase.Matcher, queue: Any) -> None:
    """The same in a process that has the matcher since it was forked."""
    queue.put(left(matcher))


def main(method: str) -> dict[str, Any]:
    """The matches of this process, and those of the processes that it starts."""
    plan = sase.compile(QUERY, EVENTS)
    outcome: dict[str, Any] = {"here": found(plan)}
    matcher = plan.open()
    first, state = len(matcher.push(FIRST)), matcher.snapshot()
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        outcome["there"] = pool.map_async(found, [plan] * 3).get(timeout=200)
        outcome["restored"] = first + pool.apply_async(go_on, (state, plan)).get(timeout=200)
    if method == "fork":
        queue = context.Queue()
        child = context.Process(target=inherited, args=(matcher, queue))
        child.start()
        outcome["inherited"] = first + queue.get(timeout=200)
        child.join()
    outcome["afterwards"] = first + left(matcher)
    return outcome


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
