"""Snapshots of scripts, changed anywhere, with checksums that fit: gone on with, or refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np

import sase
from sase.engine.snapshots.codec import from_bytes, to_bytes
from tests.drawing.script_examples import ScriptExample, drawn
from tests.fuzz import changes, driver
from tests.fuzz.documents import read_table, written_table

# The header of a document: the number of its parts, and behind that the length of each.
_NUMBER = np.dtype("<i8")
LATENESS = (None, "0 s", "2 s", "30 s")


@dataclass(frozen=True)
class ScriptBase:
    """A script as JSON, a snapshot of it after some pushes, and the events to come by input."""

    script: bytes
    snapshot: bytes
    rest: dict[str | None, Any]


@lru_cache(maxsize=16)
def _base(number: int) -> ScriptBase:
    random = Random(number)
    while True:
        example = drawn(random.randrange(10**9))
        described = json.dumps(_described(example, random)).encode()
        tables = {each.name: each.table for each in example.inputs}
        try:
            matcher = _script(described, tuple(written_table(each) for each in tables.values()))[0]
            return _pushed(described, matcher.open(), tables, random)
        except sase.SaseError:  # such as a recipe that does not admit it
            continue


def _described(example: ScriptExample, random: Random) -> dict[str, Any]:
    return {
        "text": example.text,
        "inputs": [each.name for each in example.inputs],
        "options": [each.options for each in example.inputs],
        "lateness": random.choice(LATENESS),
        "plan": random.choice(("optimized", "optimized", "basic", "nfab", "tree_bushy")),
    }


def _pushed(
    described: bytes, matcher: Any, tables: Mapping[str | None, Any], random: Random
) -> ScriptBase:
    seen = dict.fromkeys(tables, 0)
    read = [name for name in tables if name in matcher.inputs]
    for _ in range(random.randrange(12)):
        name, size = random.choice(read), random.randrange(1, 4)
        matcher.push(name, tables[name].slice(seen[name], size))
        seen[name] = min(seen[name] + size, len(tables[name]))
    rest = {name: table.slice(seen[name]) for name, table in tables.items()}
    return ScriptBase(described, matcher.snapshot(), rest)


def make(number: int) -> bytes:
    """A script, a changed snapshot of it, and the events to go on with, one input by one."""
    random, known = Random(number), _base(number // 100)
    state = from_bytes(known.snapshot)
    if number % 100:
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            _change(state, random)
    try:
        changed = to_bytes(state)
    except (AssertionError, TypeError, OverflowError):  # bytes that no header describes
        changed = known.snapshot[: random.randrange(len(known.snapshot))]
    parts = [known.script, changed, *map(written_table, known.rest.values())]
    lengths = np.array([len(parts), *map(len, parts)], _NUMBER)
    return lengths.tobytes() + b"".join(parts)


def _change(state: Any, random: Random) -> None:
    """Change it, or the snapshot of the matcher of a statement in it."""
    found = state.get("statements") if isinstance(state, dict) else None
    inner = [each for each in found.values() if _holds(each)] if isinstance(found, dict) else []
    if not inner or random.random() < 0.4:
        changes.change_state(state, random)
        return
    statement = random.choice(inner)
    matcher = from_bytes(statement["matcher"].tobytes())
    changes.change_state(matcher, random)
    statement["matcher"] = np.frombuffer(to_bytes(matcher), np.uint8)


def _holds(statement: Any) -> bool:
    """Whether a matcher is there, which no other change has damaged."""
    held = statement.get("matcher") if isinstance(statement, dict) else None
    if not isinstance(held, np.ndarray) or held.dtype != np.uint8:
        return False
    try:
        from_bytes(held.tobytes())
    except sase.SaseError:
        return False
    return True


@lru_cache(maxsize=4)
def _script(described: bytes, tables: tuple[bytes, ...]) -> tuple[sase.Script, tuple[Any, ...]]:
    """A script, compiled once for the documents that share it, and its events."""
    known, events = json.loads(described), tuple(map(read_table, tables))
    names, options = known["inputs"], [_options(each) for each in known["options"]]
    given = dict(zip(names, events, strict=True))
    named = {name: table for name, table in given.items() if name is not None}
    single = len(names) == 1
    keywords = options[0] if single else {
        option: dict(zip(names, [each[option] for each in options], strict=True))
        for option in options[0]
    }  # fmt: skip
    script = sase.Script(
        known["text"], given.get(None), streams=named or None, plan=known["plan"],
        lateness=known["lateness"], **keywords,
    )  # fmt: skip
    return script, events


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of an input: an interval of times is a tuple."""
    time = given["time"]
    return {**given, "time": tuple(time) if isinstance(time, list) else time}


def judge(document: bytes) -> str:
    """Restore the matcher, push the rest of the events, take a snapshot, and finish."""
    width = _NUMBER.itemsize
    (count,) = np.frombuffer(document[:width], _NUMBER).tolist()
    lengths = np.frombuffer(document[width : (count + 1) * width], _NUMBER)
    ends = (count + 1) * width + np.cumsum(lengths)
    starts = ends - lengths
    described, snapshot, *tables = (
        document[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    )
    script, events = _script(described, tuple(tables))
    matcher = script.restore(snapshot)
    matcher.snapshot()
    names = json.loads(described)["inputs"]
    try:
        for name, table in zip(names, events, strict=True):
            for begin in range(0, len(table) if name in matcher.inputs else 0, 3):
                _read(matcher.push(name, table.slice(begin, 3)))
        script.restore(matcher.snapshot())
        repr(matcher.late), repr(matcher)
        _read(matcher.finish())
    except sase.SaseError:
        return "opened, and refused events"
    return "opened"


def _read(found: Mapping[str, Any]) -> None:
    for matches in found.values():
        matches.to_pylist(), matches.rows.to_pylist(), repr(matches.report)


def warm() -> None:
    """Judge some snapshots as they are, for which kernels may be compiled."""
    for number in range(0, 2000, 100):
        judge(make(number))


TARGET = driver.Target(make, judge, ".script", warm)

if __name__ == "__main__":
    sys.exit(driver.run(["tests.fuzz.script_snapshots"]))
