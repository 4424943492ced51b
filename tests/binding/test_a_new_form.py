"""The form of pattern that docs/adding-a-form.md adds as an example works without changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repo.page_edits import apply, blocks, copied, run
from tests.repo.source import ROOT

PAGE = ROOT / "docs" / "adding-a-form.md"


@pytest.mark.heavy
def test_a_form_is_a_rule_where_its_meaning_is_there(tmp_path: Path) -> None:
    tree = copied(tmp_path)
    for diff in blocks(PAGE, "diff"):
        apply(diff, tree)
    # In the wheel, and in this copy of it, the grammar is a package of `sase`.
    (tree / "sase" / "grammar" / "sase.lark").write_bytes(
        (tree / "grammar" / "sase.lark").read_bytes()
    )
    (program,) = blocks(PAGE, "python")
    assert run(tree, program) == "1 2\n"
