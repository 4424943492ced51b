"""A fault that is put into the matches is found, and shown with few events."""

from __future__ import annotations

import pytest

from tests.engine.matching.ways import Way
from tests.engine.series import hunt
from tests.engine.series.comparing import TIMES, Found, payload, shown
from tests.engine.series.examples import SeriesExample
from tests.engine.series.routes import case


def right(example: SeriesExample, way: Way) -> Found:
    """What the naive matcher finds, as the engine would show it."""
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


def wrong(example: SeriesExample, way: Way) -> Found:
    """The same without the last match, if a series in it has two events."""
    found = right(example, way)
    has_two = found.rows and any(isinstance(one, list) and len(one) > 1 for one in found.rows[-1])
    return found._replace(rows=found.rows[:-1]) if has_two else found


def test_no_fault_is_found_in_what_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunt, "run", right)
    assert hunt.hunt(0, 30) == {}


def test_a_fault_is_shown_with_few_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunt, "run", wrong)
    failing = [case(number) for number in range(25)]
    failing = [one for one in failing if hunt.fault(*one) is not None]
    assert len(failing) > 3
    for one in failing[:3]:
        example, _ = hunt.shrunk(*one)
        assert 2 <= len(example.rows) <= 3
        assert hunt.fault(example, one[1]).startswith("rows: ")


def test_recipes_that_are_named_are_taken_in_turn() -> None:
    drawn, recipes = hunt.by(["postponed", "nfab_merged"]), []
    for number in range(4):
        example, way = drawn(number)
        recipes.append(way.recipe)
        assert example == case(number)[0]
    assert recipes == ["postponed", "nfab_merged"] * 2
