"""The automaton of a pattern: the moves of its runs, for the planner and the engine."""
