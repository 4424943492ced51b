"""What users call: match a query in events, compile it, run plans, have them explained."""

from __future__ import annotations

from sase.api.matching import compile, match

__all__ = ["compile", "match"]
