"""Repeated groups: the automaton of a pattern, and what its matches are."""
