"""Decode Arrow columns of every type to arrays; bad rows are logged."""
