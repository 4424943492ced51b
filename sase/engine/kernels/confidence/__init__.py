"""Kernels that compute the probability of matches with imprecise time."""
