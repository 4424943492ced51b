"""There are enough cases, of every sort, and every construct of the grammar has one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import lark
import pytest

from sase.lang.tables import ENTRY_POINTS
from sase.planning.explain.operators import SYMBOLS
from sase.planning.physical.runs import CHOSEN
from sase.planning.rewrites import REWRITES
from tests.casefile import Case
from tests.plan_routes import call
from tests.test_cases import all_cases

GRAMMAR = Path(__file__).parents[2] / "grammar" / "sase.lark"


@pytest.fixture(scope="module")
def parser() -> lark.Lark:
    text = GRAMMAR.read_text(encoding="utf-8")
    return lark.Lark(text, parser="lalr", start=ENTRY_POINTS, maybe_placeholders=True)


def having(section: str) -> list[Case]:
    return [case for case in all_cases() if case.section(section) is not None]


def test_there_are_enough_cases() -> None:
    assert len(all_cases()) >= 150
    assert len(having("error")) >= 75
    assert len(having("tree")) >= 100
    assert len(having("matches")) >= 110


def test_a_third_are_errors() -> None:
    """Of those that state the result of a query; bare trees only state how it is read."""
    others = [case for case in all_cases() if case.section("tree") is None]
    assert len(having("error")) * 3 >= len(others)


def test_no_expectation_waits_to_be_written() -> None:
    waiting = [
        f"{case.file}::{case.title}: {section.name}"
        for case in all_cases()
        for section in case.sections
        if section.lines == ("TODO",)
    ]
    assert waiting == []


def constructs(parser: lark.Lark) -> set[str]:
    """The names that nodes of the raw tree can have: of rules, or of their alternatives."""
    names = {
        rule.alias or rule.origin.name
        for rule in parser.rules
        if rule.alias or not rule.options.expand1
    }
    return {str(name) for name in names if not name.startswith("_")}


def test_every_construct_has_a_tree(parser: lark.Lark) -> None:
    seen: set[str] = set()
    for case in having("tree"):
        start = "condition" if case.options.get("entry") == "condition" else "script"
        with suppress(lark.UnexpectedInput):  # a case that does not parse fails its own test
            tree = parser.parse(case.query, start=start)
            seen |= {str(node.data) for node in tree.iter_subtrees()}
    assert constructs(parser) - seen == set()


def test_every_rewrite_has_a_case_where_it_applies() -> None:
    """And every algorithm that a recipe may choose."""
    calls = [
        call(case.options["rewrite"])
        for case in having("after")
        if not (case.section("after") or ("",))[0].startswith("declined")
    ]
    assert {each.rewrite for each in calls} == set(REWRITES)
    chosen = {dict(each.parameters)["name"] for each in calls if each.rewrite == "use_algorithm"}
    assert chosen == set(CHOSEN)


def test_every_operator_has_a_case() -> None:
    lines = [line for case in having("plan") for line in case.section("plan") or ()]
    seen = {name for name, symbol in SYMBOLS.items() if any(f"{symbol} " in line for line in lines)}
    assert seen == set(SYMBOLS)


def test_the_list_of_constructs_is_read_from_the_grammar(parser: lark.Lark) -> None:
    assert {"query", "sequence", "all_of", "comparison", "at_least_at_most"} <= constructs(parser)
    assert not {"condition", "sum", "atom"} & constructs(parser)
