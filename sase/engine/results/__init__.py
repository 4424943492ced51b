"""Matches as tables, frames, text and files."""
