"""The automaton of a pattern: one description of what its runs may do, which all others read."""
