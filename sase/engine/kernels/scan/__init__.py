"""Kernels of sequences: stacks, construction, negation, and scans that are fused with them."""
