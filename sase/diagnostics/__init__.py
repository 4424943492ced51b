"""Diagnose a query by running related ones: why nothing matched, how strategies differ."""
