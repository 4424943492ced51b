"""Plain plans that go block by block, as others do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sase.engine.pipeline.fused.lines import LineSweep
from sase.engine.pipeline.fused.scan import Sweep


@contextmanager
def unswept() -> Iterator[None]:
    """No plan is swept."""
    with pytest.MonkeyPatch.context() as patched:
        for sweep in (Sweep, LineSweep):
            patched.setattr(sweep, "of", lambda matcher: None)
        yield
