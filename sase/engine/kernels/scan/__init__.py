"""Kernels of sequences: scan, construction, negation, joins, and kernels that fuse them."""
