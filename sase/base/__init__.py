"""Shared by all packages: files, texts, misspelled names, signatures and limits of work."""
