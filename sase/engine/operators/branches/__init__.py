"""Branches of a pattern: the scans that they share, and the union of their matches."""
