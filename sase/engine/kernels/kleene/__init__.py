"""Kernels of Kleene closure: nodes, lines, walks back."""
