"""Compressed match sets: all matches under skip till any match as a shared graph."""

from sase.engine.match_graph.candidates import Binding, CandidateEvents, Edge, Neighbours
from sase.engine.match_graph.match_set import MatchSet
from sase.engine.match_graph.slots import SlotAutomaton
from sase.engine.match_graph.totals import EndCount, EndLists

__all__ = [
    "Binding", "CandidateEvents", "Edge", "EndCount", "EndLists", "MatchSet", "Neighbours",
    "SlotAutomaton",
]  # fmt: skip
