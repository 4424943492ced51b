"""Compressed match sets: all matches under skip till any match as a shared graph."""

from sase.engine.compressed.binding import Binding
from sase.engine.compressed.candidates import Candidates, Edge
from sase.engine.compressed.ends import EndCount, EndLists
from sase.engine.compressed.estimate import Estimate
from sase.engine.compressed.levels import Levels
from sase.engine.compressed.match_set import MatchSet

__all__ = [
    "Binding",
    "Candidates",
    "Edge",
    "EndCount",
    "EndLists",
    "Estimate",
    "Levels",
    "MatchSet",
]
