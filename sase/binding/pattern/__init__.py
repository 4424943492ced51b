"""Bind the EVENT clause and WITHIN: components, branches, windows, imprecise time."""
