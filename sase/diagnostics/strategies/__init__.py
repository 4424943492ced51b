"""Compare strategies: what each finds beyond a stricter one, and what that one forbids."""
