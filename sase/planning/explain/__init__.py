"""Explanations of plans: the value, and its text, graph and page."""

from __future__ import annotations

from sase.planning.explain.describe import described
from sase.planning.explain.explanation import Explanation

__all__ = ["Explanation", "described"]
