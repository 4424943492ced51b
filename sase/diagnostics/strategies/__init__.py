"""Compare strategies: the matches that each finds beyond a stricter one, and the reasons."""
