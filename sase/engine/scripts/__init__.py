"""Runs the statements of a script together: inputs, composite events, and who reads them."""
