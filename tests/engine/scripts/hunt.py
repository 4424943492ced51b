"""Look for scripts of which the engine and the naive way find different matches.

    python -m tests.engine.scripts.hunt SEED COUNT [KIND …]

tries the scripts of the numbers from SEED on, by any way or by those of these kinds, and prints
each that fails with as few statements and events as it still fails with.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from tests.engine.scripts.examples import ScriptExample, drawn
from tests.engine.scripts.ways import KINDS, RECIPES, ScriptWay, fault


def case(number: int, kinds: tuple[str, ...] = KINDS) -> tuple[ScriptExample, ScriptWay]:
    """The script of a number, and the way that it is run."""
    random = Random(number)
    return drawn(number), ScriptWay(random.choice(kinds), random.choice(RECIPES), number)


def shrunk(example: ScriptExample, way: ScriptWay) -> ScriptExample:
    """With fewer statements and events, while the same kind of fault is left."""
    wanted = _kind(fault(example, way) or "")
    smaller = next((e for e in _smaller(example) if _has(e, way, wanted)), None)
    return example if smaller is None else shrunk(smaller, way)


def _has(example: ScriptExample, way: ScriptWay, wanted: str) -> bool:
    try:
        found = fault(example, way)
    except ValueError:  # a stream that is read is no longer there
        return False
    return found is not None and _kind(found) == wanted


def _kind(found: str) -> str:
    """Faults of one kind begin alike."""
    return "finds" if " finds\n" in found else found.split(":")[0]


def _smaller(example: ScriptExample) -> Iterator[ScriptExample]:
    for place in reversed(range(len(example.statements))):
        if len(example.statements) > 1:
            left = example.statements[:place] + example.statements[place + 1 :]
            yield replace(example, statements=left)
    for place, given in enumerate(example.inputs):
        for row in reversed(range(len(given.rows))):
            shorter = replace(given, rows=given.rows[:row] + given.rows[row + 1 :])
            inputs = (*example.inputs[:place], shorter, *example.inputs[place + 1 :])
            yield replace(example, inputs=inputs)


def main(first: int, count: int, kinds: tuple[str, ...]) -> Counter[str]:
    """Print the faults among so many scripts."""
    found = Counter[str]()
    for number in range(first, first + count):
        example, way = case(number, kinds)
        problem = fault(example, way)
        if problem is not None:
            found[_kind(problem)] += 1
            small = shrunk(example, way)
            print(f"number {number}, {way}: {small}\n{fault(small, way)}\n", flush=True)
    return found


if __name__ == "__main__":
    total = main(int(sys.argv[1]), int(sys.argv[2]), tuple(sys.argv[3:]) or KINDS)
    print(f"{sys.argv[2]} scripts: {dict(total) or 'no fault'}")
    sys.exit(bool(total))
