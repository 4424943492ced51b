"""Kernels of the operators for comparisons with papers."""
