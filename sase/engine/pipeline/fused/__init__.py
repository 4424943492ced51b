"""Fused paths: one kernel does the work of several operators."""
