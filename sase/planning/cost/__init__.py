"""Estimate the cost of plans: expected numbers of events and matches, and units of work."""
