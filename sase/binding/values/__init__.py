"""Bind values: literals, functions, aggregates, and their types."""
