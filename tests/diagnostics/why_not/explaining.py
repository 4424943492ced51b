"""Explain random examples, for the tests that compare explanations with the naive matcher."""

from __future__ import annotations

from typing import Any

import sase
from sase.errors import QueryError
from tests.drawing.examples import Example


def explained(example: Example, **more: Any) -> Any:
    """The explanation of an example, or None where the query is refused."""
    keywords = {**example.given_keywords, **more}
    try:
        # The clock always shows zero, so that nothing depends on the machine.
        return sase.why(example.query.text, example.table, clock=lambda: 0.0, **keywords)
    except QueryError:
        return None
