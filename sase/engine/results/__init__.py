"""Matches as tables, data frames, text and files."""
