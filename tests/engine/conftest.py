"""What all tests of the engine share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sase.engine.results import row_history


@pytest.fixture(scope="session", autouse=True)
def small_pieces() -> Iterator[None]:
    """What streams keep of their input is united as soon as there are a few pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_history, "MANY", 3)
        patch.setattr(row_history, "RUN", 2)
        yield
