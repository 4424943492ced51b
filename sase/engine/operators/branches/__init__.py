"""Branches of a pattern: scans that they share, and the union of their matches."""
