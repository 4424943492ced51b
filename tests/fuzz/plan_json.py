"""Plans as JSON text, changed anywhere, with a fingerprint that fits: they run, or are refused."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from random import Random
from typing import Any

import sase
from sase.planning.serialisation import fingerprint
from tests.fuzz import changes, driver
from tests.fuzz.documents import base, read_table, warm, written_table

# Characters of a document: a longer one takes longer, in proportion.
MOST = 10**6


def make(number: int) -> bytes:
    """A changed plan on the first line, and events that the unchanged one takes behind."""
    random = Random(number)
    known = base(number)
    document = changes.changed(json.loads(known.plan.to_json()), random)
    if len(json.dumps(document)) > MOST:
        document = {"format": 2}
    if isinstance(document, dict) and random.random() < 0.98:
        with suppress(sase.SaseError):
            document["fingerprint"] = fingerprint(json.dumps(document))
    return json.dumps(document).encode() + b"\n" + written_table(known.table)


def judge(document: bytes) -> str:
    """Open a plan, run it, and push the events to it."""
    text, _, data = document.partition(b"\n")
    plan = sase.Plan.from_json(text.decode())
    table = read_table(data)
    if not _attempt(lambda: plan.run(table).to_pylist()):
        return "opened, and refused events"
    matcher = plan.open()
    half = len(table) // 2
    for part in (table.slice(0, half), table.slice(half)):
        if not _attempt(lambda part=part: matcher.push(part).to_pylist()):
            return "opened, and refused events"
    matcher.finish().to_pylist()
    return "opened"


def _attempt(step: Any) -> bool:
    """Whether a step is not refused: another schema of a query is a right one, of other events."""
    try:
        step()
    except sase.SaseError:
        return False
    return True


TARGET = driver.Target(make, judge, ".plan", warm)

if __name__ == "__main__":
    sys.exit(driver.run(["tests.fuzz.plan_json"]))
