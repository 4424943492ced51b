"""Runs the statements of a script side by side: inputs, composite events, and who reads what."""
