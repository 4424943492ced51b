"""Plans as values: the operators, the basic plan, and traversal."""
