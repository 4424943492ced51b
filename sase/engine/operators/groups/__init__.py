"""Repeated groups: the automaton of a pattern, and its matches."""
