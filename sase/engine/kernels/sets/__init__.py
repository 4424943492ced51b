"""Kernels of sets: runs of single events in lines, and the order of detection."""
