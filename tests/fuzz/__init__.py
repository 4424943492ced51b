"""Fuzzing: hostile documents, made by number, opened in a process that may crash."""
