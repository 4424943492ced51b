"""The rewrite that docs/rewrites.md adds as an example works without changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.casefile import parse_cases
from tests.repo.page_edits import apply, blocks, copied, run
from tests.repo.source import ROOT

PAGE = ROOT / "docs" / "rewrites.md"
PROGRAM = """
import json, sys
sys.path[:0] = [sys.argv[1]]
import sase
assert sase.__file__.startswith(sys.argv[1]), sase.__file__
from tests import plan_routes, routes
from tests.casefile import parse_cases
case, = parse_cases(sys.argv[2], "docs/rewrites.md")
plans = plan_routes.before(case), plan_routes.after(case)
matches = plan_routes.matches_before(case), plan_routes.matches_after(case)
print(json.dumps([plans, [routes.naive_matches(case), *matches]]))
"""


@pytest.mark.heavy
def test_the_page_adds_a_rewrite(tmp_path: Path) -> None:
    """It changes the case's plan into that of the page, and both find the same matches."""
    tree = copied(tmp_path)
    (diff,) = blocks(PAGE, "diff")
    apply(diff, tree)
    (code,) = blocks(PAGE, "python")
    path = tree / "sase" / "planning" / "rewrites" / "drop_repeated_conditions.py"
    path.write_text(code, "utf-8")
    (text,) = (block for block in blocks(PAGE, "") if block.startswith("==="))
    (case,) = parse_cases(text, "docs/rewrites.md")
    plans, matches = json.loads(run(tree, PROGRAM, str(tree), text).splitlines()[-1])
    assert plans == [list(case.section(name) or ()) for name in ("before", "after")]
    assert matches == [list(case.section("matches") or ())] * 3
