"""Explain by relaxed queries why a query finds no match, or few."""
