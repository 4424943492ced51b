"""Kernels of conditions and values."""
