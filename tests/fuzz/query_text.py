"""Texts of queries, changed by token or made of any: checked, explained and run, or refused."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

import sase
from sase.binding.script.script import check_script
from sase.engine.sources.discovered import Discovered
from sase.lang.layout import format_text
from sase.lang.parser import parse_script
from sase.lang.printer import to_text
from tests.casefile import parse_cases
from tests.fuzz import changes, driver
from tests.fuzz.documents import read_table, written_table
from tests.properties import trees
from tests.properties.test_fuzz import SIGNS, THINGS
from tests.routes import keywords, rows

CASES = Path(__file__).parents[1] / "cases"
# Words, numbers, quoted texts and names, comments, and single signs.
TOKEN = re.compile(
    r"\s+|\w+|'(?:[^']|'')*'|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/|[<>!=]=|<>|\.\.|.", re.DOTALL
)
# The cost of such a query is bounded as that of a stranger's is.
LIMITS: dict[str, Any] = {"timeout": 1, "max_matches": 1000, "max_memory": "1GB"}
# Characters of a query: a longer one takes longer, in proportion.
MOST = 20_000
NUMBERS = (
    *map(str, changes.EDGES),
    *map(str, changes.EXTREMES),
    "0.1",
    "1e308",
    "1e-400",
    "9" * 400,
)
# Tokens that stand where another of their kind may.
KINDS: tuple[tuple[str, ...], ...] = (
    ("=", "!=", "<>", "<", "<=", ">", ">=", "LIKE"), ("+", "-", "*", "/", "%"), ("AND", "OR"),
    ("?", "*", "+", "{2}", "{0,3}", "{1,}", "{2,70}", ""), ("!", "NOT", ""), ("ANY", "SEQ", "SET"),
    ("COUNT", "SUM", "AVG", "MIN", "MAX", "FIRST", "LAST", "ABS", "COALESCE", "LENGTH", "UPPER"),
    ("EVENTS", "SECONDS", "MS", "HOURS", "YEARS", "EVENTS PER PARTITION", "EVENTS INCLUSIVE"),
    ("STRICT_CONTIGUITY", "PARTITION_CONTIGUITY", "SKIP_TILL_NEXT_MATCH", "SKIP_TILL_ANY_MATCH"),
    ("NULL", "TRUE", "FALSE"), ("WHERE", "HAVING", "RETURN", "WITHIN", "LIMIT"),
    ("i", "i-1", "1", "..i-1", "i+1", "LAST", "0", ""), ("[", "]", "(", ")", "{", "}", ","),
)  # fmt: skip
HEADS = ("EVENT ", "EVENT SEQ(A a, B+ b[]) WHERE ", "EVENT A a WHERE a.x > ", "PATTERN ", "")


@dataclass(frozen=True)
class Seed:
    """A query, most often a right one, and events for it."""

    tokens: tuple[str, ...]
    is_right: bool
    keywords: dict[str, Any]
    table: bytes


@cache
def _seeds() -> list[Seed]:
    """Those of the text cases, but for tables that no document holds."""
    found = []
    for path in sorted(CASES.rglob("*.case")):
        for case in parse_cases(path.read_text(encoding="utf-8"), path.name):
            if case.options.get("entry") == "condition":
                continue
            given = {name: value for name, value in keywords(case).items() if value is not None}
            try:
                json.dumps(given)
                table = written_table(pa.Table.from_pylist(rows(case)))
            except (TypeError, pa.ArrowException):
                continue
            if "output" in case.options:
                given["output"] = case.options["output"]
            is_right = bool(case.events) and case.section("error") in (None, ("none",))
            found.append(Seed(tuple(TOKEN.findall(case.query)), is_right, given, table))
    return found


@cache
def _right() -> list[Seed]:
    return [seed for seed in _seeds() if seed.is_right]


# ---------------------------------------------------------------- texts


def make(number: int) -> bytes:
    """The action, its query, and the events."""
    random = Random(number)
    seed = random.choice(_seeds() if random.random() < 0.1 else _right())
    tokens = _any(random) if random.random() < 0.2 else _changed(list(seed.tokens), random)
    text = "".join(tokens)[:MOST]
    if random.random() < 0.1:
        text = _with_a_character(text, random)
    given = {"way": random.choice([*WAYS]), "query": text, "keywords": seed.keywords}
    return json.dumps(given).encode() + b"\n" + seed.table


def _any(random: Random) -> list[str]:
    """Tokens of any kind, behind a good beginning or none."""
    pools = (SIGNS, THINGS, _keywords(), NUMBERS)
    tokens = [random.choice(random.choice(pools)) for _ in range(random.randrange(16))]
    return [random.choice(HEADS), *(f"{token}{random.choice(('', ' ', ' '))}" for token in tokens)]


@cache
def _keywords() -> list[str]:
    return [word.upper() for word in trees.keywords()]


def _changed(tokens: list[str], random: Random) -> list[str]:
    for _ in range(random.choice((0, 1, 1, 1, 1, 2, 2, 5))):
        _change(tokens, random)
    return tokens


def _change(tokens: list[str], random: Random) -> None:
    """Change one token to another of its kind, most often, or drop, repeat or take over some."""
    if not tokens:
        return
    at = random.randrange(len(tokens))
    end = at + random.choice((1, 1, 2, 4, 12))
    match random.randrange(10):
        case 0:
            del tokens[at:end]
        case 1:
            tokens[at:at] = tokens[at:end] * random.choice((1, 1, 1, 3, 50))
        case 2:
            other = random.choice(_seeds()).tokens
            start = random.randrange(len(other)) if other else 0
            tokens[at : at + random.randrange(3)] = other[start : start + end - at]
        case 3:
            other_at = random.randrange(len(tokens))
            tokens[at], tokens[other_at] = tokens[other_at], tokens[at]
        case 4:
            pools = (SIGNS, THINGS, _keywords())
            tokens[at:at] = [" ", random.choice(random.choice(pools)), " "]
        case _:
            while tokens[at].isspace() and at:
                at -= 1
            tokens[at] = _of_its_kind(tokens[at], tokens, random)


def _of_its_kind(token: str, tokens: list[str], random: Random) -> str:
    for kind in KINDS:
        if token.upper() in kind and random.random() < 0.9:
            return random.choice(kind)
    if token.isdigit():
        return random.choice(NUMBERS)
    if token[:1].isalpha():
        words = [each for each in tokens if each[:1].isalpha()]
        return random.choice(random.choice((words, words, words, _keywords(), ["İ", "名前"])))
    if token[:1] == "'":
        return random.choice(("''", "'%'", "'_%_%_%'", "'2024-01-31'", "'é'", "1", "NULL", "'\n'"))
    return token if token.isspace() else random.choice(SIGNS)


def _with_a_character(text: str, random: Random) -> str:
    at = random.randrange(len(text) + 1)
    return f"{text[:at]}{chr(random.choice((0, 7, 27, 0x202E, 0xD800, 0x1F600)))}{text[at:]}"


# ---------------------------------------------------------------- actions


def _check(text: str, table: Any, given: dict[str, Any]) -> None:
    options = {name: given[name] for name in given if name not in ("params", "output")}
    schema = Discovered.of(table, sase.binding.input_options.InputOptions(**options)).schema
    for diagnostic in check_script(text, schema, name="q.sase"):
        _shown(diagnostic)


def _format(text: str, _table: Any, _given: dict[str, Any]) -> None:
    script = parse_script(text)
    assert parse_script(to_text(script)) == script
    assert parse_script(format_text(text)) == script


def _plan(text: str, table: Any, given: dict[str, Any]) -> None:
    plan = sase.compile(text, table, **given)
    str(plan), repr(plan), plan._repr_html_()
    assert sase.Plan.from_json(plan.to_json()) == plan


def _explain(text: str, table: Any, given: dict[str, Any]) -> None:
    explanation = sase.explain(text, table, **given)
    str(explanation), json.dumps(explanation.to_dict()), explanation.to_html()


def _match(text: str, table: Any, given: dict[str, Any]) -> None:
    matches = sase.match(text, table, **given, **LIMITS)
    repr(matches), matches.report
    if given.get("output", "all") in ("all", "non_overlap"):
        matches.to_pylist(), matches.rows


def _count(text: str, table: Any, given: dict[str, Any]) -> None:
    for output in ("count", "compressed"):
        repr(sase.match(text, table, **{**given, "output": output}, **LIMITS))


def _push(text: str, table: Any, given: dict[str, Any]) -> None:
    matcher = sase.compile(text, table, **{**given, "limit": 1000}).open()
    half = len(table) // 2
    for part in (table.slice(0, half), table.slice(half)):
        matcher.push(part).to_pylist()
    matcher.finish().to_pylist()


def _why(text: str, table: Any, given: dict[str, Any]) -> None:
    str(sase.why(text, table, **{name: given[name] for name in given if name != "output"}))


WAYS: dict[str, Callable[[str, Any, dict[str, Any]], None]] = {
    "check": _check,
    "format": _format,
    "plan": _plan,
    "explain": _explain,
    "match": _match,
    "count": _count,
    "push": _push,
    "why": _why,
}


def judge(document: bytes) -> str:
    """Do with a query the action of the document; a refused one can be shown."""
    head, _, data = document.partition(b"\n")
    how = json.loads(head)
    try:
        WAYS[how["way"]](how["query"], read_table(data), how["keywords"])
    except sase.QueryError as problem:
        assert problem.diagnostics and str(problem)
        for diagnostic in problem.diagnostics:
            _shown(diagnostic)
        raise
    return "opened"


def _shown(diagnostic: sase.Diagnostic) -> None:
    json.dumps(diagnostic.to_dict()), str(diagnostic), diagnostic.line, diagnostic.column


def warm() -> None:
    """Load the modules that the ways would load, but for limits that compiling may break."""
    seed = _seeds()[0]
    text, table = "".join(seed.tokens), read_table(seed.table)
    for output in ("all", "count", "compressed"):
        repr(sase.match(text, table, **{**seed.keywords, "output": output}))
    for name, way in WAYS.items():
        if name not in ("match", "count"):
            way(text, table, seed.keywords)


TARGET = driver.Target(make, judge, ".query", warm)

if __name__ == "__main__":
    sys.exit(driver.run(["tests.fuzz.query_text"]))
