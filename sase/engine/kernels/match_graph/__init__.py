"""Kernels of the factorised match set."""
