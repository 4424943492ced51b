"""Derive facts from the conditions and the form of a pattern."""
