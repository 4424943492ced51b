"""Every record of the `.case` files, by every route; `pytest --complete` writes the results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeAlias
from zlib import crc32

import pytest

from sase.planning.recipes import recipe_names
from tests.casefile import Case, parse_cases, rewritten
from tests.routes import Route, distinct, errors
from tests.routing import ROUTES, TO_COME
from tests.seeds import has_turn

CASES = Path(__file__).parent / "cases"


def read(path: Path) -> str:
    return path.read_bytes().decode()


def name_of(path: Path) -> str:
    return path.relative_to(CASES).with_suffix("").as_posix()


def all_cases() -> list[Case]:
    """The records of every file under tests/cases."""
    paths = sorted(CASES.rglob("*.case"))
    return [case for path in paths for case in parse_cases(read(path), name_of(path))]


# Two recipes run every record, and so do MORE that make other plans of it: TRIED are looked at,
# from one on by the title of the record. All other plans of it are heavy.
ALWAYS, TRIED, MORE = ("basic", "optimized"), 8, 1
OTHERS = [recipe for recipe in recipe_names() if recipe not in ALWAYS]
RECORDS = all_cases()


def id_of(case: Case) -> str:
    return f"{case.file}::{case.title}"


def plans(case: Case, tried: int = len(OTHERS)) -> Iterator[str]:
    """Recipes that make different plans of a record, other than those that always run it."""
    if not is_run(case) or case.section("results") is not None or is_to_come(case):
        return
    first = crc32(id_of(case).encode()) % len(OTHERS)
    order = [*OTHERS[first:], *OTHERS[:first]]
    recipes = distinct(case, [*ALWAYS, *order[:tried]])
    yield from (recipe for recipe in recipes if recipe not in ALWAYS)


def often(case: Case) -> set[str]:
    """The recipes of the plans that run a record whenever it is tested."""
    return {*ALWAYS, *islice(plans(case, TRIED), MORE)}


def is_by(recipes: Collection[str], route: str) -> bool:
    """Whether a route is the engine by one of some recipes."""
    return route.removeprefix("engine by ") in recipes


@pytest.mark.parametrize("case", RECORDS, ids=id_of)
def test_case(case: Case, pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("complete"):
        complete(case)
        return
    if is_to_come(case):
        assert "not-supported-yet" in "".join(errors(case)), "it is here: take it off TO_COME"
    expected, actual = {}, {}
    if is_run(case) and not is_to_come(case):
        expected["error"], actual["error"] = ["none"], errors(case)
    rest = {*OTHERS} - often(case)
    found = by_routes(case, lambda route: not is_by(rest, route))
    assert actual | found[1] == expected | found[0]


@pytest.mark.heavy
@pytest.mark.parametrize(
    "case",
    [
        each
        for number, each in enumerate(RECORDS)
        if (each.section("matches") or each.section("returns")) and has_turn(number, 2)
    ],
    ids=id_of,
)
def test_case_by_all_other_plans(case: Case, pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("complete"):
        return
    rest = {*plans(case)} - often(case)
    expected, actual = by_routes(case, lambda route: is_by(rest, route))
    assert actual == expected


Lines: TypeAlias = dict[str, list[str]]


def by_routes(case: Case, is_taken: Callable[[str], bool]) -> tuple[Lines, Lines]:
    """The expectations of each section for some routes, and the results of these."""
    expected: Lines = {}
    actual: Lines = {}
    for section in case.sections:
        for name, route in routes_of(case, section.name).items():
            lines = route(case) if is_taken(name) else None
            if lines is not None:
                key = f"{section.name} by the {name}"
                expected[key] = list(section.lines)
                actual[key] = like(section.name, section.lines, lines)
    return expected, actual


def is_to_come(case: Case) -> bool:
    """Whether only the naive matcher has the feature of a record."""
    return any(case.file == each or case.file.startswith(f"{each}/") for each in TO_COME)


def routes_of(case: Case, section: str) -> dict[str, Route]:
    """The routes of a section that can run a record today."""
    routes = ROUTES.get(section, {})
    if not is_to_come(case) or section == "tree":
        return routes
    return {name: route for name, route in routes.items() if name == "naive matcher"}


def is_run(case: Case) -> bool:
    """Whether the query has results: then it must bind, too."""
    return any(case.section(name) is not None for name in ("matches", "returns", "results"))


def like(section: str, expected: Sequence[str], lines: list[str]) -> list[str]:
    """The results, without parts that the expectation leaves open."""
    if section == "tree" and _flat(lines) == _flat(expected):
        return list(expected)  # the layout of an outline is free
    if section == "matches" and expected and not any(map(_says_when, expected)):
        return [line.partition(" ")[2] if _says_when(line) else line for line in lines]
    return lines


def _flat(lines: Sequence[str]) -> str:
    return " ".join(line.strip() for line in lines)


def _says_when(line: str) -> bool:
    return line.startswith("@") or line in ("none", "TODO")


def complete(case: Case) -> None:
    """Write the results of the first route of each section into the file."""
    path = CASES / f"{case.file}.case"
    sections = {
        section.name: like(section.name, section.lines, first(section.name)(case))
        for section in case.sections
        if routes_of(case, section.name)
    }
    path.write_bytes(rewritten(read(path), case.file, case.title, sections).encode())


def first(section: str) -> Route:
    return next(iter(ROUTES[section].values()))
