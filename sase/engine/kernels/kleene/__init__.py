"""Kernels of Kleene closure: runs, lines, walks back."""
