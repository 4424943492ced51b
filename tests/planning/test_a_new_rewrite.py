"""The rewrite that docs/rewrites.md adds as an example works as it stands there."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from sase.planning import driver
from sase.planning.rewrites import REWRITES, Rewrite
from tests import plan_routes, routes
from tests.casefile import parse_cases

PAGE = (Path(__file__).parents[2] / "docs" / "rewrites.md").read_text(encoding="utf-8")


def block(language: str, containing: str) -> str:
    """The block of code of the page that contains a text."""
    found = [part.split("```")[0] for part in PAGE.split(f"```{language}\n")[1:]]
    return next(each for each in found if containing in each)


def test_the_page_adds_a_rewrite(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("drop_repeated_conditions")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(block("python", "def drop"), vars(module))  # noqa: S102 - text of this repository
    line = block("diff", "+ ").split("+", 1)[1].strip().split(",")[0]
    rule = eval(line, {**vars(module), "Rewrite": Rewrite})  # noqa: S307 - text of this repository
    monkeypatch.setattr(driver, "REWRITES", {**REWRITES, rule.name: rule})
    monkeypatch.setattr("sase.planning.explain.describe.REWRITES", driver.REWRITES)
    (case,) = parse_cases(block("", "=== "), "docs/rewrites.md")
    assert plan_routes.before(case) == list(case.section("before") or ())
    assert plan_routes.after(case) == list(case.section("after") or ())
    expected = list(case.section("matches") or ())
    assert routes.naive_matches(case) == expected
    assert plan_routes.matches_before(case) == expected
    assert plan_routes.matches_after(case) == expected
