"""Bind scripts: statements, the streams that each reads, and the order of execution."""
