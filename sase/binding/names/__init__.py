"""Resolve the names of a query: variables, attributes, and references into groups."""
