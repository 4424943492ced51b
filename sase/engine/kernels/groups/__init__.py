"""Kernels of groups: repeated ones, of finished matches, and negative ones, in their gaps."""
