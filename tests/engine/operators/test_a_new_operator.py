"""The operator that docs/operators.md adds as an example works without changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.casefile import parse_cases
from tests.repo.page_edits import apply, blocks, copied, run
from tests.repo.source import ROOT

PAGE = ROOT / "docs" / "operators.md"
PROGRAM = """
import json, sys
sys.path[:0] = [sys.argv[1]]
import sase
assert sase.__file__.startswith(sys.argv[1]), sase.__file__
from pathlib import Path
from tests import routes
from tests.casefile import parse_cases
case, = parse_cases(sys.argv[2], "docs/operators.md")
plans = [path.stem for path in Path("plans").glob("*.toml")]
found = {plan: routes.engine_matches(plan, case) for plan in plans}
found["pushed"] = routes.engine_matches(None, case)
plan = sase.compile(case.query, routes.rows(case))
same = sase.Plan.from_json(plan.to_json()) == plan
shown = str(sase.explain(case.query, routes.rows(case), analyze=True))
counts = [
    int(sase.match(case.query, routes.rows(case), output="count")),
    sase.match(case.query, routes.rows(case), output="compressed").count(),
]
print(json.dumps([found, same, counts, shown]))
"""


@pytest.mark.heavy
def test_the_page_adds_an_operator(tmp_path: Path) -> None:
    """Every recipe and form has it, plans with it go through JSON, and EXPLAIN shows it."""
    tree = copied(tmp_path)
    for diff in blocks(PAGE, "diff"):
        apply(diff, tree)
    (code,) = blocks(PAGE, "python")
    (tree / "sase" / "engine" / "operators" / "least_span.py").write_text(code, "utf-8")
    (text,) = (block for block in blocks(PAGE, "") if block.startswith("==="))
    (case,) = parse_cases(text, "docs/operators.md")
    found, is_same, counts, shown = json.loads(run(tree, PROGRAM, str(tree), text).splitlines()[-1])
    expected = list(case.section("matches") or ())
    assert {name: lines for name, lines in found.items() if lines not in (None, expected)} == {}
    assert len(found) > 2 and found["optimized"] == expected
    assert is_same
    assert counts == [len(expected)] * 2
    assert "LeastSpan leastspan" in shown and "least: 3" in shown
