"""Explain random examples, for the tests that compare explanations with the naive matcher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import sase
from sase.diagnostics.why_not import search
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


@pytest.fixture(scope="module")
def small_pieces() -> Iterator[None]:
    """Events come to each search in several pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "FIRST", 3)
        yield


def twice(names: list[str]) -> set[str]:
    """The names that are there more than once."""
    return {name for name, count in Counter(names).items() if count > 1}
