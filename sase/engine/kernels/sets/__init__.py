"""Kernels of sets: their nodes, and the runs that bind members in any order."""
