"""The runs of an automaton, event by event: one step, compiled for what a pattern has."""
