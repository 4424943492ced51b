"""Kernels of groups: repeated ones, by an automaton, and negative ones, in the gaps of matches."""
