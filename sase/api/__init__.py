"""The public functions: match, compile, explain, compare, and why there is no match."""

from __future__ import annotations

from sase.api.matching import compile, match

__all__ = ["compile", "match"]
