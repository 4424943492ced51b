"""Parse query text to a syntax tree, and print it back."""
