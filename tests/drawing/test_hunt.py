"""A fault that is put into the matches is found, and shown with few events."""

from __future__ import annotations

import pytest

from tests.drawing import hunt
from tests.drawing.comparing import TIMES, Found, payload, shown
from tests.drawing.examples import Example
from tests.drawing.patterns import leaves, written
from tests.drawing.ways import Way, case


def right(example: Example, way: Way) -> Found:
    """The matches of the naive matcher, as the engine would show them."""
    expected, parts = example.expected, example.query.positives
    results = [
        {
            **(match.values if match.values is not None else payload(example, match, {})),
            **{name: getattr(match, name) for name in TIMES},
        }
        for match in expected
    ]
    rows = [shown(example, match) for match in expected]
    names = [*expected[0].names] if expected else [part.variable for part in parts]
    return Found(names, [part.column for part in parts], rows, results)


def wrong(example: Example, way: Way) -> Found:
    """The same without the last match, if a series in it has two events."""
    found = right(example, way)
    has_two = found.rows and any(isinstance(one, list) and len(one) > 1 for one in found.rows[-1])
    return found._replace(rows=found.rows[:-1]) if has_two else found


def test_no_fault_is_found_in_what_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunt, "run", right)
    assert set(hunt.hunt(hunt.FORMS["series"], 0, 30)) == {"with matches", "without matches"}


def test_a_fault_is_shown_with_few_events(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hunt, "run", wrong)
    failing = [case(number, "series") for number in range(25)]
    failing = [one for one in failing if hunt.fault(*one) is not None]
    assert len(failing) > 3
    for one in failing[:2]:
        example, _ = hunt.shrunk(*one)
        assert 2 <= len(example.rows) <= 3
        assert hunt.fault(example, one[1]).startswith("rows: ")
    monkeypatch.setattr(hunt, "told", lambda number, *_: f"{number} is one")
    assert hunt.main("series", "0", "25") == 1
    said = capsys.readouterr().out
    assert said.count(" is one\n") == len(failing) and f"'faults': {len(failing)}" in said


def test_a_pattern_is_shown_with_few_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those with an alternative, whatever it is an alternative to."""
    monkeypatch.setattr(
        hunt, "fault", lambda example, _: "fault" if " OR " in written(example.query.tree) else None
    )
    failing = [one for n in range(20) if hunt.fault(*(one := case(n, "choices")))]
    assert len(failing) > 3
    for one in failing:
        assert len(leaves(hunt.shrunk(*one)[0].query.tree)) <= 3


def test_recipes_that_are_named_are_taken_in_turn() -> None:
    recipes = []
    for number in range(4):
        example, way = case(number, "series", ["postponed", "nfab_merged"])
        recipes.append(way.recipe)
        assert example == case(number, "series")[0]
    assert recipes == ["postponed", "nfab_merged"] * 2


# Tests of counts draw counted groups until they find something.
@pytest.mark.parametrize("form", [each for each in hunt.FORMS if each != "counted groups"])
def test_every_form_is_drawn(form: str) -> None:
    """Of each, something is found before long."""
    assert any("found" in kind or kind == "with matches"
               for kind in (hunt.FORMS[form](number, ()).kind for number in range(60)))  # fmt: skip
