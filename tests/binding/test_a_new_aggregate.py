"""The aggregate that docs/adding-an-aggregate.md adds as an example works without changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repo.page_edits import apply, blocks, copied, run
from tests.repo.source import ROOT

PAGE = ROOT / "docs" / "adding-an-aggregate.md"


@pytest.mark.heavy
def test_an_aggregate_is_an_entry_a_number_and_a_value(tmp_path: Path) -> None:
    tree = copied(tmp_path)
    for diff in blocks(PAGE, "diff"):
        apply(diff, tree)
    assert run(tree, "\n".join(blocks(PAGE, "python"))) == "[4.0]\nTrue\n"
