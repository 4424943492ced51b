"""Plain plans that go block by block, as others do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sase.engine.sweep import Sweep


@contextmanager
def unswept() -> Iterator[None]:
    """No plan is swept."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Sweep, "of", lambda matcher: None)
        yield
