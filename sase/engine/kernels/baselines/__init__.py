"""Kernels of the operators that recipes and papers compare with."""
