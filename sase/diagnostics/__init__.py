"""What there is to learn of a query from runs of others: why nothing matched, what differs."""
