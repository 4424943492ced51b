"""Explain random examples, for the tests that compare explanations with the naive matcher."""

from __future__ import annotations

from typing import Any

import sase
from sase.errors import QueryError
from tests.engine.matching.streams import TABLES


def explained(example: Any, **more: Any) -> Any:
    """The explanation of an example, or None where the query is refused."""
    is_tables = example.setting.layout == TABLES
    keywords = {
        name: each
        for name, each in example.keywords.items()
        if not (is_tables and name in ("type", "types"))
    }
    try:
        # The clock stands still, so that nothing depends on the machine.
        return sase.why(example.query.text, example.table, clock=lambda: 0.0, **keywords, **more)
    except QueryError:
        return None
