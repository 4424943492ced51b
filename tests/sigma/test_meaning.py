"""A script made of rules of Sigma finds the alerts of the rules, by a plain reading of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

import sase
from sase.lang.parser import parse_script
from sase.sigma import script_of
from tests.naive.scripts import Input, run_script
from tests.seeds import draw_numbers
from tests.sigma.examples import SigmaExample, example
from tests.sigma.judge import alerts

NUMBERS = draw_numbers(settings().max_examples * 4)


def expected(case: SigmaExample) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: [_row(each.time, each.fields) for each in found]
        for name, found in alerts(case.text, case.events).items()
    }


def _row(time: object, fields: Any) -> tuple[Any, ...]:
    return (time, *sorted(fields.items()))


def naive(case: SigmaExample) -> dict[str, list[tuple[Any, ...]]]:
    """The times and groups of the matches of the script; of detections their times alone."""
    script = script_of([(case.text, "rules.yml")])
    results = run_script(parse_script(script), {"test": Input(case.events, time_unit="s")})
    return {
        name: [
            (each.match.detected_at, *sorted((each.match.values or {}).items())) for each in found
        ]
        for name, found in results.items()
    }


def comparable(found: dict[str, list[tuple[Any, ...]]]) -> dict[str, list[str]]:
    """The alerts of a rule of detections by time; of correlations the groups, too."""
    return {
        name: sorted(str(row[0] if name.startswith("base") else _groups(row)) for row in rows)
        for name, rows in found.items()
    }


def _groups(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return (row[0], *(pair for pair in row[1:] if pair[0] != "events"))


@pytest.mark.random
def test_scripts_find_what_rules_mean() -> None:
    for number in NUMBERS:
        case = example(number)
        wanted = comparable(expected(case))
        assert comparable(naive(case)) == wanted, (number, case)


def test_correlations_of_examples_find_something() -> None:
    found = [comparable(expected(case)) for case in map(example, range(100))]
    correlations = [
        rows for each in found for name, rows in each.items() if not name.startswith("base")
    ]
    assert sum(map(bool, correlations)) > 0.4 * len(correlations)


RULE = """title: Words
name: words
logsource: {product: test}
detection: {one: [mimikatz, "*dump?"], both: {"|all": [Admin, login]}, condition: one or both}
"""


def test_keywords_are_sought_in_the_field_with_the_message() -> None:
    texts = ["run MimiKatz", "memdumps", "memdump", "admin: no Login", "admin", None]
    events = [{"ts": n, "type": "A", "line": text} for n, text in enumerate(texts)]
    script = script_of([(RULE, "rules.yml")], message="line")
    found = run_script(parse_script(script), {"test": Input(events, time_unit="s")})
    assert [each.match.detected_at for each in found["words"]] == [0, 1, 3]
    script = script_of([(RULE, "rules.yml")], message="line", one_input=True)
    rows = sase.Script(script).run(events)["words"].to_pylist()
    assert [row["e"]["ts"] for row in rows] == [0, 1, 3]
