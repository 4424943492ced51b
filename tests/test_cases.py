"""Every record of the `.case` files, by every route; `pytest --complete` writes what came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from sase.planning.recipes import recipe_names
from tests.casefile import Case, parse_cases, rewritten
from tests.routes import Route, errors
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


# Of the recipes two run every record, and of the others each fourth in turn; the rest is heavy.
ALWAYS, TURNS = ("basic", "optimized"), 4
OTHERS = [f"engine by {recipe}" for recipe in recipe_names() if recipe not in ALWAYS]
RECORDS = list(enumerate(all_cases()))


def id_of(case: Case) -> str:
    return f"{case.file}::{case.title}"


def is_often(number: int, route: str) -> bool:
    """Whether a route is taken by this record whenever it is tested."""
    return route not in OTHERS or (number + OTHERS.index(route)) % TURNS == 0


@pytest.mark.parametrize(
    ("number", "case"), [pytest.param(*each, id=id_of(each[1])) for each in RECORDS]
)
def test_case(number: int, case: Case, pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("complete"):
        complete(case)
        return
    if is_to_come(case):
        assert "not-supported-yet" in "".join(errors(case)), "it is here: take it off TO_COME"
    expected, actual = {}, {}
    if is_run(case) and not is_to_come(case):
        expected["error"], actual["error"] = ["none"], errors(case)
    found = by_routes(case, lambda route: is_often(number, route))
    assert actual | found[1] == expected | found[0]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("number", "case"),
    [
        pytest.param(number, case, id=id_of(case))
        for number, case in RECORDS
        if has_turn(number) and any(case.section(name) for name in ("matches", "returns"))
    ],
)
def test_case_by_the_other_recipes(number: int, case: Case, pytestconfig: pytest.Config) -> None:
    """Of all records, or where examples are fresh, of a third."""
    if pytestconfig.getoption("complete"):
        return
    expected, actual = by_routes(case, lambda route: not is_often(number, route))
    assert actual == expected


Lines: TypeAlias = dict[str, list[str]]


def by_routes(case: Case, is_taken: Callable[[str], bool]) -> tuple[Lines, Lines]:
    """What each section expects of some routes, and what these say."""
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
    """Whether only the naive matcher has what a record is about."""
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
    """What came out, without what the expectation leaves open."""
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
    """Write what the first route of each section gives into the file."""
    path = CASES / f"{case.file}.case"
    sections = {
        section.name: like(section.name, section.lines, first(section.name)(case))
        for section in case.sections
        if routes_of(case, section.name)
    }
    path.write_bytes(rewritten(read(path), case.file, case.title, sections).encode())


def first(section: str) -> Route:
    return next(iter(ROUTES[section].values()))
