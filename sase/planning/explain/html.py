"""An explanation as one page that needs nothing else."""

from __future__ import annotations

from html import escape

from sase.planning.explain.value import Explanation


def as_html(explanation: Explanation) -> str:
    """The page."""
    return (
        f"<!doctype html><title>plan</title><pre>{escape(explanation.to_text(verbose=True))}</pre>"
    )
