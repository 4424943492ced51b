"""The fixtures of all tests of the engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sase.engine.results import row_history


@pytest.fixture(scope="session", autouse=True)
def small_pieces() -> Iterator[None]:
    """The kept pieces of the input of a stream are united as soon as there are a few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_history, "MANY", 3)
        patch.setattr(row_history, "RUN", 2)
        yield
