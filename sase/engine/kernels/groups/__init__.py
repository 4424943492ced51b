"""Kernels of groups: absences in iterations of finished matches, and negative groups in gaps."""
