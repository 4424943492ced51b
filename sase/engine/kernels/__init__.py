"""Kernels: plain functions on arrays and numbers, compiled by Numba, and nothing else."""
