"""Compressed match sets: all matches under skip till any match as a shared graph."""

from sase.engine.match_graph.binding import Binding
from sase.engine.match_graph.candidates import CandidateEvents, Edge
from sase.engine.match_graph.ends import EndCount, EndLists
from sase.engine.match_graph.estimate import Estimate
from sase.engine.match_graph.levels import Levels
from sase.engine.match_graph.match_set import MatchSet

__all__ = [
    "Binding",
    "CandidateEvents",
    "Edge",
    "EndCount",
    "EndLists",
    "Estimate",
    "Levels",
    "MatchSet",
]
