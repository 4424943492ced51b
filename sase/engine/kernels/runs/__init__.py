"""Advance the runs of an automaton event by event, by a step compiled for a kind of pattern."""
