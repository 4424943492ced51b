"""Snapshots: encode state as bytes, check it when it is read, and migrate older formats."""
