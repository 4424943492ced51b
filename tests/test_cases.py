"""Every record of the `.case` files, by every route; `pytest --complete` writes what came out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.casefile import Case, parse_cases, rewritten
from tests.routes import Route, errors
from tests.routing import ROUTES, TO_COME

CASES = Path(__file__).parent / "cases"


def read(path: Path) -> str:
    return path.read_bytes().decode()


def name_of(path: Path) -> str:
    return path.relative_to(CASES).with_suffix("").as_posix()


def all_cases() -> list[Case]:
    """The records of every file under tests/cases."""
    paths = sorted(CASES.rglob("*.case"))
    return [case for path in paths for case in parse_cases(read(path), name_of(path))]


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: f"{case.file}::{case.title}")
def test_case(case: Case, pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("complete"):
        complete(case)
        return
    if is_to_come(case):
        assert "not-supported-yet" in "".join(errors(case)), "it is here: take it off TO_COME"
    expected, actual = {}, {}
    if is_run(case) and not is_to_come(case):
        expected["error"], actual["error"] = ["none"], errors(case)
    for section in case.sections:
        for name, route in routes_of(case, section.name).items():
            key = f"{section.name} by the {name}"
            lines = route(case)
            if lines is not None:
                expected[key] = list(section.lines)
                actual[key] = like(section.name, section.lines, lines)
    assert actual == expected


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
